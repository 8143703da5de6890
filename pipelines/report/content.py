"""Read the tables of the page about one as_of: a bounded number of rows, counted and cut by the engine."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import Window, functions as F

from pipelines.activation.read import queues_off_at
from pipelines.activation.view import ADVICE
from pipelines.expectations.read import read_expectations
from pipelines.expectations.view import EXPECTATIONS
from pipelines.questions.caveats import find_caveats
from pipelines.questions.coverage import report_coverage
from pipelines.questions.leaks import count_leaks, leak_order, name_full_views, read_leaks
from pipelines.questions.open_messages import NAMES, RECEIVE, TRANSMISSION, Schedule, read_open
from pipelines.questions.overtaken import rank_overtaken
from pipelines.questions.tables import RULES, make_leak_table, make_overtaken_table
from pipelines.questions.waiting import summarize_waits
from pipelines.report.over_time import read_over_time, select_nights
from pipelines.report.schedule_sections import INSTANCE_TOP, QUEUE_TOP
from pipelines.report.tables import PageTable, number_rows, read_table
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import ACTIVATION_SUMMARY, BATCHES, REJECTED_EVENTS, RUNS, UNRESOLVED

QUEUES_SHOWN = 500
INSTANCES_SHOWN = 100
KINDS_SHOWN = 200
TOP = 10
"""Messages of each order."""
OVERTAKEN_SHOWN = 200
RULES_SHOWN = 1000
REASONS_SHOWN = 200
LEAKS_SHOWN = 200
NIGHTS_SHOWN = 14
LEVELS = 10

CONDITIONS = {
    "receive": {state: f"state = '{state}'" for state in ("ready", "group_locked", "queue_off")},
    "transmission": {flag: flag for flag in ("forwarded", "elevated")},
}
"""What is counted of the messages of a place, beside all, by the name of the schedule."""


def read_tables(warehouse: Warehouse, as_of: datetime) -> dict[str, PageTable]:
    """Read what the page shows of a published as_of.

    Args:
        warehouse: the tables; one that was never written is empty.
        as_of: the instant.

    Returns:
        Tables by name, none with more rows than the constants above allow; rows of queues and instances name
        theirs by its place in `queues` and `instances`, from 0. The order of each is complete, so the
        same tables give the same rows.
    """
    off = queues_off_at(warehouse, as_of)
    leaks = read_table(
        count_leaks(read_leaks(warehouse, as_of), as_of=as_of).select(*make_leak_table(as_of).keys),
        order=leak_order(),
        limit=LEAKS_SHOWN,
    )
    notes = [*find_caveats(warehouse, as_of)]
    if leaks.rows and (by := name_full_views(warehouse, as_of)):
        notes.append(f"endpoints that leak are counted {by}")
    return {
        "notes": _small_table(("sentence",), [{"sentence": sentence} for sentence in notes]),
        "expectations": _small_table(EXPECTATIONS.keys, read_expectations(warehouse, None, as_of)),
        **_read_schedule(warehouse, as_of, RECEIVE, off),
        **_read_schedule(warehouse, as_of, TRANSMISSION, off),
        **_read_rules_and_monitors(warehouse, as_of),
        **_read_input(warehouse, as_of),
        **read_over_time(warehouse, as_of),
        "leaks": leaks,
        "nights": read_table(
            select_nights(warehouse.read(RUNS), as_of=as_of), order=[F.desc("as_of")], limit=NIGHTS_SHOWN
        ),
    }


def _small_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> PageTable:
    """A part of few rows that are known already; those beyond a limit are counted."""
    shown = [[row[name] for name in columns] for row in rows[:REASONS_SHOWN]]
    return PageTable(columns, shown, len(rows))


def _read_schedule(
    warehouse: Warehouse,
    as_of: datetime,
    kind: Schedule,
    off: Sequence[dict[str, Any]],
) -> dict[str, PageTable]:
    """By level, by queue (or instance), the top of each, and who is overtaken."""
    messages = read_open(warehouse, kind, as_of)
    is_queue = kind is RECEIVE
    count_by = partial(summarize_waits, as_of=as_of)
    places = read_table(
        count_by(messages, within=kind.within, conditions=CONDITIONS[kind.name]),
        order=[F.desc("messages"), *map(F.col, kind.within)],
        limit=QUEUES_SHOWN if is_queue else INSTANCES_SHOWN,
    )
    shown = messages.join(number_rows(warehouse.spark, places, kind.within), list(kind.within), "inner")
    count = len(places.rows)
    if is_queue or not off:
        first = shown.where(F.col("position") <= TOP)
    else:
        # What waits for a queue that is off is not sent, whatever its position.
        order = Window.partitionBy("place").orderBy("position")
        sendable = shown.where("waits_for is null").withColumn("number", F.row_number().over(order))
        first = sendable.where(F.col("number") <= TOP)
    top = first.select("place", *(QUEUE_TOP if is_queue else INSTANCE_TOP).keys)
    late = rank_overtaken(messages.where("waits_for is null"), within=kind.within, also=NAMES)
    return {
        f"{kind.name}_levels": read_table(
            count_by(messages, within=("level",)), order=[F.desc("level")], limit=LEVELS
        ),
        f"{kind.name}_kinds": read_table(
            count_by(messages, within=NAMES),
            order=[F.desc("messages"), *[F.asc_nulls_last(name) for name in NAMES]],
            limit=KINDS_SHOWN,
        ),
        f"{kind.name}_places": places,
        f"{kind.name}_place_levels": read_table(
            count_by(shown, within=("place", "level")),
            order=[F.col("place"), F.desc("level")],
            limit=LEVELS * count,
        ),
        f"{kind.name}_top": read_table(top, order=[F.col("place"), F.col("position")], limit=TOP * count),
        f"{kind.name}_overtaken": read_table(
            late.select(*make_overtaken_table(kind).keys),
            order=[F.desc("passed_by"), *map(F.col, kind.within), F.col("position")],
            limit=OVERTAKEN_SHOWN,
        ),
    }


def _read_rules_and_monitors(warehouse: Warehouse, as_of: datetime) -> dict[str, PageTable]:
    rules = report_coverage(warehouse, as_of)
    place = [F.col(name) for name in ("instance", "database")]
    return {
        "rules": PageTable(
            RULES.keys, [[row[name] for name in RULES.keys] for row in rules[:RULES_SHOWN]], len(rules)
        ),
        "activation": read_table(
            warehouse.read_as_of(ACTIVATION_SUMMARY, as_of).select(*ADVICE.keys),
            order=[
                F.col("advice").isin("keeps_up", "not_known"),
                F.desc("need_seconds"),
                *place,
                F.col("queue"),
            ],
            limit=QUEUES_SHOWN,
        ),
    }


def _read_input(warehouse: Warehouse, as_of: datetime) -> dict[str, PageTable]:
    sums = ("events", "accepted", "duplicates", "rejected")
    came_in = warehouse.read(BATCHES).groupBy("source").agg(*[F.sum(name).alias(name) for name in sums])
    reasons = (
        warehouse.read(REJECTED_EVENTS)
        .groupBy("source", "reason")
        .agg(F.count(F.lit(1)).alias("events"), F.max("first_seen").alias("last_seen"))
    )
    unresolved = warehouse.read_as_of(UNRESOLVED, as_of)
    why = unresolved.groupBy("kind", "reason").agg(F.count(F.lit(1)).alias("messages"))
    return {
        "inputs": read_table(came_in, order=[F.col("source")], limit=REASONS_SHOWN),
        "rejected": read_table(
            reasons, order=[F.desc("events"), F.col("source"), F.col("reason")], limit=REASONS_SHOWN
        ),
        "unresolved": read_table(
            why, order=[F.desc("messages"), F.col("kind"), F.col("reason")], limit=REASONS_SHOWN
        ),
    }
