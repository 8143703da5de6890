"""What a run has to show a person: what came in, what waits where, first rows, what to look at first."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from pyspark.sql import functions as F
from rich.console import Console

from config.instants import format_instant
from config.load import Settings
from engine.differences import together
from insight.coming import next_received, next_transmitted
from insight.next_view import show_received, show_sent
from insight.queue_filter import QueueFilter
from insight.terminal import show_rows, terminal
from insight.waiting import QUEUES, overtaken
from insight.wording import queue_name
from schemas.keys import QUEUE
from schemas.outputs import (
    ACTIVATION_SUMMARY,
    BATCHES,
    GROUP_PRIORITIES,
    RECEIVE_SCHEDULE,
    REJECTED_EVENTS,
    TRANSMISSION_SCHEDULE,
    UNRESOLVED,
)
from storage.collected import collected
from storage.warehouse import Warehouse

T = TypeVar("T")
Row = dict[str, Any]
First = tuple[str, list[Row]]
"""Where messages wait, and the first of them."""
PLACES = 6
"""Queues and sending instances on the screen."""
FINDINGS = 5
"""What an operator would look at first."""
FIRST_ROWS = 3
"""Messages of either schedule."""
NEXT = {"waiting": "", "next": "--queue QUEUE", "explain": "--message ID", "report": "--out page.html"}
"""Jobs with options that ask more."""
CAME_IN = ("source", "events", "accepted", "duplicates", "rejected")
WAITS = ("where", "messages", "held_back", "highest", "oldest")


def show_summary(warehouse: Warehouse, settings: Settings, as_of: datetime) -> None:
    """Print the summary of a published as_of to standard output."""
    (came_in, waits, received, sent), found = together(
        warehouse.spark,
        lambda: _figures(warehouse, as_of),
        lambda: _asked(warehouse, as_of, _of_activation, _of_overtaken, _of_unresolved, _of_rejected),
    )
    # The most pressing ones first.
    findings = [finding for each in found for finding in each]
    console = terminal()
    show_rows(console, "Events so far", came_in, CAME_IN)
    if waits:
        show_rows(console, f"Waiting at {format_instant(as_of)}", waits[:PLACES], WAITS)
        if len(waits) > PLACES:
            _say(console, f"and {len(waits) - PLACES} more places: jobs/waiting.py lists them")
    else:
        _say(console, f"Nothing waits at {format_instant(as_of)}.")
    for where, rows in received:
        show_received(console, f"First rows of receive_schedule, {where}", rows)
    for where, rows in sent:
        show_sent(console, f"First rows of transmission_schedule, {where}", rows)
    if findings:
        console.print("Look at first", style="bold")
        for finding in findings[:FINDINGS]:
            _say(console, f"- {finding}")
    _say(console, f"The tables lie in {warehouse.root}/ ; what to ask of them next:")
    for job, options in NEXT.items():
        _say(console, f"  jobs/{job}.py --config {settings.path} {options}".rstrip())


def _figures(warehouse: Warehouse, as_of: datetime) -> tuple[list[Row], list[Row], list[First], list[First]]:
    """What came in; what waits where, the most first; what the longest queue and instance take first."""
    came_in, queues, instances = _asked(warehouse, as_of, _came_in, _queues, _instances)
    waits = sorted([*queues, *instances], key=lambda row: (-row["messages"], row["where"]))
    ready = [row for row in waits if "queue" in row and row["messages"] > row["held_back"]]
    sending = [row for row in waits if "queue" not in row]
    received, sent = _asked(
        warehouse, as_of, partial(_first_received, ready[:1]), partial(_first_sent, sending[:1])
    )
    return came_in, waits, received, sent


def _asked(
    warehouse: Warehouse, as_of: datetime, *questions: Callable[[Warehouse, datetime], Iterable[T]]
) -> tuple[list[T], ...]:
    """The answers to questions, asked at once: a small one is planning, which takes one core a query."""

    def answer(ask: Callable[[Warehouse, datetime], Iterable[T]]) -> list[T]:
        return list(ask(warehouse, as_of))

    return together(warehouse.spark, *[partial(answer, ask) for ask in questions])


def _say(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True)


def _came_in(warehouse: Warehouse, _: datetime) -> list[Row]:
    sums = [F.sum(name).alias(name) for name in CAME_IN[1:]]
    return collected(warehouse.read(BATCHES).groupBy("source").agg(*sums).orderBy("source"))


def _queues(warehouse: Warehouse, as_of: datetime) -> list[Row]:
    held = F.when(F.col("state") != "ready", F.col("messages")).otherwise(0)
    rows = (
        warehouse.read_as_of(GROUP_PRIORITIES, as_of)
        .groupBy(*QUEUE)
        .agg(
            F.sum("messages").alias("messages"),
            F.sum(held).alias("held_back"),
            F.max("priority").alias("highest"),
            F.min("oldest_arrival").alias("oldest"),
        )
    )
    return [{**row, "where": queue_name(row)} for row in collected(rows)]


def _instances(warehouse: Warehouse, as_of: datetime) -> list[Row]:
    rows = (
        warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
        .groupBy("instance")
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.lit(None).cast("bigint").alias("held_back"),
            F.max("transmit_priority").alias("highest"),
            F.min("sendable_at").alias("oldest"),
        )
    )
    return [{**row, "where": f"{row['instance']} (to send)"} for row in collected(rows)]


def _first_received(queues: list[Row], warehouse: Warehouse, as_of: datetime) -> Iterator[First]:
    schedule = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of)
    for row in queues:
        queue = QueueFilter(row["queue"], row["instance"], row["database"]).of(schedule)
        yield row["where"], collected(next_received(queue, FIRST_ROWS))


def _first_sent(instances: list[Row], warehouse: Warehouse, as_of: datetime) -> Iterator[First]:
    schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
    for row in instances:
        instance = QueueFilter(instance=row["instance"]).of(schedule)
        yield row["instance"], collected(next_transmitted(instance, FIRST_ROWS))


def _of_activation(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    troubled = warehouse.read_as_of(ACTIVATION_SUMMARY, as_of).where("advice <> 'keeps_up'")
    first = troubled.orderBy(F.col("advice") != "queue_off", F.desc("need_seconds"), *QUEUE).limit(2)
    for row in collected(first.select(*QUEUE, "sentence")):
        yield f"{queue_name(row)}: {row['sentence']}"


def _of_overtaken(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    late = overtaken(warehouse.read_as_of(QUEUES.table, as_of), QUEUES, most=1)
    for row in collected(late.orderBy(F.desc("passed_by"), *QUEUE).limit(1)):
        if row["passed_by"]:
            yield (
                f"{queue_name(row)}: message {row['message_id']} waits since "
                f"{format_instant(row['since'])}; {row['passed_by']:,} that came later go before it"
            )


def _of_unresolved(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    counted = warehouse.read_as_of(UNRESOLVED, as_of).groupBy("reason").agg(F.count(F.lit(1)).alias("rows"))
    for row in collected(counted.orderBy(F.desc("rows"), "reason").limit(1)):
        why = row["reason"].replace("_", " ")
        yield f"{row['rows']:,} open messages can't be placed ({why}): table unresolved lists them"


def _of_rejected(warehouse: Warehouse, _: datetime) -> Iterator[str]:
    counted = warehouse.read(REJECTED_EVENTS).groupBy("source", "reason").agg(F.count(F.lit(1)).alias("rows"))
    for row in collected(counted.orderBy(F.desc("rows"), "source", "reason").limit(1)):
        yield (
            f"{row['rows']:,} rows of {row['source']} were rejected ({row['reason']}): table rejected_events "
            "has them all"
        )
