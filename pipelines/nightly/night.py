"""The steps of a night, in their order."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.activation.write import write_activation
from pipelines.config.errors import WarehouseError
from pipelines.config.load import Settings
from pipelines.console.progress import step
from pipelines.engine.differences import Materialize, run_concurrently
from pipelines.engine.errors import fault_of
from pipelines.engine.small_jobs import set_for_small_jobs, small_job_settings
from pipelines.ingest.ingest import IngestResult, ingest, new_input
from pipelines.ladder.write import stored_history, write_rules
from pipelines.nightly.publish import Left, Run, announce, publish, require_good_input, write_run
from pipelines.schedules.write import write_schedules
from pipelines.state.open_messages import StateOfMessages
from pipelines.storage.batches import CompletedBatches, completed_batches
from pipelines.storage.require_whole import require_whole
from pipelines.storage.warehouse import Warehouse

log = logging.getLogger(__name__)


def night(warehouse: Warehouse, settings: Settings, as_of: datetime) -> Run:
    """Do everything for one as_of. A run that is broken off is simply run again.

    The order of side effects stands here: rules before the ledger, the ledger before the schedules and the
    activation, and the row in `runs` last, so that readers who go by it only ever see complete runs. If the
    as_of was published before, the row also stands there first, as that of a run that has not ended.

    Args:
        warehouse: the tables.
        settings: the settings, with catalog and rules.
        as_of: the instant to describe.

    Returns:
        The run that was published.

    Raises:
        InputError: the input breaks its contract, or too much was rejected.
        WarehouseError: a table has lost commits.
        ReconciliationError: the sums do not add up.
    """
    run = Run.begin(as_of)

    def steps() -> None:
        with warehouse.materializing() as materialize:
            taken = ingest_new_input(
                warehouse,
                settings,
                run_id=run.run_id,
                started_at=run.started_at,
                materialize_state=materialize,
            )
            _describe(warehouse, settings, run, taken)

    return _recorded(warehouse, settings, run, steps)


@dataclass(frozen=True)
class IngestedInput:
    """What there is to describe an as_of from.

    Attributes:
        done: the folds that made the ledger.
        published: the runs that are published; see `require_whole`.
        state: `IngestResult.state` of a fold that has just been done; it holds for as long as it is kept.
    """

    done: CompletedBatches
    published: Sequence[Mapping[str, Any]]
    state: StateOfMessages | None = None


def ingest_new_input(
    warehouse: Warehouse,
    settings: Settings,
    *,
    run_id: str,
    started_at: datetime,
    materialize_state: Materialize,
) -> IngestedInput:
    """Write the rules, and fold what is new: the first steps of a night, without an as_of.

    Raises:
        InputError: the input breaks its contract, or too much was rejected.
        WarehouseError: a table has lost commits.
    """
    # What was done and taken so far stands in small tables.
    with small_job_settings(warehouse.spark):
        published, new, stored = run_concurrently(
            warehouse.spark,
            partial(require_whole, warehouse),
            partial(new_input, warehouse, settings),
            partial(stored_history, warehouse),
        )
    if new.is_little:
        set_for_small_jobs(warehouse.spark)
    step("rules", partial(write_rules, warehouse, settings, stored))()
    folded = IngestResult(new.done, "")

    def fold_new() -> str:
        nonlocal folded
        folded = ingest(
            warehouse,
            settings,
            new,
            run_id=run_id,
            started_at=started_at,
            materialize_state=materialize_state,
        )
        return folded.said

    step("fold", fold_new)()
    require_good_input(warehouse, settings, folded.done, published)
    return IngestedInput(folded.done, published, folded.state)


def describe(warehouse: Warehouse, settings: Settings, as_of: datetime) -> Run:
    """Describe one as_of from the ledger as it is: all steps of a night after the fold.

    Raises:
        InputError: too much was rejected; no table of this as_of is touched.
        WarehouseError: a table has lost commits.
        ReconciliationError: the sums do not add up.
    """
    run = Run.begin(as_of)

    def steps() -> None:
        require_good_input(warehouse, settings, done, published)
        _describe(warehouse, settings, run, IngestedInput(done, published))

    with small_job_settings(warehouse.spark):
        published, done = run_concurrently(
            warehouse.spark, partial(require_whole, warehouse), partial(completed_batches, warehouse)
        )
    if done.is_little:
        set_for_small_jobs(warehouse.spark)
    return _recorded(warehouse, settings, run, steps)


def _describe(warehouse: Warehouse, settings: Settings, run: Run, taken: IngestedInput) -> None:
    done = taken.done
    open_messages: dict[str, int] = {}

    def schedule() -> str:
        open_messages.update(write_schedules(warehouse, settings, run.as_of, done, taken.state))
        return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in open_messages.items())

    def complete() -> None:
        publish(warehouse, settings, run, done, open_messages)

    if any(row["as_of"] == run.as_of for row in taken.published):
        announce(warehouse, settings, run, done)
    activate = partial(write_activation, warehouse, settings, run.as_of, done)
    run_concurrently(
        warehouse.spark,
        step("schedules", schedule),
        activate if settings.activation is None else step("activation", activate),
    )
    step("publish", complete)()


def _recorded(warehouse: Warehouse, settings: Settings, run: Run, steps: Callable[[], None]) -> Run:
    """Run the steps; a failure gets a row in `runs` too, and stays the error that is told."""
    try:
        steps()
    except WarehouseError:
        # Nothing is written beside what can be put back.
        raise
    except Exception as error:
        try:
            write_run(warehouse, settings, run, "failed", run.announced or Left(), error=fault_of(error))
        except Exception as further:
            said = "run %s failed, and its row in runs could not be written: %s"
            log.warning(said, run.run_id, fault_of(further), exc_info=log.isEnabledFor(logging.INFO))
        raise
    return run
