"""Busy queues: many messages, readers and transactions on few groups, with moves, ends and switches."""

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

TICK = timedelta(minutes=7)
TICKS = 60
STEP = 3
MOMENT = STEP * TICK
"""Between two moments of a crowded log."""
BEGIN, END = NOON + 18 * TICK, NOON + 42 * TICK
"""A period in the midst of the log; both are moments of crowded logs."""
LEVELS = {"Gold": 9, "Silver": 6, "Lead": 2}
GROUPS = tuple(f"g{each}" for each in range(4))
SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"
TYPES = ("Order", "Order", "Bill", SYSTEM + "DialogTimer", SYSTEM + "Error")
ENDS = ("END_CONVERSATION", "END_CONVERSATION_WITH_ERROR", "END_CONVERSATION_WITH_CLEANUP")
CONVERSATIONS, TRANSACTIONS = 11, 24
NO_NAMES = dict.fromkeys(("contract", "local_service", "remote_service"))


def busy_log(number: int, step: int = 1) -> Log:
    """A log about one queue that is busy, and another one; the same for the same number.

    Args:
        number: seeds it.
        step: ticks between two moments.
    """
    random = Random(number)
    clock = Clock(random, step)
    rules = [
        create_rule(f"{name} {database}", level, database=database, contract=name)
        for name, level in LEVELS.items()
        for database in ("A", "B")
    ]
    rows, messages = _conversations(random, clock)
    rows += _transactions(random, clock, messages)
    rows += [
        queue_event(
            "QUEUE_ALTERED", event_time=clock.tick(), queue_status=random.choice(("OFF", "ON", "on", None))
        )
        for _ in range(random.choice((0, 0, 1, 3)))
    ]
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


def crowded_log(number: int) -> Log:
    """A log of few moments, so that much happens at one instant: arrivals, ends, receives."""
    return busy_log(number, STEP)


class Clock:
    """The moments of a log."""

    def __init__(self, random: Random, step: int) -> None:
        self.random, self.step = random, step

    def tick(self, first: int = 0, last: int = TICKS) -> datetime:
        """Mostly a moment of the log, seldom a microsecond after one."""
        moments = range(first - first % self.step, max(first, last) + 1, self.step)
        micros = self.random.choice((0,) * 7 + (1,))
        return NOON + self.random.choice(moments) * TICK + timedelta(microseconds=micros)

    def steps(self, *counts: int) -> timedelta:
        """Some of these numbers of moments."""
        return self.random.choice(counts) * self.step * TICK


def _conversations(random: Random, clock: Clock) -> tuple[list[Row], list[Row]]:
    """Endpoint and message events, and all arrivals."""
    rows: list[Row] = []
    messages: list[Row] = []
    for number in range(CONVERSATIONS):
        name, contract = f"c{number}", random.choice((*LEVELS, "Silver", "Other"))
        begun = random.randrange(24)
        level = LEVELS.get(contract, 5)
        for event_type, odds in (("BEGIN_DIALOG", 9), ("DIALOG_CREATED", 4)):
            if random.randrange(odds):
                rows.append(
                    endpoint_event(
                        event_type,
                        name,
                        event_time=clock.tick(begun, begun + 4),
                        contract=contract,
                        conversation_group_id=random.choice(GROUPS),
                        logged_priority=random.choice((None, level, level, 10, 1)),
                    )
                )
        arrivals = [clock.tick(begun) for _ in range(random.choice((2, 3, 4, 5)))]
        for place, moment in enumerate(arrivals):
            forth = random.randrange(5) > 0
            message = message_event(
                "DELIVERED",
                f"{name}/{place}",
                event_time=moment,
                message_id=f"{random.choice('mMz')}{number}.{place}",
                sent_by_initiator=forth,
                message_sequence_number=random.choice((None, place, place)),
                message_type=random.choice(TYPES),
                queuing_order=random.choice((None, 1, 2)),
            )
            messages.append(message)
            # The arrival of some is known by a RECEIVED alone.
            if random.randrange(8):
                rows.append(message)
            if not random.randrange(3):
                sent = {"event_type": "SENT", "database": "A" if forth else "B"}
                rows.append({**message, **sent, "event_time": min(moment, clock.tick(begun, begun + 6))})
        rows += _moves_and_ends(random, clock, name, arrivals)
    return rows, messages


def _moves_and_ends(random: Random, clock: Clock, name: str, arrivals: Sequence[datetime]) -> list[Row]:
    """Mostly of the target endpoint; some end at an arrival or at a border of the period."""
    rows = []
    for _ in range(random.choice((0, 0, 1, 2))):
        moved = {"event_time": clock.tick(), "conversation_group_id": random.choice((*GROUPS, "new"))}
        side = not random.randrange(4)
        rows.append(endpoint_event("MOVE_CONVERSATION", name, is_initiator=side, **NO_NAMES, **moved))
    if random.randrange(2):
        moment = random.choice((*arrivals, BEGIN, END, clock.tick(9), clock.tick(9), clock.tick(9)))
        ended = {"event_time": moment, "conversation_group_id": None, "is_initiator": not random.randrange(4)}
        rows.append(endpoint_event(random.choice(ENDS), name, **NO_NAMES, **ended))
    return rows


def _transactions(random: Random, clock: Clock, messages: Sequence[Row]) -> list[Row]:
    """RECEIVE statements with and without WHERE, with what they took, and outcomes; many span a border."""
    rows: list[Row] = []
    sessions = random.choice((0, 2, 3))
    for number in range(TRANSACTIONS):
        forth = random.randrange(5) > 0
        place = {"instance": "SQL1", "database": "B" if forth else "A"}
        there = [message for message in messages if message["sent_by_initiator"] == forth]
        transaction = random.choice((f"t{number}",) * 6 + (None,))
        session = 50 + random.randrange(sessions) if sessions and random.randrange(9) else None
        queue: dict[str, Any] = {**place, "queue": "TargetQueue" if forth else "InitiatorQueue"}
        marks = {**queue, "session_id": session, "transaction_id": transaction}
        moment = clock.tick(1)
        always_where = not random.randrange(4)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            statement = random.choice(("RECEIVE",) * 5 + ("GET_CONVERSATION_GROUP",))
            before = [each for each in there if each["event_time"] <= moment] or there[:1]
            taken = random.sample(before, min(len(before), random.choice((0, 1, 1, 2, 3))))
            for message in taken if statement == "RECEIVE" else ():
                received = {"event_type": "RECEIVED", "event_time": moment, "queuing_order": None}
                rows.append({**message, **received, **place, "transaction_id": transaction})
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
            moment += clock.steps(0, 0, 1, 2)
        outcomes = random.choice((("COMMIT",),) * 5 + (("ROLLBACK",),) * 3 + ((), ("ROLLBACK", "COMMIT")))
        for outcome in outcomes if transaction else ():
            rows.append(queue_event(outcome, event_time=moment + clock.steps(0, 1, 2, 5), **marks))
        if sessions and not random.randrange(6):
            for event_type in ("WAIT_STARTED", random.choice(("WAIT_ENDED", "TASK_EXITED"))):
                rows.append(queue_event(event_type, event_time=clock.tick(), **queue, session_id=session))
    return rows
