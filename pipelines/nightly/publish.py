"""Check that the sums of an as_of add up, and publish it with a row in `runs`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.load import Settings
from pipelines.config.version import code_version
from pipelines.engine.differences import run_concurrently
from pipelines.nightly.quality import require_quality
from pipelines.nightly.reconcile import reconcile
from pipelines.nightly.rejections import most_frequent
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.small_frame import small_frame
from pipelines.storage.versions import versions_of
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from schemas.ledger import ENDPOINTS
from schemas.outputs import REJECTED_EVENTS, RUNS

COUNTED = (
    "group_priorities",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
    "activation",
    "activation_summary",
)
KINDS = ("receive", "transmission")
"""The kinds of `unresolved`."""
CAME_IN = ("events", "accepted", "duplicates", "rejected")
NOT_ENDED = "it has not ended: it is still running, or was broken off"


@dataclass
class Run:
    """One run: what the row in `runs` will say of it.

    Attributes:
        announced: what a row may say already: that the run has not ended, and this. Null: it has no row yet.
    """

    run_id: str
    as_of: datetime
    started_at: datetime
    announced: "Left | None" = None

    @classmethod
    def begin(cls, as_of: datetime) -> "Run":
        """Start a run now."""
        return cls(str(uuid4()), as_of, datetime.now(UTC))


@dataclass(frozen=True)
class Left:
    """What a run has left, as its row in `runs` tells it; the last batch at most if it failed."""

    row_counts: dict[str, int] = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)
    last_batch: int | None = None
    versions: dict[str, int] | None = None


def publish(
    warehouse: Warehouse,
    settings: Settings,
    run: Run,
    done: CompletedBatches,
    open_messages: Mapping[str, int],
) -> dict[str, int]:
    """Check the sums, then write the run's row: the last write, which tells readers that all is there.

    Args:
        warehouse: the tables.
        settings: what the row tells of them.
        run: the run to publish.
        done: the folds that its tables were made from.
        open_messages: the open messages as `pipelines.schedules.write` counted them.

    Returns:
        The reconciliation: what was added up.

    Raises:
        ReconciliationError: the sums do not add up; nothing is published.
    """
    # A reader by path finds what a run without endpoints or without rejected rows never wrote.
    for table in (ENDPOINTS, REJECTED_EVENTS):
        warehouse.create_missing(table)
    counted = _counted(warehouse, run.as_of)
    row_counts = {name: sum(of_parts.values()) for name, of_parts in counted.items()}
    events = {name: sum(row[name] for row in done.batches) for name in CAME_IN}
    sums = reconcile(events, open_messages, _written(row_counts, counted))
    left = Left(
        row_counts=row_counts,
        sums=sums,
        last_batch=done.batch or None,
        versions=versions_of(warehouse.root, warehouse.spark),
    )
    write_run(warehouse, settings, run, "succeeded", left)
    return sums


def require_good_input(
    warehouse: Warehouse, settings: Settings, done: CompletedBatches, published: Sequence[Mapping[str, Any]]
) -> None:
    """The quality gate over all that no published run covers; see `require_quality`."""
    after = max((run["last_batch"] or 0 for run in published), default=0)
    counts: dict[str, tuple[int, int]] = {}
    for row in done.batches:
        if row["batch"] > after:
            events, rejected = counts.get(row["source"], (0, 0))
            counts[row["source"]] = (events + row["events"], rejected + row["rejected"])
    last = max((run["finished_at"] for run in published), default=None)
    require_quality(
        counts,
        max_rejected_share=settings.quality.max_rejected_share,
        most_frequent=partial(most_frequent, warehouse, settings, since=last, after_batch=after),
    )


def announce(warehouse: Warehouse, settings: Settings, run: Run, done: CompletedBatches) -> None:
    """Say in `runs` that the tables of a published as_of are about to change, before the first does.

    A run that is killed among its writes leaves this row, which counts as that of a failed run. Where the
    as_of was not published, no row says that its tables are complete, and none is needed.
    """
    # First, as a write that raises may have been committed: the next row replaces the one that may be there.
    run.announced = Left(last_batch=done.batch or None)
    warehouse.append(RUNS, _row(warehouse, settings, run, "failed", run.announced, NOT_ENDED))


def write_run(
    warehouse: Warehouse,
    settings: Settings,
    run: Run,
    status: str,
    left: Left,
    error: str | None = None,
) -> None:
    """Write the run's row in `runs`, in place of the one that announced it."""
    rows = _row(warehouse, settings, run, status, left, error)
    if run.announced:
        warehouse.replace(RUNS, rows, where=f"run_id = '{run.run_id}'")
    else:
        warehouse.append(RUNS, rows)


def _row(
    warehouse: Warehouse, settings: Settings, run: Run, status: str, left: Left, error: str | None
) -> DataFrame:
    row = (
        run.run_id,
        run.as_of,
        run.started_at,
        datetime.now(UTC),
        status,
        code_version(),
        settings.describe(),
        left.row_counts,
        left.sums,
        left.last_batch,
        left.versions,
        error,
    )
    return small_frame(warehouse.spark, [row], RUNS.struct)


def _counted(warehouse: Warehouse, as_of: datetime) -> dict[str, dict[str | None, int]]:
    """Rows of this as_of by table and part of it, as a reader would count them now."""
    parts: dict[str, Column] = dict.fromkeys(COUNTED, F.lit(None).cast("string"))
    parts |= {"unresolved": F.col("kind"), "transmission_schedule": F.col("forwarded").cast("string")}

    def count(name: str) -> dict[str | None, int]:
        found = warehouse.read_as_of(TABLES[name], as_of).groupBy(parts[name].alias("part"))
        return {row.part: row.rows for row in found.agg(F.count(F.lit(1)).alias("rows")).collect()}

    # A small night is planning for the most part, which takes one core a query.
    counted = run_concurrently(warehouse.spark, *[partial(count, name) for name in COUNTED])
    return dict(zip(COUNTED, counted, strict=True))


def _written(
    row_counts: Mapping[str, int], counted: Mapping[str, Mapping[str | None, int]]
) -> dict[str, int]:
    """What is added up: the rows of each table, and of two tables the parts."""
    written = {name: rows for name, rows in row_counts.items() if name != "unresolved"}
    written |= {f"unresolved_{kind}": counted["unresolved"].get(kind, 0) for kind in KINDS}
    return written | {"transmission_schedule_forwarded": counted["transmission_schedule"].get("true", 0)}
