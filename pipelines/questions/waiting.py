"""Who waits, and how long already: by queue or sending instance, and by level."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.activation.queues_off import queues_off_at, with_queue_off
from pipelines.config.catalog import Catalog
from pipelines.questions.overtaken import MOST, most_overtaken
from pipelines.questions.transmission_status import transmission_statuses
from pipelines.questions.unplaced import unplaced
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from schemas.table import Table

WAITING = ("messages", "oldest", "median_seconds", "p95_seconds")
OVERTAKEN = ("passed_by", "position", "message_id", "since")


@dataclass(frozen=True)
class Kind:
    """One of the two schedules: what is waited in, by which level, since when."""

    name: str
    title: str
    table: Table
    within: tuple[str, ...]
    level: str
    since: str


QUEUES = Kind(
    "receive",
    "messages that later ones are received before",
    RECEIVE_SCHEDULE,
    ("instance", "database", "queue"),
    "priority",
    "arrived_at",
)
TRANSMISSION = Kind(
    "transmission",
    "messages that later ones are sent before",
    TRANSMISSION_SCHEDULE,
    ("instance",),
    "transmit_priority",
    "sendable_at",
)


def waiting(
    schedule: DataFrame, *, within: Sequence[str], level: str, since: str, as_of: datetime
) -> DataFrame:
    """How many messages wait, and for how long at as_of.

    Args:
        schedule: rows of `receive_schedule` or `transmission_schedule` of one as_of.
        within: what the messages wait in: the queue's three columns, or instance.
        level: the level to tell them by: priority for a queue, transmit_priority for an instance.
        since: when the wait began: arrived_at or sendable_at.
        as_of: the instant of the schedule.

    Returns:
        One row per combination and level: `messages`, `oldest`, and `median_seconds` and `p95_seconds`
        of waiting so far. They are exact, and interpolated between messages, of whole seconds: so
        many different values are bounded, however many messages there are.

    Source: our choice.
    """
    seconds = F.floor((F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / 1_000_000)
    return schedule.groupBy(*within, level).agg(
        F.count(F.lit(1)).alias("messages"),
        F.min(since).alias("oldest"),
        F.percentile(seconds, F.lit(0.5)).alias("median_seconds"),
        F.percentile(seconds, F.lit(0.95)).alias("p95_seconds"),
    )


def overtaken(schedule: DataFrame, kind: Kind, *, most: int = MOST) -> DataFrame:
    """The most overtaken messages of each queue or instance; see `most_overtaken`."""
    found = most_overtaken(schedule, within=kind.within, since=kind.since, most=most)
    return found.withColumnRenamed(kind.since, "since")


def waiting_messages(
    warehouse: Warehouse, *, as_of: datetime, limit: int, catalog: Catalog | None = None
) -> dict[str, Any]:
    """Read what waits at an as_of: the starvation report.

    Args:
        warehouse: what to read.
        as_of: an as_of that was published.
        limit: rows of each part.
        catalog: what says which messages wait for which queue.

    Returns:
        `as_of`; `transmission_status`, what the server says of messages that wait to be sent
        (`server_says.statuses`); `unplaced`, what no schedule can place (`unplaced.unplaced`); `queues_off`,
        what waits in and for queues that are off (`queues_off_at`); and for receive and transmission:
        `waiting`, a row per queue (or instance) and level, the longest waiting first, and `overtaken`, the
        ten messages of each queue (or instance) that most later ones go before, the most overtaken first.
        Messages that wait for a queue that is off are not overtaken.
    """
    catalog = catalog or Catalog()
    off = queues_off_at(warehouse, catalog, as_of)
    report: dict[str, Any] = {
        "as_of": as_of,
        "transmission_status": transmission_statuses(warehouse, as_of, limit),
        "unplaced": unplaced(warehouse, as_of),
        "queues_off": off,
    }
    for kind in (QUEUES, TRANSMISSION):
        schedule = warehouse.read_as_of(kind.table, as_of)
        waits = waiting(schedule, within=kind.within, level=kind.level, since=kind.since, as_of=as_of)
        if kind is TRANSMISSION and off:
            schedule = with_queue_off(schedule, catalog, off).where("waits_for is null")
        late = overtaken(schedule, kind)
        report[kind.name] = {
            "waiting": collect_rows(waits.orderBy("oldest", *kind.within, F.desc(kind.level)).limit(limit)),
            "overtaken": collect_rows(
                late.orderBy(F.desc("passed_by"), *kind.within, "place")
                .select(*kind.within, *OVERTAKEN)
                .limit(limit)
            ),
        }
    return report
