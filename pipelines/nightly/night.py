"""The order of a night."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.activation.write import require_as_of_left, write_activation
from pipelines.config.instants import LATEST, AsOf
from pipelines.console.terminal import step
from pipelines.console.wording import format_count
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.materialize import Materialize
from pipelines.engine.small_jobs import set_for_small_jobs, small_job_settings
from pipelines.expectations.write import require_days_left, write_expectations
from pipelines.ingest.ingest import find_new_input, ingest
from pipelines.ingest.snapshots.copies import require_one_place
from pipelines.ingest.snapshots.read import read_new_views
from pipelines.ladder.write import stored_history, write_rules
from pipelines.nightly.as_of import find_latest, require_data
from pipelines.nightly.publish import publish
from pipelines.nightly.rejections import require_good_input
from pipelines.nightly.runs import Run, announce, record_failure
from pipelines.schedules.write import OpenMessages, write_schedules
from pipelines.settings.load import Settings
from pipelines.state.open_messages import StateOfMessages
from pipelines.storage.ages import Ages, find_ages
from pipelines.storage.batches import CompletedBatches, read_completed_batches
from pipelines.storage.histories import write_catalog_history
from pipelines.storage.published import find_whole_runs, require_whole
from pipelines.storage.snapshots.shared import shared
from pipelines.storage.warehouse import Warehouse
from pipelines.why.report import Findings
from pipelines.why.write import write_findings
from schemas.outputs import RUNS

WAITING = {
    "open_receive": "messages wait in queues",
    "open_transmission": "to be sent",
    "open_forwarded": "to be forwarded",
}
"""Words for the numbers of open messages."""


def night(warehouse: Warehouse, settings: Settings, as_of: AsOf, *, is_all_told: bool = False) -> Run:
    """Run all steps for one as_of and publish it. An interrupted night is simply run again.

    With `is_all_told`, the run has all findings in words, else the first.

    The row in `runs` is the last write, so readers that go by it see complete runs only. If the as_of was
    published before, a row that marks it as incomplete is written before its tables change.

    Raises:
        ConfigError: the as_of is before all data or needs a pruned day, or it is `latest` and there is none.
        InputError: the input breaks its contract, or too much was rejected.
        WarehouseError: a table has lost commits.
        ReconciliationError: the sums do not add up.
    """
    if as_of != LATEST:
        _require_left(warehouse, settings, as_of)
    run = Run.begin(as_of)
    with record_failure(warehouse, settings, run), warehouse.materializing() as materialize:
        ingested = ingest_new_input(
            warehouse,
            settings,
            run_id=run.run_id,
            started_at=run.started_at,
            as_of=run.moment,
            materialize_state=materialize,
        )
        _describe(warehouse, settings, run, ingested, is_all_told=is_all_told)
    return run


def describe(warehouse: Warehouse, settings: Settings, as_of: AsOf) -> Run:
    """Publish one as_of from the ledger as it is: all steps of a night after the ingest.

    Raises:
        ConfigError: the as_of is before all data or needs a pruned day, or it is `latest` and there is none.
        InputError: too much was rejected; no table of this as_of is touched.
        WarehouseError: a table has lost commits.
        ReconciliationError: the sums do not add up.
    """
    if as_of != LATEST:
        _require_left(warehouse, settings, as_of)
    run = Run.begin(as_of)
    with small_job_settings(warehouse.spark):
        published, completed = run_concurrently(
            warehouse.spark, partial(require_whole, warehouse), partial(read_completed_batches, warehouse)
        )
    if completed.is_small:
        set_for_small_jobs(warehouse.spark)
    with record_failure(warehouse, settings, run):
        require_good_input(warehouse, settings, completed, published)
        _describe(warehouse, settings, run, IngestedInput(completed, published))
    return run


@dataclass(frozen=True)
class IngestedInput:
    """The input of the steps after the ingest.

    Attributes:
        completed: the batches that the ledger holds.
        published: the published runs; see `require_whole`.
        state: `IngestResult.state`, if this run ingested a batch.
    """

    completed: CompletedBatches
    published: Sequence[Mapping[str, Any]]
    state: StateOfMessages | None = None


def ingest_new_input(
    warehouse: Warehouse,
    settings: Settings,
    *,
    run_id: str,
    started_at: datetime,
    materialize_state: Materialize,
    as_of: datetime | None = None,
) -> IngestedInput:
    """Write the rules and ingest what is new: the first steps of a night.

    With an as_of, rows close that are settled then; without one, at the end of the log's newest day.

    Raises:
        InputError: the input breaks its contract, or too much was rejected.
        WarehouseError: a table has lost commits.
    """
    with small_job_settings(warehouse.spark):
        published, new, stored = run_concurrently(
            warehouse.spark,
            partial(find_whole_runs, warehouse),
            partial(find_new_input, warehouse, settings),
            partial(stored_history, warehouse),
        )
    if new.is_small:
        set_for_small_jobs(warehouse.spark)
    with (
        warehouse.materializing() as materialize,
        shared(warehouse, new.snapshots.rows) as rows,
    ):
        snapshots = replace(new.snapshots, rows=rows)
        views = read_new_views(warehouse, snapshots, materialize) if snapshots else None
        require_one_place(warehouse, views, are_places_new=new.are_bindings_new)
        warehouse.create_missing(RUNS)
        with step("rules") as print_details:
            print_details(write_rules(warehouse, settings, stored))
            write_catalog_history(warehouse, settings.catalog_history)
        with step("ingest") as print_details:
            result = ingest(
                warehouse,
                settings,
                new,
                run_id=run_id,
                started_at=started_at,
                views=views,
                as_of=as_of,
                materialize_state=materialize_state,
            )
            print_details(result.details)
    require_good_input(warehouse, settings, result.completed, published)
    return IngestedInput(result.completed, published, result.state)


def _describe(
    warehouse: Warehouse, settings: Settings, run: Run, ingested: IngestedInput, *, is_all_told: bool = False
) -> None:
    if run.moment is None:
        run.moment = find_latest(warehouse, settings, ingested.completed)
        _require_left(warehouse, settings, run.moment)
    settings = settings.at(run.as_of)
    run.newest_data = require_data(warehouse, ingested.completed, run.as_of)
    run.ages = find_ages(warehouse, settings, run.as_of)
    if any(row["as_of"] == run.as_of for row in ingested.published):
        announce(warehouse, settings, run, ingested.completed)
    open_messages, _ = run_concurrently(
        warehouse.spark,
        partial(_schedule, warehouse, settings, run.as_of, ingested),
        partial(_replay_activation, warehouse, settings, run.as_of, ingested.completed),
    )
    _, run.findings = run_concurrently(
        warehouse.spark,
        partial(_expect, warehouse, settings, run.as_of, run.ages),
        partial(_find, warehouse, settings, run.as_of, is_all_told=is_all_told),
    )
    with step("publish"):
        publish(warehouse, settings, run, ingested.completed, open_messages)


def _require_left(warehouse: Warehouse, settings: Settings, as_of: datetime) -> None:
    """Refuse an as_of that needs a pruned day, before any table changes."""
    require_as_of_left(warehouse, settings, as_of)
    require_days_left(warehouse, settings, as_of)


def _schedule(
    warehouse: Warehouse, settings: Settings, as_of: datetime, ingested: IngestedInput
) -> OpenMessages:
    with step("schedules") as print_details:
        open_messages = write_schedules(warehouse, settings, as_of, ingested.completed, ingested.state)
        print_details(", ".join(f"{count:,} {WAITING[name]}" for name, count in open_messages.counts.items()))
    return open_messages


def _replay_activation(
    warehouse: Warehouse, settings: Settings, as_of: datetime, completed: CompletedBatches
) -> None:
    if settings.activation is None:
        write_activation(warehouse, settings, as_of, completed)
        return
    with step("activation") as print_details:
        print_details(write_activation(warehouse, settings, as_of, completed))


def _find(warehouse: Warehouse, settings: Settings, as_of: datetime, *, is_all_told: bool) -> Findings:
    with step("findings") as print_details:
        findings = write_findings(warehouse, settings, as_of, is_all_told=is_all_told)
        print_details(format_count(len(findings.counted), "finding"))
    return findings


def _expect(warehouse: Warehouse, settings: Settings, as_of: datetime, ages: Ages) -> None:
    if not settings.expect:
        write_expectations(warehouse, settings, as_of, ages)
        return
    with step("expectations") as print_details:
        print_details(write_expectations(warehouse, settings, as_of, ages))
