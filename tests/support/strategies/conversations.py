"""Conversations with their endpoint and message events: plausible first, then disturbed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hypothesis import strategies as st

from tests.support.factories import endpoint_event

from .base import (
    CONTRACTS,
    DATABASES,
    GROUPS,
    ID_PREFIXES,
    INSTANCES,
    SERVICES,
    TRANSACTIONS,
    UNKNOWN_SERVICE,
    Clock,
    Row,
    one_of,
    seldom,
)
from .catalogs import Place

SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"
MESSAGE_TYPES = (
    *["Order"] * 6,
    "order",
    SYSTEM + "DialogTimer",
    SYSTEM + "Error",
    SYSTEM + "EndDialog",
    SYSTEM + "error",
    "Error",
)
UNSEQUENCED = (SYSTEM + "DialogTimer", SYSTEM + "Error")
ENDS = ("END_CONVERSATION", "END_CONVERSATION_WITH_ERROR", "END_CONVERSATION_WITH_CLEANUP")
FATES = (
    *["delivered"] * 5,
    *["waiting"] * 4,
    *["received in a transaction"] * 2,
    "received",
    "forwarded",
    "arrival lost",
)
MOODS = (FATES, FATES, FATES + ("delivered",) * 12, FATES + ("waiting",) * 12)
"""What becomes of the messages of a log: all sorts of things, or mostly one."""

SIZES = (None, 0, 1, 100, 101, 250, 1000)


@dataclass(frozen=True)
class Conversation:
    """What its events agree on, before they are disturbed."""

    conversation_id: str
    contract: str
    initiator: Place
    target: Place
    begun_at: datetime

    def end(self, is_initiator: bool) -> Place:
        return self.initiator if is_initiator else self.target


@dataclass
class Traffic:
    """Endpoint and message events so far, without event ids."""

    endpoint_events: list[Row]
    message_events: list[Row]


@st.composite
def traffic(draw: st.DrawFn, clock: Clock, places: list[Place]) -> Traffic:
    """The events of two to six conversations, many of them between the same two services."""
    result = Traffic([], [])
    fates = one_of(draw, MOODS)
    busy_initiator, busy_target = one_of(draw, places), one_of(draw, places)
    for number in range(1, draw(st.integers(2, 6)) + 1):
        conversation = Conversation(
            conversation_id="c1" if number == 1 else f"{one_of(draw, ID_PREFIXES)}{number}",
            contract=one_of(draw, CONTRACTS),
            initiator=one_of(draw, places) if seldom(draw, 3) else busy_initiator,
            target=one_of(draw, places) if draw(st.booleans()) else busy_target,
            begun_at=one_of(draw, clock.ticks[:5]),
        )
        result.endpoint_events += draw(_endpoint_events(clock, conversation))
        for by_initiator, at_most in ((True, 3), (False, 2)):
            for sequence_number in range(draw(st.integers(int(by_initiator), at_most))):
                message_id = f"{one_of(draw, ID_PREFIXES)}m{len(result.message_events)}"
                message = {
                    "message_id": message_id,
                    "conversation_id": conversation.conversation_id,
                    "sent_by_initiator": by_initiator,
                    "message_sequence_number": sequence_number,
                }
                result.message_events += draw(_message_events(clock, conversation, message, places, fates))
    return result


# Endpoints


@st.composite
def _endpoint_events(draw: st.DrawFn, clock: Clock, conversation: Conversation) -> list[Row]:
    """Creations, moves and ends of both endpoints, some of them lost."""
    rows = []
    for is_initiator, creation in ((True, "BEGIN_DIALOG"), (False, "DIALOG_CREATED")):
        created_at = conversation.begun_at if is_initiator else clock.after(draw, conversation.begun_at)
        if not seldom(draw, 10 if is_initiator else 4):
            rows.append(draw(_creation(creation, conversation, is_initiator, created_at)))
            if seldom(draw):
                moment = clock.after(draw, created_at)
                rows.append(draw(_creation(creation, conversation, is_initiator, moment)))
        while seldom(draw, 4):
            moment = clock.after(draw, created_at)
            rows.append(
                {
                    **_endpoint_row("MOVE_CONVERSATION", conversation, is_initiator, moment),
                    "conversation_group_id": one_of(draw, GROUPS),
                }
            )
        while seldom(draw, 6):
            moment = clock.any(draw)
            rows.append(_endpoint_row(one_of(draw, ENDS), conversation, is_initiator, moment))
    return rows


@st.composite
def _creation(
    draw: st.DrawFn, event_type: str, conversation: Conversation, is_initiator: bool, moment: datetime
) -> Row:
    local, remote = conversation.end(is_initiator).service, conversation.end(not is_initiator).service
    if seldom(draw, 12):
        local = one_of(draw, (UNKNOWN_SERVICE, *SERVICES))
    if seldom(draw):
        remote = one_of(draw, (UNKNOWN_SERVICE, *SERVICES))
    handle = f"handle {is_initiator} {conversation.conversation_id}"
    return {
        **_endpoint_row(event_type, conversation, is_initiator, moment),
        "conversation_handle": None if seldom(draw) else handle,
        "conversation_group_id": one_of(draw, GROUPS),
        "contract": one_of(draw, CONTRACTS) if seldom(draw) else conversation.contract,
        "local_service": local,
        "remote_service": remote,
        "logged_priority": one_of(draw, (None, 5)),
    }


def _endpoint_row(event_type: str, conversation: Conversation, is_initiator: bool, moment: datetime) -> Row:
    end = conversation.end(is_initiator)
    names = ("conversation_handle", "conversation_group_id", "contract", "local_service", "remote_service")
    return endpoint_event(
        event_type,
        conversation.conversation_id,
        event_time=moment,
        instance=end.instance,
        database=end.database,
        is_initiator=is_initiator,
        **dict.fromkeys(names),
    )


# Messages


@st.composite
def _message_events(
    draw: st.DrawFn,
    clock: Clock,
    conversation: Conversation,
    message: Row,
    places: list[Place],
    fates: tuple[str, ...],
) -> list[Row]:
    """The events of one message, as its fate has it."""
    by_initiator = message["sent_by_initiator"]
    sender, receiver = conversation.end(by_initiator), conversation.end(not by_initiator)
    message_type = one_of(draw, MESSAGE_TYPES)
    base = {
        **message,
        "message_type": message_type,
        "size_bytes": one_of(draw, SIZES),
        "queuing_order": None,
        "transaction_id": None,
    }
    if message_type in UNSEQUENCED or seldom(draw):
        base["message_sequence_number"] = one_of(draw, (None, 0))

    rows = []
    fate = one_of(draw, fates)
    sent_at = clock.after(draw, conversation.begun_at)
    arrived_at = clock.after(draw, sent_at)
    if fate in ("waiting", "forwarded") or not seldom(draw):
        rows.append({**base, **_where(sender), "event_type": "SENT", "event_time": sent_at})
    if fate not in ("waiting", "forwarded", "arrival lost") or seldom(draw, 12):
        place = one_of(draw, places) if seldom(draw) else receiver
        order = one_of(draw, (None, 0, 1, 2))
        delivered = {**base, **_where(place), "event_type": "DELIVERED", "queuing_order": order}
        rows.append({**delivered, "event_time": arrived_at})
        if seldom(draw, 12):
            rows.append({**delivered, "event_time": clock.any(draw), "queuing_order": 1})
    if fate in ("received", "received in a transaction", "arrival lost"):
        received = {**base, **_where(receiver), "event_type": "RECEIVED"}
        for _ in range(2 if seldom(draw, 3) else 1):
            transaction = None if fate == "received" else one_of(draw, TRANSACTIONS)
            moment = clock.after(draw, arrived_at)
            rows.append({**received, "event_time": moment, "transaction_id": transaction})
    if fate == "forwarded" or seldom(draw, 20):
        rows += draw(_forwarding(clock, base, sent_at))
    return [draw(_disturbed(row)) for row in rows]


@st.composite
def _forwarding(draw: st.DrawFn, clock: Clock, base: Row, sent_at: datetime) -> list[Row]:
    """Accepted and perhaps passed on, by one or two instances, the sender's own perhaps among them."""
    rows = []
    for instance in ("HUB", *INSTANCES[:1]) if seldom(draw, 4) else ("HUB",):
        hop = {**base, "instance": instance, "database": one_of(draw, DATABASES)}
        accepted_at = clock.after(draw, sent_at)
        for _ in range(2 if seldom(draw) else 1):
            rows.append({**hop, "event_type": "FORWARD_ACCEPTED", "event_time": accepted_at})
            accepted_at = clock.any(draw)
        if seldom(draw, 3):
            passed_on = accepted_at if seldom(draw, 3) else clock.after(draw, accepted_at)
            rows.append({**hop, "event_type": "FORWARDED", "event_time": passed_on})
    return rows


@st.composite
def _disturbed(draw: st.DrawFn, row: Row) -> Row:
    """Once in a while an event knows less than the others of its message, or something else."""
    if not seldom(draw, 6):
        return row
    changes: list[Row] = [
        {"message_sequence_number": None, "size_bytes": None},
        {"size_bytes": 150},
        {"message_sequence_number": 1},
        {"queuing_order": 1},
        {"message_type": one_of(draw, MESSAGE_TYPES)},
        {"event_time": row["event_time"] + timedelta(microseconds=1)},
    ]
    return {**row, **one_of(draw, changes)}


def _where(place: Place) -> Row:
    return {"instance": place.instance, "database": place.database}
