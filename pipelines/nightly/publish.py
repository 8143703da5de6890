"""Check that the sums of an as_of add up, and publish it with a row in `runs`."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.errors import ReconciliationError
from pipelines.engine.frames import union_all
from pipelines.nightly.runs import Run, RunFigures, write_run
from pipelines.nightly.view_sums import NO_QUEUE, compare_views
from pipelines.schedules.write import OpenMessages
from pipelines.server.snapshots.history import binding_periods
from pipelines.settings.load import Settings
from pipelines.storage.batches import EVENT_COUNTS, CompletedBatches
from pipelines.storage.versions import versions_of
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import CATALOG_HISTORY, REJECTED_EVENTS, SENDS

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
PLACES = {"receive_schedule": QUEUE, "transmission_schedule": QUEUE[:2], "unresolved": QUEUE}
"""Where open messages wait, by table; one of `transmission_schedule` is not forwarded."""
KINDS = {"receive_schedule": "receive", "transmission_schedule": "transmission"}
Place = tuple[str, str | None, str | None, str]
"""Kind, instance, database and queue."""


def publish(
    warehouse: Warehouse,
    settings: Settings,
    run: Run,
    completed: CompletedBatches,
    open_messages: OpenMessages,
) -> dict[str, int]:
    """Check the sums, then write the run's row: the last write, which marks the as_of as complete.

    Args:
        warehouse: the tables.
        settings: recorded in the row.
        run: the run to publish.
        completed: the batches that its tables were made from.
        open_messages: as `pipelines.schedules.write` counted them.

    Returns:
        The reconciliation: the numbers that were compared.

    Raises:
        ReconciliationError: the sums do not add up; nothing is published.
    """
    # Readers by path expect these tables, also where no run has written a row to them.
    for table in (ENDPOINTS, CATALOG_HISTORY, REJECTED_EVENTS, SENDS):
        warehouse.create_missing(table)
    warehouse.name_tables()
    counted, of_places = _counted(warehouse, run.as_of, has_views=bool(open_messages.views))
    row_counts = {name: sum(of_parts.values()) for name, of_parts in counted.items()}
    periods = binding_periods(settings.written_catalog, settings.catalog_history)
    wrong = compare_views(warehouse, run.as_of, open_messages.views, of_places, periods)
    # Batches of older versions have nothing pending, and do not say so.
    events = {name: sum(row[name] or 0 for row in completed.batches) for name in (*EVENT_COUNTS, "pending")}
    sums = reconcile(events, open_messages.counts, _written(row_counts, counted), wrong)
    figures = RunFigures(
        row_counts=row_counts,
        sums=sums,
        last_batch=completed.batch or None,
        versions=versions_of(warehouse.root, warehouse.spark),
    )
    write_run(warehouse, settings, run, "succeeded", figures)
    return sums


def reconcile(
    events: Mapping[str, int],
    open_messages: Mapping[str, int],
    written: Mapping[str, int],
    wrong_views: Sequence[str] = (),
) -> dict[str, int]:
    """Compare the counts of events and open messages with the counts of written rows.

    Args:
        events: events, accepted, duplicates, rejected and pending, over all batches.
        open_messages: open_receive, open_transmission and open_forwarded at as_of, counted in the ledger.
        written: rows of this as_of by table, counted in the tables.
        wrong_views: `compare_views`.

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
    wrong += wrong_views
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


def _counted(
    warehouse: Warehouse, as_of: datetime, *, has_views: bool
) -> tuple[dict[str, dict[str | None, int]], Counter[Place]]:
    """Rows of this as_of by table and part of it, as a reader would count them now.

    With `has_views`, also the open messages by kind, instance, database and queue.
    """
    parts: dict[str, Column] = dict.fromkeys(COUNTED, F.lit(""))
    # Literals, as a column's comment goes along with it, and a union refuses different ones.
    is_forwarded = F.when(F.col("forwarded"), "true").otherwise("false")
    kinds = [F.when(F.col("kind") == kind, kind) for kind in UNRESOLVED_KINDS]
    parts |= {"unresolved": F.coalesce(*kinds), "transmission_schedule": is_forwarded}

    def rows_of(name: str, part: Column) -> DataFrame:
        rows = warehouse.read_as_of(TABLES[name], as_of)
        columns = PLACES.get(name, ()) if has_views else ()
        places = [
            F.concat(column, F.lit("")) if column in columns else F.lit(None).cast("string")
            for column in QUEUE
        ]
        return rows.select(
            F.lit(name).alias("name"),
            part.alias("part"),
            *[place.alias(column) for column, place in zip(QUEUE, places, strict=True)],
        )

    rows = union_all([rows_of(name, part) for name, part in parts.items()])
    counted: dict[str, dict[str | None, int]] = {name: defaultdict(int) for name in COUNTED}
    of_places = Counter[Place]()
    for row in rows.groupBy("name", "part", *QUEUE).agg(F.count(F.lit(1)).alias("rows")).collect():
        counted[row["name"]][row["part"]] += row["rows"]
        kind = KINDS.get(row["name"], row["part"])
        if row["name"] in PLACES and row["part"] != "true":
            of_places[kind, row["instance"], row["database"], row["queue"] or NO_QUEUE] += row["rows"]
    return counted, of_places


def _written(
    row_counts: Mapping[str, int], counted: Mapping[str, Mapping[str | None, int]]
) -> dict[str, int]:
    """Counts for `reconcile`: the rows of each table, and the rows of two tables by part."""
    written = {name: rows for name, rows in row_counts.items() if name != "unresolved"}
    written |= {f"unresolved_{kind}": counted["unresolved"].get(kind, 0) for kind in UNRESOLVED_KINDS}
    return written | {"transmission_schedule_forwarded": counted["transmission_schedule"].get("true", 0)}
