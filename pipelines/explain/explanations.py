"""Explain one conversation, message or group at an as_of; only its own rows are read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.sql import functions as F, types as T

from pipelines.activation.read import rollbacks
from pipelines.config.catalog import Catalog
from pipelines.config.errors import PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.service_databases import ServiceDatabases
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import small_frame
from pipelines.explain.endpoint import Endpoint, explain_endpoint, find_near_rules
from pipelines.explain.gone import find_gone
from pipelines.explain.message_state import describe_closed, describe_open
from pipelines.explain.off_periods import read_off_periods
from pipelines.explain.positions import (
    Group,
    ReceivePosition,
    TransmissionPosition,
    explain_groups,
    explain_receive,
    explain_transmission,
)
from pipelines.explain.read import (
    collect_open_first,
    read_endpoint_events,
    read_endpoints,
)
from pipelines.questions.conversations import (
    CASE,
    conversation_of_handle,
    or_pruned,
    unknown_conversation,
)
from pipelines.questions.endpoint_states import find_snapshot_states
from pipelines.questions.names_in_use import drop_names_in_use, known_in_use
from pipelines.settings.rule_sources import KnownRules
from pipelines.state.messages import describe_messages
from pipelines.storage.collect import collect_rows
from pipelines.storage.histories import read_rule_snapshots, stored_versions
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDS, MESSAGES, accepted_names
from schemas.ids import canonical_text
from schemas.keys import QUEUE
from schemas.outputs import (
    GROUP_PRIORITIES,
    PRIORITY_RULES,
    RECEIVE_SCHEDULE,
    TRANSMISSION_SCHEDULE,
    UNRESOLVED,
)

FACTS = accepted_names("message_events")
KNOWN = (
    "conversation_id",
    "sent_by_initiator",
    "message_type",
    "message_sequence_number",
    "sent_at",
    "arrived_at",
)
"""The columns of `describe_messages` that an explanation has."""


@dataclass(frozen=True)
class Conversation:
    """A conversation: its endpoints, the initiator's first, and their groups with ready messages at as_of.

    `findings` are those of `priorities why` for its messages.
    """

    as_of: datetime
    conversation_id: str
    endpoints: tuple[Endpoint, ...]
    groups: tuple[Group, ...]
    findings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Message:
    """A message: its facts, its positions in the schedules at as_of, and its two endpoints.

    `missing` has, by schedule, the reason why the schedule can't place it. `state` is one sentence.
    `rolled_back` counts how often an open message was received and rolled back (`rollbacks`,
    `last_received_at`, `last_transaction_id`); None if the log has no rollback.
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
    receive: ReceivePosition | None
    transmissions: tuple[TransmissionPosition, ...]
    missing: Mapping[str, str]
    rolled_back: Mapping[str, Any] | None
    gone_between: Mapping[str, Any] | None
    group: Group | None
    endpoints: tuple[Endpoint, ...]


def explain_conversation(
    warehouse: Warehouse,
    name: str,
    *,
    as_of: datetime,
    catalog: Catalog | None = None,
    known_rules: KnownRules | None = None,
) -> Conversation:
    """Explain the priorities of a conversation's endpoints and of their groups.

    Args:
        warehouse: what to read.
        name: its conversation_id, or the conversation_handle of one of its endpoints; GUIDs in any spelling.
        as_of: an as_of that was published.
        catalog: its services are names in use.
        known_rules: whose rules are known; None is of all databases.

    Raises:
        PipelineError: no endpoint of the conversation is known, or the handle is of several conversations.
    """
    conversation_id = canonical_text(name)
    found = read_endpoints(warehouse, conversation_id)
    if not found and (of_handle := conversation_of_handle(warehouse, conversation_id)):
        conversation_id = of_handle
        found = read_endpoints(warehouse, conversation_id)
    endpoints = _explain_endpoints(warehouse, catalog, known_rules, found, as_of)
    if not endpoints:
        raise unknown_conversation(warehouse, name)
    scheduled = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of).where(
        F.col("conversation_id") == conversation_id
    )
    in_queues = collect_rows(scheduled.select("conversation_group_id").distinct())
    group_ids = sorted(row["conversation_group_id"] for row in in_queues)
    groups = [group for group_id in group_ids for group in _explain_groups(warehouse, group_id, as_of)]
    return Conversation(as_of, conversation_id, endpoints, tuple(groups))


def explain_message(
    warehouse: Warehouse,
    message_id: str,
    *,
    as_of: datetime,
    honors: Mapping[tuple[str, str], bool | None],
    catalog: Catalog | None = None,
    known_rules: KnownRules | None = None,
) -> Message:
    """Explain the position of a message at as_of and count the messages before it.

    Args:
        warehouse: what to read.
        message_id: the message.
        as_of: an as_of that was published.
        honors: honor_broker_priority by (instance, database); what is not there is not known.
        catalog: its services are names in use.
        known_rules: whose rules are known; None is of all databases.

    Raises:
        PipelineError: no such message is known.
    """
    message_id = canonical_text(message_id)
    events = collect_open_first(
        warehouse.read(MESSAGES).where(F.col("message_id") == message_id),
        *FACTS,
        "batch",
        moment="event_time",
    )
    if not events:
        raise PipelineError(
            f"message {message_id!r}: no event of it is known; check the id ({CASE}), "
            f"and whether its events are among the inputs or in rejected_events{or_pruned(warehouse)}"
        )
    # Independent queries run at once: planning takes most of the time of each.
    likely = events[0]["conversation_id"]
    known, found = run_concurrently(
        warehouse.spark, lambda: _message_facts(warehouse, events), lambda: read_endpoints(warehouse, likely)
    )
    if known["conversation_id"] != likely:
        found = read_endpoints(warehouse, known["conversation_id"])
    endpoints, (receive, group) = run_concurrently(
        warehouse.spark,
        lambda: _explain_endpoints(warehouse, catalog, known_rules, found, as_of),
        lambda: _explain_receive(warehouse, message_id, known, found, as_of),
    )
    transmissions: list[TransmissionPosition] = []
    # A message in a queue waits for no transmission, except where an instance still has to forward its copy.
    if receive is None or any(event["event_type"] == "FORWARD_ACCEPTED" for event in events):
        schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
        transmissions = explain_transmission(
            schedule, message_id, honors, ServiceDatabases(catalog or Catalog())
        )
    missing: dict[str, str] = {}
    if receive is None:
        lost = warehouse.read_as_of(UNRESOLVED, as_of).where(F.col("id") == message_id)
        missing = {row["kind"]: row["reason"] for row in collect_rows(lost.select("kind", "reason"))}
    rolled_back, gone = None, None
    if receive is not None or transmissions or missing:
        state = describe_open(receive, transmissions, missing)
        rolled_back = _count_rollbacks(warehouse, message_id, events, as_of)
    else:
        gone = find_gone(warehouse, events, known, as_of)
        state = describe_closed(warehouse, events, known, as_of, gone.sentence() if gone else None)
    return Message(
        as_of=as_of,
        message_id=message_id,
        **known,
        state=state,
        receive=receive,
        transmissions=tuple(transmissions),
        missing=missing,
        rolled_back=rolled_back,
        gone_between=gone.plain() if gone else None,
        group=group,
        endpoints=endpoints,
    )


def _count_rollbacks(
    warehouse: Warehouse, message_id: str, events: Sequence[Mapping[str, Any]], as_of: datetime
) -> Mapping[str, Any] | None:
    if not any(event["event_type"] == "RECEIVED" and event["transaction_id"] for event in events):
        return None
    this = small_frame(warehouse.spark, [(message_id,)], "message_id string")
    found = collect_rows(rollbacks(warehouse, this, as_of).drop("message_id"))
    return found[0] if found else None


def explain_group(warehouse: Warehouse, group_id: str, *, as_of: datetime) -> tuple[Group, ...]:
    """Explain a group's level and place in every queue where it has ready messages at as_of.

    Raises:
        PipelineError: it has none.
    """
    group_id = canonical_text(group_id)
    groups = _explain_groups(warehouse, group_id, as_of)
    if not groups:
        raise PipelineError(
            f"group {group_id!r}: it has no ready message in any queue at {format_instant(as_of)}; "
            f"check the id ({CASE}) and --as-of"
        )
    return tuple(groups)


def _message_facts(warehouse: Warehouse, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the facts of a message, from all its events."""
    schema = T.StructType([column.field for column in MESSAGES.columns if column.name in FACTS])
    rows = [[event[name] for name in FACTS] for event in events]
    events_of_it = small_frame(warehouse.spark, rows, schema)
    return collect_rows(describe_messages(events_of_it, lambda rows: rows).select(*KNOWN))[0]


def _explain_receive(
    warehouse: Warehouse,
    message_id: str,
    known: Mapping[str, Any],
    endpoints: Iterable[Mapping[str, Any]],
    as_of: datetime,
) -> tuple[ReceivePosition | None, Group | None]:
    """Find a message in the queues, first in the queue of the receiving endpoint."""
    if known["arrived_at"] is None or known["arrived_at"] >= as_of:
        return None, None
    receiver = [one for one in endpoints if one["is_initiator"] != known["sent_by_initiator"]]
    likely = {name: receiver[0][name] for name in QUEUE} if receiver else None
    receive, group = explain_receive(
        warehouse.read_as_of(GROUP_PRIORITIES, as_of),
        warehouse.read_as_of(RECEIVE_SCHEDULE, as_of),
        message_id,
        likely,
    )
    return receive, None if group is None else _with_off_periods(warehouse, group, as_of)


def _explain_groups(warehouse: Warehouse, group_id: str, as_of: datetime) -> list[Group]:
    groups = explain_groups(
        warehouse.read_as_of(GROUP_PRIORITIES, as_of),
        warehouse.read_as_of(RECEIVE_SCHEDULE, as_of),
        group_id,
    )
    return [_with_off_periods(warehouse, group, as_of) for group in groups]


def _with_off_periods(warehouse: Warehouse, group: Group, as_of: datetime) -> Group:
    queue = group.instance, group.database, group.queue
    return replace(group, was_off=read_off_periods(warehouse, queue, group.oldest_arrival, as_of))


def _explain_endpoints(
    warehouse: Warehouse,
    catalog: Catalog | None,
    known_rules: KnownRules | None,
    endpoints: Sequence[Mapping[str, Any]],
    as_of: datetime,
) -> tuple[Endpoint, ...]:
    """Explain endpoints, the initiator first; only the rules of their databases are read.

    Other endpoints are read if rules nearly fit, to see whether their names are in use.
    """
    if not endpoints:
        return ()
    theirs = F.lit(False)
    for row in endpoints:
        theirs |= (F.col("instance") == row["instance"]) & (F.col("database") == row["database"])
    rules = stored_versions(warehouse.read(PRIORITY_RULES).where(theirs))
    initiator_first = sorted(endpoints, key=lambda row: not row["is_initiator"])
    shown = read_rule_snapshots(warehouse)
    events = read_endpoint_events(warehouse, endpoints[0]["conversation_id"])
    states = find_snapshot_states(events, as_of)
    is_in_use = known_in_use(catalog or Catalog())
    near = {row["is_initiator"]: find_near_rules(row, rules, is_in_use, as_of) for row in initiator_first}
    near = drop_names_in_use(warehouse, near, as_of)
    return tuple(
        replace(
            explain_endpoint(
                row,
                rules,
                near[row["is_initiator"]],
                first_seen=shown.get((row["instance"], row["database"]), ()),
                as_of=as_of,
                rules_known=known_rules is None or known_rules.has(row["instance"], row["database"]),
            ),
            ended_by=_end_source(row, events),
            state=states[row["is_initiator"]].state if row["is_initiator"] in states else None,
            state_seen_at=states[row["is_initiator"]].seen_at if row["is_initiator"] in states else None,
        )
        for row in initiator_first
    )


def _end_source(endpoint: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> str | None:
    """Return "log" if a log has the end of the endpoint, else "snapshot"; None if it has not ended."""
    if endpoint["ended_at"] is None:
        return None
    shown = [
        event["seen_at"]
        for event in events
        if event["event_type"] in ENDS
        and (event["is_initiator"], event["event_time"]) == (endpoint["is_initiator"], endpoint["ended_at"])
    ]
    return "log" if not shown or None in shown else "snapshot"
