"""Busy queues: many messages, readers and transactions on few groups, with moves, ends and switches."""

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

TICK = timedelta(minutes=7)
TICKS = 60
BEGIN, END = NOON + 18 * TICK, NOON + 42 * TICK
"""A period in the midst of the log."""
LEVELS = {"Gold": 9, "Silver": 6, "Lead": 2}
SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"
TYPES = ("Order", "Order", "Bill", SYSTEM + "DialogTimer", SYSTEM + "Error")
CONVERSATIONS, MESSAGES, TRANSACTIONS = 9, 45, 30


def busy_log(number: int) -> Log:
    """A log about one queue that is busy, and another one; the same for the same number."""
    random = Random(number)
    rules = [
        create_rule(f"{name} {database}", level, database=database, contract=name)
        for name, level in LEVELS.items()
        for database in ("A", "B")
    ]
    rows = _conversations(random)
    messages = _messages(random)
    rows += messages
    rows += _transactions(random, [row for row in messages if row["event_type"] == "DELIVERED"])
    rows += _switches(random)
    for serial, row in enumerate(rows):
        row["event_id"] = f"e{random.randrange(1000):03d}.{serial}"
    return Log(
        **by_source(*rows),
        catalog=catalog(),
        rules=rules,
        as_of=NOON + (TICKS + 10) * TICK,
        top=None,
        starvation=None,
        blocks=None,
    )


def _tick(random: Random, first: int = 0, last: int = TICKS) -> datetime:
    """A tick, or a little after it."""
    return (
        NOON + random.randint(first, last) * TICK + timedelta(microseconds=random.choice((0, 0, 0, 7, 10**6)))
    )


def _conversations(random: Random) -> list[Row]:
    rows: list[Row] = []
    for number in range(CONVERSATIONS):
        name, contract = f"c{number}", random.choice(("Gold", "Silver", "Silver", "Lead", "Other"))
        for event_type in ("BEGIN_DIALOG", "DIALOG_CREATED"):
            rows.append(
                endpoint_event(
                    event_type,
                    name,
                    contract=contract,
                    event_time=_tick(random, 0, 30),
                    conversation_group_id=f"g{random.randrange(5)}",
                )
            )
        for event_type, odds in (("MOVE_CONVERSATION", 2), ("MOVE_CONVERSATION", 3), ("END_CONVERSATION", 4)):
            if not random.randrange(odds):
                side = bool(random.randrange(2))
                group = f"g{random.randrange(6)}"
                rows.append(
                    endpoint_event(
                        event_type,
                        name,
                        is_initiator=side,
                        event_time=_tick(random, 5, 50),
                        conversation_group_id=group if event_type == "MOVE_CONVERSATION" else None,
                        contract=None,
                        local_service=None,
                        remote_service=None,
                    )
                )
    return rows


def _messages(random: Random) -> list[Row]:
    rows = []
    for number in range(MESSAGES):
        conversation, forth = f"c{random.randrange(CONVERSATIONS)}", random.randrange(5) > 0
        what: dict[str, Any] = {
            "message_id": f"m{number}",
            "sent_by_initiator": forth,
            "message_sequence_number": random.choice((None, *range(6))),
            "message_type": random.choice(TYPES),
            "queuing_order": random.choice((None, None, 1, 2)),
        }
        rows.append(message_event("DELIVERED", f"{conversation}/0", event_time=_tick(random), **what))
    return rows


def _transactions(random: Random, messages: list[Row]) -> list[Row]:
    rows: list[Row] = []
    sessions = random.choice((0, 2, 3))
    for number in range(TRANSACTIONS):
        forth = random.randrange(5) > 0
        place = {"instance": "SQL1", "database": "B" if forth else "A"}
        queue = {**place, "queue": "TargetQueue" if forth else "InitiatorQueue"}
        there = [message for message in messages if message["sent_by_initiator"] == forth]
        transaction = random.choice((f"t{number}",) * 5 + (None,))
        session = 50 + random.randrange(sessions) if sessions and random.randrange(9) else None
        moment = _tick(random, 1)
        marks = {"session_id": session, "transaction_id": transaction}
        for _ in range(random.choice((1, 1, 2))):
            before = [message for message in there if message["event_time"] <= moment]
            rows.append(
                queue_event(
                    random.choice(("RECEIVE", "RECEIVE", "RECEIVE", "GET_CONVERSATION_GROUP")),
                    event_time=moment,
                    conversation_group_id=random.choice((None, *(f"g{each}" for each in range(5)))),
                    has_where=random.choice((None, False, False, True)),
                    **queue,
                    **marks,
                )
            )
            for message in random.sample(before, min(len(before), random.choice((0, 1, 2, 3)))):
                taken = {"event_type": "RECEIVED", "event_time": moment, "queuing_order": None}
                rows.append({**message, **taken, **place, "transaction_id": transaction})
            moment += random.randint(0, 2) * TICK
        outcomes = random.choice((("COMMIT",),) * 6 + (("ROLLBACK",),) * 3 + ((), ("ROLLBACK", "COMMIT")))
        for outcome in outcomes if transaction else ():
            later = moment + random.randint(0, 3) * TICK + timedelta(microseconds=random.randrange(5))
            rows.append(queue_event(outcome, event_time=later, **queue, **marks))
        if sessions and not random.randrange(6):
            for event_type in ("WAIT_STARTED", "TASK_EXITED"):
                rows.append(queue_event(event_type, event_time=_tick(random), **queue, session_id=session))
    return rows


def _switches(random: Random) -> list[Row]:
    return [
        queue_event(
            "QUEUE_ALTERED", event_time=_tick(random), queue_status=random.choice(("OFF", "ON", "on", None))
        )
        for _ in range(random.choice((0, 0, 1, 3)))
    ]
