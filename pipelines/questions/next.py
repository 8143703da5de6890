"""What comes next in one queue, or out of one instance: for the job and for notebooks."""

from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame

from pipelines.activation.queues_off import queues_off_at, with_queue_off
from pipelines.config.catalog import Catalog
from pipelines.config.errors import PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import KnownQueues, QueueFilter
from pipelines.console.invocation import name_command
from pipelines.console.wording import counted
from pipelines.questions.next_messages import next_received, next_transmitted
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, UNRESOLVED


def next_messages(
    warehouse: Warehouse, place: QueueFilter, *, as_of: datetime, limit: int, catalog: Catalog | None = None
) -> dict[str, Any]:
    """Read the first rows of one queue's or one instance's order.

    Args:
        warehouse: what to read.
        place: the queue, in any form of its name; without a queue, the instance that sends.
        as_of: an as_of that was published.
        limit: how many messages.
        catalog: what may be named beside the queues and instances of the schedules, and what says which
            messages wait for a queue that is off.

    Returns:
        `as_of`, the place, `next`: the messages in order, and `held_back`: of a queue, how many messages
        wait in a queue that is off or a group that is locked, by state; of an instance, how many wait for
        queues that are off (queue_off). `queue_off` has the queue if it is off, `queues_off` all queues that
        messages of the instance wait for; see `queues_off_at`. All are empty where nothing waits.

    Raises:
        ConfigError: there is no such queue or instance, or there are several queues of that name.
        PipelineError: no schedule has a message of the place, but messages that can't be placed may belong
            there.
    """
    catalog = catalog or Catalog()
    if place.queue is None:
        return _sent_next(warehouse, place, catalog, as_of, limit)
    known = KnownQueues.of(catalog)
    schedule = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of)
    if not place.find(known):
        known = known.and_queues(_distinct(schedule, QUEUE))
    queue = dict(zip(QUEUE, place.only(known), strict=True))
    received = QueueFilter(**queue).of(schedule)
    # Of the whole queue only this column is read; of its messages, the first.
    counts = sorted(collect_rows(received.groupBy("state").count()), key=itemgetter("state"))
    off = [row for row in queues_off_at(warehouse, catalog, as_of) if queue.items() <= row.items()]
    # A queue that is off may have no message in it, and some that wait for it.
    if not counts and not off:
        _require_all_placed(warehouse, QueueFilter(**queue), as_of)
    return {
        "as_of": as_of,
        **queue,
        "next": collect_rows(next_received(received, limit)),
        "held_back": {row["state"]: row["count"] for row in counts if row["state"] != "ready"},
        "queue_off": next(iter(off), None),
    }


def _sent_next(
    warehouse: Warehouse,
    place: QueueFilter,
    catalog: Catalog,
    as_of: datetime,
    limit: int,
) -> dict[str, Any]:
    """What an instance sends next; what waits for a queue that is off is only counted."""
    schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
    off = [
        row
        for row in queues_off_at(warehouse, catalog, as_of)
        if row["instance"] == place.instance and row["waiting"]
    ]
    coming = collect_rows(next_transmitted(with_queue_off(place.of(schedule), catalog, off), limit))
    if not coming and not off:
        known = KnownQueues.of(catalog)
        place.require_place(known.and_databases(_distinct(schedule, QUEUE[:2])))
        _require_all_placed(warehouse, place, as_of)
    return {
        "as_of": as_of,
        "instance": place.instance,
        "next": coming,
        "held_back": {"queue_off": sum(row["waiting"] for row in off)} if off else {},
        "queues_off": off,
    }


def _distinct(schedule: DataFrame, names: list[str]) -> list[Any]:
    """The distinct values of these columns, as tuples."""
    rows = collect_rows(schedule.select(*names).distinct())
    return [tuple(row[name] for name in names) for row in rows]


def _require_all_placed(warehouse: Warehouse, place: QueueFilter, as_of: datetime) -> None:
    """Refuse the answer that nothing waits while messages can't be placed."""
    if unplaced := warehouse.read_as_of(UNRESOLVED, as_of).count():
        raise PipelineError(
            f"{place}: no schedule has a message there at {format_instant(as_of)}, but "
            f"{counted(unplaced, 'open message')} can't be placed and may belong there; "
            f"{name_command('waiting')} says "
            "why, and lists what waits"
        )
