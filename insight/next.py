"""What comes next in one queue, or out of one instance: for the job and for notebooks."""

from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame

from config.catalog import Catalog
from config.errors import PipelineError
from config.instants import format_instant
from insight.coming import next_received, next_transmitted
from insight.queue_filter import KnownQueues, QueueFilter
from schemas.keys import QUEUE
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from storage.collected import collected
from storage.warehouse import Warehouse


def what_comes_next(
    warehouse: Warehouse, place: QueueFilter, *, as_of: datetime, limit: int, catalog: Catalog | None = None
) -> dict[str, Any]:
    """Read the first rows of one queue's or one instance's order.

    Args:
        warehouse: what to read.
        place: the queue, in any form of its name; without a queue, the instance that sends.
        as_of: an as_of that was published.
        limit: how many messages.
        catalog: what may be named beside the queues and instances of the schedules.

    Returns:
        `as_of`, the place, `next`: the messages in order, and for a queue `held_back`: how many messages
        wait in a queue that is off or a group that is locked, by state.

    Raises:
        ConfigError: there is no such queue or instance, or there are several queues of that name.
        PipelineError: nothing waits at the place.
    """
    known = KnownQueues.of(catalog or Catalog())
    if place.queue is None:
        schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
        coming = collected(next_transmitted(place.of(schedule), limit))
        if not coming:
            place.require_place(known.and_databases(_distinct(schedule, QUEUE[:2])))
            raise _nothing_waits(place, as_of)
        return {"as_of": as_of, "instance": place.instance, "next": coming}
    schedule = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of)
    if not place.find(known):
        known = known.and_queues(_distinct(schedule, QUEUE))
    queue = dict(zip(QUEUE, place.only(known), strict=True))
    received = QueueFilter(**queue).of(schedule)
    # Of the whole queue only this column is read; of its messages, the first.
    counts = sorted(collected(received.groupBy("state").count()), key=itemgetter("state"))
    if not counts:
        raise _nothing_waits(QueueFilter(**queue), as_of)
    return {
        "as_of": as_of,
        **queue,
        "next": collected(next_received(received, limit)),
        "held_back": {row["state"]: row["count"] for row in counts if row["state"] != "ready"},
    }


def _distinct(schedule: DataFrame, names: list[str]) -> list[Any]:
    """The distinct values of these columns, as tuples."""
    rows = collected(schedule.select(*names).distinct())
    return [tuple(row[name] for name in names) for row in rows]


def _nothing_waits(place: QueueFilter, as_of: datetime) -> PipelineError:
    return PipelineError(
        f"{place}: nothing waits there at {format_instant(as_of)}; names are compared byte by byte, and "
        "jobs/waiting.py lists what waits"
    )
