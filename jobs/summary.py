"""What a run has to show a person: what came in, the first rows of each table, and where to look next."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.display import show_rows, terminal
from jobs.publish import Run
from jobs.together import together
from jobs.waiting import OVERTAKEN, QUEUES, TRANSMISSION, overtaken
from pipelines.collected import collected
from pipelines.settings.load import Settings
from schemas.outputs import (
    ACTIVATION_SUMMARY,
    GROUP_PRIORITIES,
    INGEST_BATCHES,
    RECEIVE_SCHEDULE,
    REJECTED_EVENTS,
    RULE_COVERAGE,
    TRANSMISSION_SCHEDULE,
    UNRESOLVED,
)
from schemas.table import Table
from storage.warehouse import Warehouse

FIRST = 8


def show_summary(spark: SparkSession, settings: Settings, run: Run) -> None:
    """Print the summary of a published run to standard output."""
    warehouse = Warehouse(spark, settings.warehouse)
    console = terminal()
    parts = list(_parts(warehouse, run.as_of))
    # A small night is planning for the most part, which takes one core a query.
    found = together(spark, *[partial(_first_rows, part) for part in parts])
    for part, rows in zip(parts, found, strict=True):
        if rows:
            show_rows(console, part.title, rows, part.columns)
    console.print(
        f"\nRun {run.run_id} described {run.as_of.isoformat()}. The tables lie in {warehouse.root}/"
    )
    console.print("Query them from Python, for example the next messages of a queue:")
    console.print(
        "    from pipelines.tables import open_table\n"
        f'    schedule = open_table(spark, "{settings.path}", "receive_schedule")\n'
        "    schedule.where(\"queue = '...'\").orderBy('position').show()",
        soft_wrap=True,
    )


class _Part(NamedTuple):
    """One table on the screen: its first rows, in the order of the frame."""

    title: str
    rows: DataFrame
    columns: Sequence[str]


def _first_rows(part: _Part) -> list[dict[str, Any]]:
    return collected(part.rows.select(*part.columns).limit(FIRST))


def _parts(warehouse: Warehouse, as_of: datetime) -> Iterator[_Part]:
    """All that may be shown; what has no rows is left out."""

    def described(table: Table) -> DataFrame:
        return warehouse.read(table).where(F.col("as_of") == F.lit(as_of))

    sources = ["source", "events", "accepted", "duplicates", "rejected"]
    came_in = (
        warehouse.read(INGEST_BATCHES)
        .groupBy("source")
        .agg(*[F.sum(name).alias(name) for name in sources[1:]])
    )
    yield _Part("Events so far", came_in.orderBy("source"), sources)
    reasons = warehouse.read(REJECTED_EVENTS).groupBy("source", "reason").agg(F.count(F.lit(1)).alias("rows"))
    in_order = reasons.orderBy(F.desc("rows"), "source", "reason")
    yield _Part("Why rows were rejected", in_order, reasons.columns)
    for title, table, order, columns in _SHOWN:
        placed_first = [F.asc_nulls_last(name) for name in order]
        yield _Part(f"{table.name}: {title}", described(table).orderBy(*placed_first), columns)
    for kind in QUEUES, TRANSMISSION:
        late = overtaken(described(kind.table), kind, most=1).orderBy(F.desc("passed_by"), *kind.within)
        yield _Part(f"Starvation: {kind.title}", late, [*kind.within, *OVERTAKEN])
    queues = described(ACTIVATION_SUMMARY)
    yield _Part(
        f"{ACTIVATION_SUMMARY.name}: what the queue monitors found",
        queues.orderBy(F.col("advice") == "keeps_up", F.desc("need_seconds"), *_PLACE),
        (*_PLACE, "advice", "sentence"),
    )
    oddities = queues.select(*_PLACE, F.explode("oddities").alias("oddity", "count"))
    yield _Part(
        "What the log says of queues and can't be, or the catalog lacks",
        oddities.orderBy(F.desc("count"), *_PLACE, "oddity"),
        oddities.columns,
    )
    unplaced = described(UNRESOLVED).groupBy("kind", "reason").count()
    yield _Part(
        "Open messages that cannot be placed yet", unplaced.orderBy("kind", "reason"), unplaced.columns
    )


_PLACE: tuple[str, ...] = ("instance", "database", "queue")
_SHOWN: Sequence[tuple[str, Table, Sequence[str], Sequence[str]]] = (
    (
        "groups in the order in which GET CONVERSATION GROUP returns them, per queue",
        GROUP_PRIORITIES,
        ("position", *_PLACE),
        (
            *_PLACE,
            "position",
            "priority",
            "conversation_group_id",
            "conversations",
            "messages",
            "oldest_arrival",
            "state",
        ),
    ),
    (
        "the order in which one reader would receive, per queue",
        RECEIVE_SCHEDULE,
        ("position", *_PLACE),
        (
            *_PLACE,
            "position",
            "receive_number",
            "group_priority",
            "priority",
            "message_type",
            "arrived_at",
            "state",
        ),
    ),
    (
        "the order in which an instance would transmit",
        TRANSMISSION_SCHEDULE,
        ("position", "instance"),
        (
            "instance",
            "position",
            "transmit_priority",
            "priority",
            "destination_instance",
            "to_service",
            "message_type",
            "sendable_at",
        ),
    ),
    (
        "what each rule version decides",
        RULE_COVERAGE,
        ("instance", "database", "rule_name", "valid_from"),
        (
            "instance",
            "database",
            "rule_name",
            "level",
            "valid_from",
            "endpoints",
            "conversations",
            "messages",
            "open_messages",
            "last_use",
        ),
    ),
)
