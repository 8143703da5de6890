"""Check that the sums of an as_of add up, and publish it with a row in `runs`."""

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column, functions as F

from pipelines.config.errors import ReconciliationError
from pipelines.config.load import Settings
from pipelines.engine.frames import union_all
from pipelines.nightly.runs import Run, RunFigures, write_run
from pipelines.storage.batches import EVENT_COUNTS, CompletedBatches
from pipelines.storage.versions import versions_of
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from schemas.ledger import ENDPOINTS
from schemas.outputs import CATALOG_HISTORY, REJECTED_EVENTS

COUNTED = (
    "group_priorities",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
    "activation",
    "activation_summary",
    "expectations",
    "findings",
    "waits",
)
NOT_COMPARED = ("group_priorities", "expectations", "findings", "waits")
"""Tables whose rows are counted, but are no messages of the sums."""
UNRESOLVED_KINDS = ("receive", "transmission")
"""The values of the column `kind` of `unresolved`."""
"""Columns of `batches` that are added up."""


def publish(
    warehouse: Warehouse,
    settings: Settings,
    run: Run,
    completed: CompletedBatches,
    open_messages: Mapping[str, int],
) -> dict[str, int]:
    """Check the sums, then write the run's row: the last write, which marks the as_of as complete.

    Args:
        warehouse: the tables.
        settings: recorded in the row.
        run: the run to publish.
        completed: the batches that its tables were made from.
        open_messages: the open messages as `pipelines.schedules.write` counted them.

    Returns:
        The reconciliation: the numbers that were compared.

    Raises:
        ReconciliationError: the sums do not add up; nothing is published.
    """
    # Readers by path expect these tables, also where no run has written a row to them.
    for table in (ENDPOINTS, CATALOG_HISTORY, REJECTED_EVENTS):
        warehouse.create_missing(table)
    counted = _counted(warehouse, run.as_of)
    row_counts = {name: sum(of_parts.values()) for name, of_parts in counted.items()}
    # Batches of older versions have nothing pending, and do not say so.
    events = {name: sum(row[name] or 0 for row in completed.batches) for name in (*EVENT_COUNTS, "pending")}
    sums = reconcile(events, open_messages, _written(row_counts, counted))
    figures = RunFigures(
        row_counts=row_counts,
        sums=sums,
        last_batch=completed.batch or None,
        versions=versions_of(warehouse.root, warehouse.spark),
    )
    write_run(warehouse, settings, run, "succeeded", figures)
    return sums


def reconcile(
    events: Mapping[str, int], open_messages: Mapping[str, int], written: Mapping[str, int]
) -> dict[str, int]:
    """Compare the counts of events and open messages with the counts of written rows.

    Args:
        events: events, accepted, duplicates, rejected and pending, over all batches.
        open_messages: open_receive, open_transmission and open_forwarded at as_of, counted in the ledger.
        written: rows of this as_of by table, counted in the tables.

    Returns:
        All the numbers that were compared.

    Raises:
        ReconciliationError: a sum does not add up; the message has the sum.
    """
    sent = written["transmission_schedule"] - written["transmission_schedule_forwarded"]
    sums = {
        "events = accepted + duplicates + rejected + pending": (
            events["events"],
            events["accepted"] + events["duplicates"] + events["rejected"] + events["pending"],
        ),
        "open to receive = scheduled + unresolved": (
            open_messages["open_receive"],
            written["receive_schedule"] + written["unresolved_receive"],
        ),
        "open to transmit = scheduled + unresolved": (
            open_messages["open_transmission"],
            sent + written["unresolved_transmission"],
        ),
        "being forwarded = scheduled": (
            open_messages["open_forwarded"],
            written["transmission_schedule_forwarded"],
        ),
    }
    wrong = [f"{name}: {left} is not {right}" for name, (left, right) in sums.items() if left != right]
    if wrong:
        raise ReconciliationError(
            "the run's sums do not add up, nothing is published: "
            + "; ".join(wrong)
            + "; please report this as a fault"
        )
    return {
        **events,
        **open_messages,
        **{name: count for name, count in written.items() if name not in NOT_COMPARED},
    }


def _counted(warehouse: Warehouse, as_of: datetime) -> dict[str, dict[str | None, int]]:
    """Rows of this as_of by table and part of it, as a reader would count them now."""
    parts: dict[str, Column] = dict.fromkeys(COUNTED, F.lit(""))
    # Literals, as a column's comment goes along with it, and a union refuses different ones.
    is_forwarded = F.when(F.col("forwarded"), "true").otherwise("false")
    kinds = [F.when(F.col("kind") == kind, kind) for kind in UNRESOLVED_KINDS]
    parts |= {"unresolved": F.coalesce(*kinds), "transmission_schedule": is_forwarded}
    rows = union_all(
        [
            warehouse.read_as_of(TABLES[name], as_of).select(F.lit(name).alias("name"), part.alias("part"))
            for name, part in parts.items()
        ]
    )
    counted: dict[str, dict[str | None, int]] = {name: {} for name in COUNTED}
    for row in rows.groupBy("name", "part").agg(F.count(F.lit(1)).alias("rows")).collect():
        counted[row["name"]][row["part"]] = row["rows"]
    return counted


def _written(
    row_counts: Mapping[str, int], counted: Mapping[str, Mapping[str | None, int]]
) -> dict[str, int]:
    """Counts for `reconcile`: the rows of each table, and the rows of two tables by part."""
    written = {name: rows for name, rows in row_counts.items() if name != "unresolved"}
    written |= {f"unresolved_{kind}": counted["unresolved"].get(kind, 0) for kind in UNRESOLVED_KINDS}
    return written | {"transmission_schedule_forwarded": counted["transmission_schedule"].get("true", 0)}
