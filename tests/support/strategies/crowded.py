"""Logs of few moments, so that much happens at one instant: arrivals, ends, receives."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.support.factories import (
    NOON,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
    queue_event,
)

from .base import Row
from .logs import Log

TICK = timedelta(minutes=25)
TICKS = 16
BEGIN, END = NOON + 5 * TICK, NOON + 11 * TICK
"""A period in the midst of the log; both are ticks."""
LEVELS = {"Gold": 9, "Silver": 6, "Lead": 2}
GROUPS = tuple(f"g{each}" for each in range(4))
SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"
TYPES = ("Order", "Order", "Bill", SYSTEM + "DialogTimer", SYSTEM + "Error")
ENDS = ("END_CONVERSATION", "END_CONVERSATION_WITH_ERROR", "END_CONVERSATION_WITH_CLEANUP")
HERE = {"instance": "SQL1", "database": "B", "queue": "TargetQueue"}
CONVERSATIONS, TRANSACTIONS = 11, 18


def crowded_log(number: int) -> Log:
    """A log about one queue and few moments; the same for the same number."""
    random = Random(number)
    rules = [create_rule(name, level, database="B", contract=name) for name, level in LEVELS.items()]
    rows, messages = _conversations(random)
    rows += _transactions(random, messages)
    rows += [
        queue_event(
            "QUEUE_ALTERED", event_time=_tick(random), queue_status=random.choice(("OFF", "ON", "off"))
        )
        for _ in range(random.choice((0, 0, 0, 1, 3)))
    ]
    for serial, row in enumerate(rows):
        row["event_id"] = f"e{random.randrange(1000):03d}.{serial}"
    return Log(
        **by_source(*rows),
        catalog=catalog(),
        rules=rules,
        as_of=NOON + (TICKS + 4) * TICK,
        top=None,
        starvation=None,
        blocks=None,
    )


def _tick(random: Random, first: int = 0, last: int = TICKS) -> datetime:
    """Mostly a tick, seldom a microsecond after one."""
    moment = NOON + random.randint(first, max(first, last)) * TICK
    return moment + timedelta(microseconds=random.choice((0,) * 7 + (1,)))


def _conversations(random: Random) -> tuple[list[Row], list[Row]]:
    """Endpoint events and arrivals, and the arrivals alone."""
    rows: list[Row] = []
    messages: list[Row] = []
    for number in range(CONVERSATIONS):
        name, contract = f"c{number}", random.choice((*LEVELS, "Silver", "Other"))
        begun = random.randint(0, 6)
        group = random.choice(GROUPS)
        made = {"contract": contract, "conversation_group_id": group}
        rows.append(endpoint_event("BEGIN_DIALOG", name, event_time=NOON + begun * TICK, **made))
        if random.randrange(4):
            logged = random.choice((None, LEVELS.get(contract, 5), LEVELS.get(contract, 5), 10, 1))
            rows.append(
                endpoint_event(
                    "DIALOG_CREATED",
                    name,
                    event_time=_tick(random, begun, begun + 2),
                    logged_priority=logged,
                    **made,
                )
            )
        arrivals = [_tick(random, begun) for _ in range(random.choice((1, 2, 3, 4)))]
        for place, moment in enumerate(arrivals):
            message = message_event(
                "DELIVERED",
                f"{name}/{place}",
                event_time=moment,
                message_id=f"{random.choice('mMz')}{number}.{place}",
                message_sequence_number=random.choice((None, place, place)),
                message_type=random.choice(TYPES),
                queuing_order=random.choice((None, 1, 2)),
            )
            messages.append(message)
            # The arrival of some is known by a RECEIVED alone.
            if random.randrange(8):
                rows.append(message)
            if not random.randrange(3):
                sent = min(moment, _tick(random, begun, begun + 2))
                rows.append({**message, "event_type": "SENT", "database": "A", "event_time": sent})
        rows += _moves_and_ends(random, name, arrivals)
    return rows, messages


def _moves_and_ends(random: Random, name: str, arrivals: Sequence[datetime]) -> list[Row]:
    bare = {
        "contract": None,
        "local_service": None,
        "remote_service": None,
        "is_initiator": False,
        "database": "B",
    }
    rows = []
    for _ in range(random.choice((0, 0, 1, 2))):
        moved = {"event_time": _tick(random), "conversation_group_id": random.choice((*GROUPS, "new"))}
        rows.append(endpoint_event("MOVE_CONVERSATION", name, **bare, **moved))
    if not random.randrange(2):
        # At an arrival, at a border of the period, or at any tick.
        moment = random.choice((*arrivals, BEGIN, END, _tick(random, 3), _tick(random, 3), _tick(random, 3)))
        ended = {"event_time": moment, "conversation_group_id": None}
        rows.append(endpoint_event(random.choice(ENDS), name, **bare, **ended))
    return rows


def _transactions(random: Random, messages: Sequence[Row]) -> list[Row]:
    """RECEIVE statements with and without WHERE, with what they took, and outcomes; many span a border."""
    rows: list[Row] = []
    sessions = random.choice((0, 0, 2, 3))
    for number in range(TRANSACTIONS):
        transaction = random.choice((f"t{number}",) * 6 + (None,))
        session = 50 + random.randrange(sessions) if sessions and random.randrange(9) else None
        marks: dict[str, Any] = {"session_id": session, "transaction_id": transaction}
        moment = _tick(random, 1)
        always_where = not random.randrange(4)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            statement = random.choice(("RECEIVE",) * 5 + ("GET_CONVERSATION_GROUP",))
            before = [each for each in messages if each["event_time"] <= moment] or list(messages[:1])
            taken = random.sample(before, min(len(before), random.choice((0, 1, 1, 2))))
            for message in taken if statement == "RECEIVE" else ():
                received = {"event_type": "RECEIVED", "event_time": moment, "queuing_order": None}
                rows.append({**message, **received, "transaction_id": transaction})
            if random.randrange(8):
                rows.append(
                    queue_event(
                        statement,
                        event_time=moment,
                        conversation_group_id=random.choice((None, None, *GROUPS)),
                        has_where=True if always_where else random.choice((None, False, False, True)),
                        **marks,
                    )
                )
            moment += random.choice((0, 0, 1, 2)) * TICK
        outcomes = random.choice((("COMMIT",),) * 4 + (("ROLLBACK",),) * 4 + ((), ("ROLLBACK", "COMMIT")))
        for outcome in outcomes if transaction else ():
            later = moment + random.choice((0, 1, 2, 5)) * TICK
            rows.append(queue_event(outcome, event_time=later, **marks))
    if sessions:
        for event_type in random.choices(("WAIT_STARTED", "WAIT_ENDED", "TASK_EXITED"), k=3):
            session = 50 + random.randrange(sessions)
            rows.append(queue_event(event_type, event_time=_tick(random), session_id=session))
    return rows
