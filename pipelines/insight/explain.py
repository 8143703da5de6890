"""Explanations of one conversation, message or group, from the tables: for the job and for notebooks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.collected import collected
from pipelines.errors import PipelineError
from pipelines.insight.explain_endpoint import Endpoint, explain_endpoint
from pipelines.insight.explain_queue import (
    Group,
    ReceivePlace,
    TransmissionPlace,
    explain_groups,
    explain_receive,
    explain_transmission,
)
from pipelines.insight.open_first import open_first
from pipelines.rules.stored import stored_versions
from pipelines.settings.instants import format_instant
from schemas.keys import QUEUE


@dataclass(frozen=True)
class Tables:
    """The tables that explanations read; the schedules only at `as_of`.

    Nothing is read before a question is asked, and then rows of its key only.
    """

    as_of: datetime
    endpoints: DataFrame
    messages: DataFrame
    priority_rules: DataFrame
    group_priorities: DataFrame
    receive_schedule: DataFrame
    transmission_schedule: DataFrame
    unresolved: DataFrame

    def at_as_of(self, name: str) -> DataFrame:
        """Return the rows of a schedule table at as_of."""
        table: DataFrame = getattr(self, name)
        return table.where(F.col("as_of") == F.lit(self.as_of))


@dataclass(frozen=True)
class Conversation:
    """A conversation: its endpoints, the initiator's first, and their groups with ready messages at as_of."""

    as_of: datetime
    conversation_id: str
    endpoints: tuple[Endpoint, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Message:
    """A message: what is known of it, its places in the schedules at as_of, and its two endpoints.

    `missing` says why a schedule can't place it, by schedule. `state` is one sentence.
    """

    as_of: datetime
    message_id: str
    conversation_id: str
    sent_by_initiator: bool
    message_type: str
    message_sequence_number: int | None
    sent_at: datetime | None
    arrived_at: datetime | None
    state: str
    receive: ReceivePlace | None
    transmissions: tuple[TransmissionPlace, ...]
    missing: Mapping[str, str]
    group: Group | None
    endpoints: tuple[Endpoint, ...]


def explain_conversation(tables: Tables, conversation_id: str) -> Conversation:
    """Explain the priorities of a conversation's endpoints and of their groups.

    Raises:
        PipelineError: no endpoint of the conversation is known.
    """
    endpoints = _endpoints(tables, conversation_id)
    if not endpoints:
        raise PipelineError(
            f"conversation {conversation_id!r}: no endpoint of it is known; check the id (case counts), and "
            "whether its creation is among the inputs or in rejected_events"
        )
    schedule = tables.at_as_of("receive_schedule").where(F.col("conversation_id") == conversation_id)
    group_ids = {
        row["conversation_group_id"] for row in collected(schedule.select("conversation_group_id").distinct())
    }
    groups = [group for group_id in sorted(group_ids) for group in _groups(tables, group_id)]
    return Conversation(tables.as_of, conversation_id, endpoints, tuple(groups))


def explain_message(tables: Tables, message_id: str, honors: Mapping[tuple[str, str], bool]) -> Message:
    """Explain where a message stands at as_of and what goes before it.

    Args:
        tables: what to read.
        message_id: the message.
        honors: honor_broker_priority by (instance, database); what is not there has it off.

    Raises:
        PipelineError: no such message is known.
    """
    known = open_first(
        tables.messages.where(F.col("message_id") == message_id),
        "first_event.conversation_id",
        "first_event.sent_by_initiator",
        "first_event.message_type",
        F.col("sequence.value").alias("message_sequence_number"),
        "sent_at",
        F.col("arrival.arrived_at").alias("arrived_at"),
        (F.size("forwards") > 0).alias("is_forwarded"),
        *_taken(tables.as_of),
    )
    if not known:
        raise PipelineError(
            f"message {message_id!r}: no event of it is known; check the id (case counts), and whether its "
            "events are among the inputs or in rejected_events"
        )
    facts = known[0]
    taken_at, is_received = facts.pop("taken_at"), facts.pop("is_received")
    is_forwarded = facts.pop("is_forwarded")
    endpoints = _endpoints(tables, facts["conversation_id"])
    receive, group = _receive(tables, message_id, facts, endpoints)
    transmissions: list[TransmissionPlace] = []
    # What stands in a queue waits for nothing else, but an instance may still have to pass on its copy.
    if receive is None or is_forwarded:
        transmissions = explain_transmission(tables.at_as_of("transmission_schedule"), message_id, honors)
    missing: dict[str, str] = {}
    if receive is None:
        lost = tables.at_as_of("unresolved").where(F.col("id") == message_id)
        missing = {row["kind"]: row["reason"] for row in collected(lost)}
    return Message(
        as_of=tables.as_of,
        message_id=message_id,
        **facts,
        state=_state(tables.as_of, facts, taken_at, is_received, receive, transmissions, missing),
        receive=receive,
        transmissions=tuple(transmissions),
        missing=missing,
        group=group,
        endpoints=endpoints,
    )


def explain_group(tables: Tables, group_id: str) -> tuple[Group, ...]:
    """Explain a group's level and place in every queue where it has ready messages at as_of.

    Raises:
        PipelineError: it has none.
    """
    groups = _groups(tables, group_id)
    if not groups:
        raise PipelineError(
            f"group {group_id!r}: it has no ready message in any queue at {format_instant(tables.as_of)}; "
            "check the id (case counts) and --as-of"
        )
    return tuple(groups)


def _receive(
    tables: Tables, message_id: str, facts: Mapping[str, Any], endpoints: Iterable[Endpoint]
) -> tuple[ReceivePlace | None, Group | None]:
    """Look for a message in the queues, first in that of the endpoint which receives it."""
    if facts["arrived_at"] is None or facts["arrived_at"] >= tables.as_of:
        return None, None
    receiver = [one for one in endpoints if one.is_initiator != facts["sent_by_initiator"]]
    likely = {name: getattr(receiver[0], name) for name in QUEUE} if receiver else None
    return explain_receive(
        tables.at_as_of("group_priorities"), tables.at_as_of("receive_schedule"), message_id, likely
    )


def _groups(tables: Tables, group_id: str) -> list[Group]:
    return explain_groups(tables.at_as_of("group_priorities"), tables.at_as_of("receive_schedule"), group_id)


def _endpoints(tables: Tables, conversation_id: str) -> tuple[Endpoint, ...]:
    """The endpoints of a conversation, explained; only the rules of their databases are read."""
    columns = [field.name for field in fields(Endpoint)]
    wanted = [name for name in columns if name in tables.endpoints.columns]
    rows = open_first(
        tables.endpoints.where(F.col("conversation_id") == conversation_id).orderBy(F.desc("is_initiator")),
        *wanted,
        "priority",
        "rule_name",
        "ladder_step",
    )
    if not rows:
        return ()
    theirs = F.lit(False)
    for row in rows:
        theirs |= (F.col("instance") == row["instance"]) & (F.col("database") == row["database"])
    rules = stored_versions(tables.priority_rules.where(theirs))
    return tuple(explain_endpoint(row, rules) for row in rows)


def _taken(as_of: datetime) -> list[Column]:
    """When the message was last taken and not given back, and whether that is known to be for good."""
    before = F.lit(as_of)
    standing = F.filter(
        "receives",
        lambda receive: (
            (receive.received_at < before)
            & (receive.rolled_back_at.isNull() | (receive.rolled_back_at >= before))
        ),
    )
    taken_at = F.array_max(F.transform(standing, lambda receive: receive.received_at))
    is_received = F.exists(
        "receives",
        lambda receive: (
            (receive.received_at < before)
            & (receive.transaction_id.isNull() | F.coalesce(receive.committed_at < before, F.lit(False)))
        ),
    )
    return [taken_at.alias("taken_at"), is_received.alias("is_received")]


def _state(
    as_of: datetime,
    facts: Mapping[str, Any],
    taken_at: datetime | None,
    is_received: bool,
    receive: ReceivePlace | None,
    transmissions: list[TransmissionPlace],
    missing: Mapping[str, str],
) -> str:
    if receive is not None and receive.state == "ready":
        return f"It is received with RECEIVE number {receive.receive_number} of {receive.queue}."
    if receive is not None:
        return f"It is in {receive.queue} and not received: {receive.state}."
    if transmissions:
        return f"It waits to be sent by {' and '.join(place.instance for place in transmissions)}."
    if missing:
        kind, reason = next(iter(missing.items()))
        return f"It is open, but the {kind} schedule can't place it: {reason}."
    if taken_at is not None and is_received:
        return f"It is in no schedule: it was received at {format_instant(taken_at)}."
    if taken_at is not None:
        return (
            f"It is in no schedule: a RECEIVE took it at {format_instant(taken_at)}, in a transaction "
            "of which no end before as_of is known."
        )
    begun = [time for time in (facts["sent_at"], facts["arrived_at"]) if time is not None]
    if begun and min(begun) >= as_of:
        return f"It is in no schedule: its first event, at {format_instant(min(begun))}, is not before as_of."
    return "It is in no schedule: an end of its conversation dropped it."
