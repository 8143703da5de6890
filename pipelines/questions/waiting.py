"""Summarize the messages that wait: by queue or sending instance, and by level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation.read import queues_off_at
from pipelines.questions.overtaken import MESSAGES_PER_ORDER, rank_overtaken
from pipelines.questions.transmission_status import read_statuses
from pipelines.questions.unresolved import count_unresolved
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from schemas.table import Table

BY = ("instance", "database", "queue", "contract", "local_service", "remote_service", "level")
"""What messages that wait can be counted by."""
WAIT_COLUMNS = ("messages", "oldest", "median_seconds", "p95_seconds")
OF_ENDPOINT = ("contract", "local_service", "remote_service")
"""Contract and services of the endpoint that holds a message."""
OVERTAKEN_COLUMNS = (*OF_ENDPOINT, "passed_by", "position", "message_id", "since")


@dataclass(frozen=True)
class ScheduleShape:
    """The columns of one of the two schedules: what messages wait in, their level, the begin of the wait.

    `lacks` are those of `BY` that it has not; `by` has the others that are called differently there.
    """

    name: str
    title: str
    table: Table
    within: tuple[str, ...]
    level: str
    since: str
    by: Mapping[str, str]
    lacks: tuple[str, ...] = ()

    def by_name(self, schedule: DataFrame) -> DataFrame:
        """The rows with all columns of `BY`, and when they began to wait."""
        columns = [
            F.lit(None).cast("string").alias(name)
            if name in self.lacks
            else F.col(self.by.get(name, name)).alias(name)
            for name in BY
        ]
        return schedule.select(*columns, self.since)


RECEIVE = ScheduleShape(
    "receive",
    "messages that later ones are received before",
    RECEIVE_SCHEDULE,
    ("instance", "database", "queue"),
    "priority",
    "arrived_at",
    {"level": "priority"},
)
TRANSMISSION = ScheduleShape(
    "transmission",
    "messages that later ones are sent before",
    TRANSMISSION_SCHEDULE,
    ("instance",),
    "transmit_priority",
    "sendable_at",
    {"level": "transmit_priority", "local_service": "from_service", "remote_service": "to_service"},
    ("queue",),
)


def seconds_waited(since: str, as_of: datetime) -> Column:
    """Whole seconds from the moment in a column to as_of, rounded down."""
    return F.floor((F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / 1_000_000)


def percentile(seconds: Column, share: float) -> Column:
    """A percentile of whole seconds, interpolated between neighbours; exact for a share of whole hundredths.

    It is rounded, as engines differ in the last digits.
    """
    return F.round(F.percentile(seconds, F.lit(share)), 2)


def summarize_waits(
    schedule: DataFrame, *, within: Sequence[str], level: str | None, since: str, as_of: datetime
) -> DataFrame:
    """Count the messages that wait, and measure their wait at as_of.

    Args:
        schedule: rows of `receive_schedule` or `transmission_schedule` of one as_of.
        within: what the messages wait in: the queue's three columns, or instance, or any columns.
        level: the level to group by: priority for a queue, transmit_priority for an instance; None if
            `within` is all.
        since: when the wait began: arrived_at or sendable_at.
        as_of: the instant of the schedule.

    Returns:
        One row per combination and level: `messages`, `oldest`, and `median_seconds` and `p95_seconds`
        of waiting so far. They are exact and interpolated. Seconds are whole, which bounds the number of
        different values that the engine keeps.
    """
    seconds = seconds_waited(since, as_of)
    return schedule.groupBy(*within, *([level] if level else [])).agg(
        F.count(F.lit(1)).alias("messages"),
        F.min(since).alias("oldest"),
        percentile(seconds, 0.5).alias("median_seconds"),
        percentile(seconds, 0.95).alias("p95_seconds"),
    )


def find_overtaken(schedule: DataFrame, kind: ScheduleShape, *, most: int = MESSAGES_PER_ORDER) -> DataFrame:
    """Find the most overtaken messages of each queue or instance; see `rank_overtaken`."""
    names = {kind.by.get(name, name): name for name in OF_ENDPOINT}
    found = rank_overtaken(schedule, within=kind.within, since=kind.since, most=most, also=list(names))
    return found.withColumnsRenamed({**names, kind.since: "since"})


def report_waits(
    warehouse: Warehouse,
    *,
    as_of: datetime,
    limit: int,
    by: Sequence[str] = (),
) -> dict[str, Any]:
    """Report the messages that wait at an as_of.

    Args:
        warehouse: what to read.
        as_of: an as_of that was published.
        limit: rows of each part.
        by: what to count by, of `BY`, in this order; empty is the queue (or instance) and its level.

    Returns:
        `as_of`; `by`, if it was given; `transmission_status` (`count_statuses`); `unplaced`
        (`count_unresolved`); `queues_off` (`queues_off_at`); and for receive and transmission: `waiting`, a
        row per queue (or instance) and level (or per combination of `by`; a schedule without such a column
        has null), the longest waiting first, and `overtaken`, the ten most overtaken messages of each queue
        (or instance). Messages that wait for a queue that is off are not overtaken.
    """
    report: dict[str, Any] = {
        "as_of": as_of,
        **({"by": list(by)} if by else {}),
        "transmission_status": read_statuses(warehouse, as_of, limit),
        "unplaced": count_unresolved(warehouse, as_of),
        "queues_off": queues_off_at(warehouse, as_of),
    }
    for kind in (RECEIVE, TRANSMISSION):
        schedule = warehouse.read_as_of(kind.table, as_of)
        waits = _count_by(schedule, kind, by or (*kind.within, kind.level), as_of)
        if kind is TRANSMISSION:
            schedule = schedule.where("waits_for is null")
        late = find_overtaken(schedule, kind)
        report[kind.name] = {
            "waiting": collect_rows(waits.limit(limit)),
            "overtaken": collect_rows(
                late.orderBy(F.desc("passed_by"), *kind.within, "place")
                .select(*kind.within, *OVERTAKEN_COLUMNS)
                .limit(limit)
            ),
        }
    return report


def _count_by(schedule: DataFrame, kind: ScheduleShape, by: Sequence[str], as_of: datetime) -> DataFrame:
    """One row per combination, the longest waiting first."""
    named = schedule if kind.level in by else kind.by_name(schedule)
    waits = summarize_waits(named, within=by, level=None, since=kind.since, as_of=as_of)
    levels = ("level", kind.level)
    names = [F.asc_nulls_last(name) for name in by if name not in levels]
    return waits.orderBy("oldest", *names, *[F.desc(name) for name in by if name in levels])
