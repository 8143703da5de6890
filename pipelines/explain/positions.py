"""The position of a group or a message at an as_of, and the counts of what goes before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.service_databases import ServiceDatabases
from pipelines.engine.concurrency import run_concurrently
from pipelines.explain.off_periods import OffPeriod
from pipelines.rules.statements import DEFAULT_LEVEL
from pipelines.schedules.ready import with_arrival_order
from pipelines.storage.collect import collect_rows
from schemas.keys import QUEUE

CONVERSATIONS_SHOWN = 20


@dataclass(frozen=True)
class AheadCount:
    """The number of groups or messages of one level before the position."""

    level: int
    count: int


@dataclass(frozen=True)
class GroupConversation:
    """A conversation of a group, with its ready messages and whether the group has its level from it."""

    conversation_id: str
    is_initiator: bool
    priority: int
    messages: int
    oldest_arrival: datetime
    decides: bool


@dataclass(frozen=True)
class Group:
    """A group with ready messages in a queue: its level, the conversation that gives it, its position.

    `ahead` counts the groups that GET CONVERSATION GROUP returns before it, by their level, highest first;
    empty unless ready. `listed` has the first conversations in the group's order. `was_off` has the periods
    in which the queue was off since its oldest message arrived, without one that goes on.
    """

    instance: str
    database: str
    queue: str
    conversation_group_id: str
    priority: int
    deciding_conversation_id: str
    state: str
    position: int | None
    conversations: int
    messages: int
    oldest_arrival: datetime
    ahead: tuple[AheadCount, ...]
    listed: tuple[GroupConversation, ...]
    was_off: tuple[OffPeriod, ...] = ()


@dataclass(frozen=True)
class ReceivePosition:
    """A message in the receive schedule.

    `ahead` counts the messages that are received before it, by the group level at their RECEIVE, highest
    first; empty unless ready.
    """

    instance: str
    database: str
    queue: str
    conversation_group_id: str
    group_priority: int
    priority: int
    state: str
    position: int | None
    receive_number: int | None
    arrived_at: datetime
    ahead: tuple[AheadCount, ...]


@dataclass(frozen=True)
class TransmissionPosition:
    """A message in the transmission schedule of one instance.

    `priority` is what sys.transmission_queue shows, `transmit_priority` what counts, and `reason` says why
    they are the same or not. `ahead` counts the messages sent before it, by the level that counts.
    `waits_for` is the queue of the same instance that is off and that it is for: it has no position then.
    `why_still_here` is the transmission_status of the newest snapshot that shows it. `destination_of` names
    the databases that could be the destination, where several could.
    """

    instance: str
    database: str
    destination_instance: str | None
    destination_database: str | None
    from_service: str | None
    to_service: str | None
    priority: int | None
    transmit_priority: int
    reason: str
    elevated: bool
    forwarded: bool
    waits_for: str | None
    why_still_here: str | None
    position: int | None
    block: int | None
    sendable_at: datetime
    ahead: tuple[AheadCount, ...]
    destination_of: str | None = None


def explain_groups(groups: DataFrame, receives: DataFrame, group_id: str) -> list[Group]:
    """Explain a group in every queue where it has ready messages.

    Args:
        groups: `group_priorities` rows of one as_of.
        receives: `receive_schedule` rows of the same as_of.
        group_id: the group.

    Returns:
        One item per queue with ready messages of the group, ordered by instance, database and queue; none
        if there are none.
    """
    found = collect_rows(groups.where(F.col("conversation_group_id") == group_id))
    return [_explain_in_queue(groups, receives, row) for row in sorted(found, key=itemgetter(*QUEUE))]


def _explain_in_queue(groups: DataFrame, receives: DataFrame, row: Mapping[str, Any]) -> Group:
    own = receives.where(_equals(row, QUEUE)).where(
        F.col("conversation_group_id") == row["conversation_group_id"]
    )
    conversations = (
        with_arrival_order(own)
        .groupBy("conversation_id", "is_initiator", "priority")
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.min("arrived_at").alias("oldest_arrival"),
            F.min("arrival_order").alias("oldest"),
        )
    )
    first = (
        conversations.orderBy(F.desc("priority"), "oldest", "conversation_id", F.desc("is_initiator"))
        .drop("oldest")
        .limit(CONVERSATIONS_SHOWN)
    )
    ahead, shown = run_concurrently(
        groups.sparkSession,
        lambda: _count_ahead(groups.where(_equals(row, QUEUE)), row["position"], "priority"),
        lambda: collect_rows(first),
    )
    listed = [
        GroupConversation(
            **conversation, decides=conversation["conversation_id"] == row["deciding_conversation_id"]
        )
        for conversation in shown
    ]
    columns = [name for name in Group.__dataclass_fields__ if name not in ("ahead", "listed", "was_off")]
    return Group(
        **{name: row[name] for name in columns},
        ahead=ahead,
        listed=tuple(listed),
    )


def explain_receive(
    groups: DataFrame, receives: DataFrame, message_id: str, likely: Mapping[str, Any] | None
) -> tuple[ReceivePosition | None, Group | None]:
    """Find a message in the receive schedule, and explain its group.

    Args:
        groups: `group_priorities` rows of one as_of.
        receives: `receive_schedule` rows of the same as_of.
        message_id: the message.
        likely: the queue (by `QUEUE`) where it stands if the catalog is still the same, None if unknown.
            All other queues are searched only if it is not there.

    Returns:
        Its position and its group; None if it is not in the schedule. A message stands in one queue.
    """
    found = _find_in_queue(groups, receives, message_id, likely) if likely is not None else (None, None)
    if found[0] is not None:
        return found
    elsewhere = collect_rows(receives.where(F.col("message_id") == message_id).select(*QUEUE).limit(1))
    return _find_in_queue(groups, receives, message_id, elsewhere[0]) if elsewhere else (None, None)


def _find_in_queue(
    groups: DataFrame, receives: DataFrame, message_id: str, queue: Mapping[str, Any]
) -> tuple[ReceivePosition | None, Group | None]:
    messages = receives.where(_equals(queue, QUEUE))
    rows = collect_rows(messages.where(F.col("message_id") == message_id).limit(1))
    if not rows:
        return None, None
    row = rows[0]
    ahead, found = run_concurrently(
        groups.sparkSession,
        lambda: _count_ahead(messages, row["position"], "group_priority"),
        lambda: explain_groups(groups.where(_equals(queue, QUEUE)), messages, row["conversation_group_id"]),
    )
    columns = [name for name in ReceivePosition.__dataclass_fields__ if name != "ahead"]
    return ReceivePosition(**{name: row[name] for name in columns}, ahead=ahead), found[0] if found else None


ADDED = ("ahead", "reason", "destination_of")
"""What `TransmissionPosition` has beyond the table's columns."""


def explain_transmission(
    transmissions: DataFrame,
    message_id: str,
    honors: Mapping[tuple[str, str], bool | None],
    services: ServiceDatabases,
) -> list[TransmissionPosition]:
    """Find a message in the transmission schedule, where it waits and where it is being forwarded.

    Args:
        transmissions: `transmission_schedule` rows of one as_of.
        message_id: the message.
        honors: honor_broker_priority by (instance, database); what is not there is not known.
        services: which databases have a service.

    Returns:
        One item per instance, ordered by it; none if it is not in the schedule.
    """
    transmissions = transmissions.withColumn(
        "position", F.when(F.col("waits_for").isNull(), F.col("position"))
    )
    found = collect_rows(transmissions.where(F.col("message_id") == message_id))
    columns = [name for name in TransmissionPosition.__dataclass_fields__ if name not in ADDED]
    return [
        TransmissionPosition(
            **{name: row[name] for name in columns},
            reason=describe_transmit_level(row, honors.get((row["instance"], row["database"]))),
            ahead=_count_ahead(
                transmissions.where(F.col("instance") == row["instance"]),
                row["position"],
                "transmit_priority",
            ),
            destination_of=services.describe_open((row["instance"], row["database"]), row["to_service"])
            if row["destination_database"] is None
            else None,
        )
        for row in sorted(found, key=itemgetter("instance"))
    ]


def describe_transmit_level(row: Mapping[str, Any], honors: bool | None) -> str:
    """Say why the level that counts for sending is what it is.

    Args:
        row: a row of `transmission_schedule`.
        honors: whether the database that holds the message has HONOR_BROKER_PRIORITY on in the catalog of
            today, which may not be that of the run; None is not known.
    """
    if row["forwarded"]:
        return f"forwarded messages are always sent at {DEFAULT_LEVEL}"
    base = DEFAULT_LEVEL if honors is False or row["priority"] is None else row["priority"]
    counts = row["transmit_priority"]
    fits = counts > base if row["elevated"] else counts == base
    if not fits:
        now, then = ("off", "on") if honors is False else ("on", "off")
        is_now = "that is not known now" if honors is None else f"has it {now} now"
        reason = (
            f"the catalog was another one when it was scheduled: {row['database']} had HONOR_BROKER_PRIORITY "
            f"{then} then, and {is_now}"
        )
    elif honors is None:
        reason = f"whether {row['database']} honors priorities is not known; the level counts if it does"
    elif honors:
        reason = f"{row['database']} honors priorities, so the sending endpoint's level counts"
    else:
        reason = f"{row['database']} has HONOR_BROKER_PRIORITY off, so it is sent at {DEFAULT_LEVEL}"
    if row["elevated"]:
        reason += "; starvation prevention raised that, for it has waited long"
    return reason


def _equals(row: Mapping[str, Any], columns: Sequence[str]) -> Column:
    same = F.lit(True)
    for name in columns:
        same &= F.col(name) == row[name]
    return same


def _count_ahead(rows: DataFrame, position: int | None, level: str) -> tuple[AheadCount, ...]:
    """Count what is before a position, by level, highest first."""
    if position is None:
        return ()
    counts = (
        rows.where(F.col("position") < position)
        .groupBy(F.col(level).alias("level"))
        .agg(F.count(F.lit(1)).alias("count"))
    )
    return tuple(
        AheadCount(**row) for row in sorted(collect_rows(counts), key=itemgetter("level"), reverse=True)
    )
