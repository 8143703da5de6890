"""Say which data the inputs lack that all figures of an as_of depend on."""

from collections.abc import Iterator
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.console.wording import format_database, format_list
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import events_before
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.events import CREATIONS, ENDPOINT_FACTS, ENDS, MESSAGES, OVERRULED
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE


def find_caveats(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Yield a sentence for each thing that is not known and that figures of all places depend on.

    No input has a RECEIVED; endpoints that ended by one source and stand open in their own database, or were
    created in several databases; messages that the log received and that a snapshot shows ready later;
    databases of which no input says whether they honor priorities.
    """
    logged = warehouse.read(MESSAGES).where("seen_at is null").select("event_type")
    if not logged.isEmpty() and logged.where("event_type = 'RECEIVED'").isEmpty():
        since = "" if warehouse.first_day is None else f" since {warehouse.first_day}"
        yield (
            f"no input has a RECEIVED event{since}: messages that were received, but not logged so, count as "
            "waiting"
        )
    endpoint_events = warehouse.read_left(ENDPOINT_FACTS, as_of)
    yield from _say_contradictions(endpoint_events, as_of)
    yield from _say_several_places(endpoint_events, as_of)
    yield from _say_undone(warehouse, as_of)
    yield from say_unknown_honor(
        warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of).where("not forwarded and honored is null")
    )


def _say_several_places(endpoint_events: DataFrame, as_of: datetime) -> Iterator[str]:
    """Yield a sentence if the log creates endpoints in several databases: the first creation decides."""
    is_logged = F.col("event_type").isin(*CREATIONS) & F.col("seen_at").isNull()
    creations = events_before(endpoint_events, as_of).where(is_logged)
    names = [F.min(name) != F.max(name) for name in ("instance", "database")]
    places = creations.groupBy(*SIDE).agg((names[0] | names[1]).alias("are_several"))
    if count := places.where("are_several").count():
        endpoints = "1 endpoint" if count == 1 else f"{count} endpoints"
        yield (
            f"{endpoints} created in several databases by the log: the first creation decides; name failover "
            "partners under aliases, and leave the events of a copy out"
        )


def _say_contradictions(endpoint_events: DataFrame, as_of: datetime) -> Iterator[str]:
    """Yield a sentence for each database whose snapshots, or log, say that open endpoints ended."""
    events, event_type = events_before(endpoint_events, as_of), F.col("event_type")
    ended = events.where(event_type.isin(*ENDS)).select(*SIDE)
    # An end that the own database showed, and a later snapshot of it does not, is a restore.
    by_others = F.col("seen_at").isNull() | F.col("conversation_handle").isNull()
    open_ones = events.where(event_type.startswith(OVERRULED) & by_others).join(ended, SIDE, "left_anti")
    shown = F.col("seen_at").isNotNull().alias("shown")
    found = open_ones.select("instance", "database", shown, *SIDE).distinct()
    counts = collect_rows(found.groupBy("instance", "database", "shown").agg(F.count(F.lit(1)).alias("rows")))
    for row in sorted(counts, key=lambda row: (row["instance"], row["database"], row["shown"])):
        count, place = row["rows"], format_database((row["instance"], row["database"]))
        endpoints, they = ("1 endpoint stands", "it") if count == 1 else (f"{count} endpoints stand", "they")
        if row["shown"]:
            yield (
                f"{endpoints} open in the own database, while {place}, where the far side is, shows that "
                f"{they} ended: the two may be restored to different times; the own database counts"
            )
        else:
            yield (
                f"{endpoints} open in a snapshot of {place} more than a minute after the log says that "
                f"{they} ended; the snapshot counts"
            )


def _say_undone(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Yield a sentence for each database whose queues have messages that the log says were received."""
    undone = events_before(warehouse.read_left(MESSAGES, as_of), as_of).where("undone")
    waiting = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of).join(undone, "message_id", "left_semi")
    counts = collect_rows(waiting.groupBy("instance", "database").agg(F.count(F.lit(1)).alias("rows")))
    for row in sorted(counts, key=lambda row: (row["instance"], row["database"])):
        count, place = row["rows"], format_database((row["instance"], row["database"]))
        messages, they = ("1 message is", "it was") if count == 1 else (f"{count} messages are", "they were")
        yield (
            f"{messages} ready in a snapshot of {place} more than a minute after the log says that {they} "
            "received, as after a restore; the snapshot counts"
        )


def say_unknown_honor(waiting: DataFrame) -> Iterator[str]:
    """Yield a sentence that names the databases of messages to be sent of which `honored` is not known."""
    rows = collect_rows(waiting.select("instance", "database").distinct())
    names = sorted(format_database((row["instance"], row["database"])) for row in rows)
    if names:
        verb, it = ("honors", "it does") if len(names) == 1 else ("honor", "they do")
        yield (
            f"whether {format_list(names)} {verb} priorities is not known; the order to send holds if {it}"
        )
