"""What a run has to show a person: what came in, the first rows of each table, and where to look next."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession, functions as F
from rich.console import Console

from jobs.display import show_rows, terminal
from jobs.publish import Run
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
    sources = ["source", "events", "accepted", "duplicates", "rejected"]
    came_in = (
        warehouse.read(INGEST_BATCHES)
        .groupBy("source")
        .agg(*[F.sum(name).alias(name) for name in sources[1:]])
    )
    _show(console, "Events so far", came_in.orderBy("source"), sources)
    reasons = warehouse.read(REJECTED_EVENTS).groupBy("source", "reason").agg(F.count(F.lit(1)).alias("rows"))
    _show(
        console,
        "Why rows were rejected",
        reasons.orderBy(F.desc("rows"), "source", "reason"),
        reasons.columns,
    )
    for title, table, order, columns in _SHOWN:
        rows = warehouse.read(table).where(F.col("as_of") == F.lit(run.as_of))
        placed_first = [F.asc_nulls_last(name) for name in order]
        _show(console, f"{table.name}: {title}", rows.orderBy(*placed_first), columns)
    for kind in QUEUES, TRANSMISSION:
        schedule = warehouse.read(kind.table).where(F.col("as_of") == F.lit(run.as_of))
        late = overtaken(schedule, kind, most=1).orderBy(F.desc("passed_by"), *kind.within)
        _show(console, f"Starvation: {kind.title}", late, [*kind.within, *OVERTAKEN])
    queues = warehouse.read(ACTIVATION_SUMMARY).where(F.col("as_of") == F.lit(run.as_of))
    advice = queues.orderBy(F.col("advice") == "keeps_up", F.desc("need_seconds"), *_PLACE)
    _show(
        console,
        f"{ACTIVATION_SUMMARY.name}: what the queue monitors found",
        advice,
        (*_PLACE, "advice", "sentence"),
    )
    oddities = queues.select(*_PLACE, F.explode("oddities").alias("oddity", "count"))
    _show(
        console,
        "What the log says of queues and can't be, or the catalog lacks",
        oddities.orderBy(F.desc("count"), *_PLACE, "oddity"),
        oddities.columns,
    )
    open_count = (
        warehouse.read(UNRESOLVED).where(F.col("as_of") == F.lit(run.as_of)).groupBy("kind", "reason").count()
    )
    _show(
        console,
        "Open messages that cannot be placed yet",
        open_count.orderBy("kind", "reason"),
        open_count.columns,
    )
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


def _show(console: Console, title: str, rows: DataFrame, columns: Sequence[str]) -> None:
    """Print the first rows of a frame; nothing where there are none."""
    found = collected(rows.select(*columns).limit(FIRST))
    if found:
        show_rows(console, title, found, columns)
