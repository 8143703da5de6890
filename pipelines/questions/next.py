"""The messages that come next in one queue, or that one instance sends next."""

from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.activation.queues_off import queues_off_at, with_queue_off
from pipelines.config.catalog import Catalog
from pipelines.config.errors import PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import KnownQueues, QueueFilter
from pipelines.console.invocation import name_command
from pipelines.console.wording import format_count
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
            f"{format_count(unplaced, 'open message')} can't be placed and may belong there; "
            f"{name_command('waiting')} says "
            "why, and lists what waits"
        )


def next_received(queue: DataFrame, limit: int) -> DataFrame:
    """The next messages of a queue.

    Args:
        queue: rows of `receive_schedule` of one as_of and one queue.
        limit: how many.

    Returns:
        In order of `position`: the RECEIVE that returns the message, the group that this RECEIVE chooses,
        the group's priority then and the conversation that gives it (`deciding_conversation_id`), the
        message's own conversation, level, number, type and arrival.

    What a RECEIVE returns begins with the conversation of the highest level that is left in the group, so
    that is the one which decides.
    Source: the design, "Orders" and "Receive schedule".
    """
    of_receive = Window.partitionBy("receive_number").orderBy("position")
    return (
        queue.where(F.col("position") <= limit)
        .withColumn("deciding_conversation_id", F.first("conversation_id").over(of_receive))
        .select(
            "position",
            "receive_number",
            "conversation_group_id",
            "group_priority",
            "deciding_conversation_id",
            "conversation_id",
            "priority",
            "message_sequence_number",
            "message_type",
            "arrived_at",
            "message_id",
        )
        .orderBy("position")
    )


def next_transmitted(instance: DataFrame, limit: int) -> DataFrame:
    """The next messages of an instance's transmission queues.

    Args:
        instance: rows of `transmission_schedule` of one as_of and one sending instance.
        limit: how many.

    Returns:
        In order of `position`: the level that counts and the one that is shown, whether waiting raised it
        or the message is only forwarded, its block, when it became sendable, what it is, where it goes, and
        what the server says of it. With `waits_for` (`pipelines.activation.queues_off.with_queue_off`),
        messages that wait
        for a queue that is off are left out.
    """
    if "waits_for" in instance.columns:
        first = instance.where("waits_for is null").orderBy("position").limit(limit)
    else:
        first = instance.where(F.col("position") <= limit)
    return first.select(
        "position",
        "transmit_priority",
        "priority",
        "elevated",
        "forwarded",
        "block",
        "sendable_at",
        "database",
        "conversation_id",
        "message_sequence_number",
        "message_type",
        "destination_instance",
        "destination_database",
        "to_service",
        "message_id",
        "why_still_here",
    ).orderBy("position")
