"""Scenes about groups, queues and readers: locked, off, not received, rolled back."""

from tests.support.factories import INITIATOR, TARGET, Row, at, catalog, database

from .scene import IN_A, ONE, TARGET_QUEUE, rule, scene

FIRST, LOCKED = "c1/0: first_in_line", "c1/0: group_locked"
LOCK = "RECEIVE 10 transaction=t1 of=c1"


def locked(transaction: str, session: int | None, minute: float) -> dict[str, list[Row]]:
    """The details of one locked message."""
    what = {"transaction_id": transaction, "session_id": session, "since": at(minute)}
    return {
        "group_locked": [{**TARGET_QUEUE, "conversation_group_id": "group c1 False", **what, "messages": 1}]
    }


GROUP_LOCKED = [
    scene(
        "group_locked: by a statement that named it",
        f"{ONE}, {LOCK} session=51",
        LOCKED,
        locked("t1", 51, 10),
    ),
    scene("group_locked: the transaction was committed", f"{ONE}, {LOCK}, COMMIT 11 transaction=t1", FIRST),
    scene(
        "group_locked: the transaction is committed at as_of",
        f"{ONE}, {LOCK}, COMMIT 60 transaction=t1",
        LOCKED,
        locked("t1", None, 10),
    ),
    scene(
        "group_locked: by a message in flight",
        f"{ONE}, ready c1/1 2, received c1/1 t2 11, TASK_STARTED 0 session=51",
        LOCKED,
        locked("t2", None, 11),
    ),
    scene(
        "group_locked: the first fact is a queue event, and a later event has the session",
        f"{ONE}, ready c1/1 2, received c1/1 t2 10, GET_CONVERSATION_GROUP 10 transaction=t1 of=c1, "
        "RECEIVE 12 transaction=t1 session=52, RECEIVE 13 transaction=t1 session=53",
        LOCKED,
        locked("t1", 52, 10),
    ),
    scene(
        "group_locked: neither a statement without transaction nor one on another queue",
        f"{ONE}, RECEIVE 8 of=c1, RECEIVE 9 transaction=t0 of=c1 database=A queue=InitiatorQueue, "
        f"{LOCK} session=51",
        LOCKED,
        locked("t1", 51, 10),
    ),
    scene(
        "group_locked: another queue's group of that name",
        f"{ONE}, {LOCK} database=A queue=InitiatorQueue",
        "c1/0: first_in_line, not_received",
    ),
]

STAYS_OFF = (
    "QUEUE_ALTERED 5 status=OFF, QUEUE_ALTERED 6 status=ON, QUEUE_ALTERED 10 status=OFF, "
    "QUEUE_ALTERED 20 status=OFF, QUEUE_ALTERED 30"
)
IS_OFF = f"{ONE}, {STAYS_OFF}"


def places(*, a: bool = True, b: bool = True, status: str = "on") -> Row:
    """The catalog with the honor flags of SQL1's databases, and whether the target queue is on."""
    initiator = database("A", INITIATOR, "InitiatorQueue", honor=a)
    return catalog({"SQL1": [initiator, database("B", TARGET, "TargetQueue", honor=b, status=status)]})


def off(minute: float | None, poison: str | None = None, messages: int = 1) -> dict[str, list[Row]]:
    """The details of messages of a queue that is off."""
    since = None if minute is None else at(minute)
    return {
        "queue_off": [{**TARGET_QUEUE, "since": since, "poison_message_id": poison, "messages": messages}]
    }


def rolled_back(message: str, times: int, minute: float = 2) -> str:
    """The message is received and rolled back, so often."""
    return ", ".join(
        f"received {message} '{message} t{number}' {minute + number}, "
        f"ROLLBACK {minute + number + 0.5} transaction='{message} t{number}'"
        for number in range(times)
    )


def times(*messages: tuple[str, int]) -> dict[str, list[Row]]:
    """How often messages were rolled back."""
    return {
        "rolled_back": [
            {"message_id": name, "times": count, "last_transaction_id": f"{name} t{count - 1}", "messages": 1}
            for name, count in messages
        ]
    }


FIVE, FOUR = rolled_back("c1/0", 5), rolled_back("c1/0", 4)
OFF, OFF_AND_BACK = "c1/0: queue_off", "c1/0: queue_off, rolled_back"
QUEUE_OFF = [
    scene("queue_off: since the first OFF after the last ON", IS_OFF, OFF, off(10)),
    scene(
        "queue_off: it is on again",
        f"{IS_OFF}, QUEUE_ALTERED 40 status=ON",
        "c1/0: first_in_line, not_received",
    ),
    scene("queue_off: it is on again at as_of", f"{IS_OFF}, QUEUE_ALTERED 60 status=ON", OFF),
    scene("queue_off: only the catalog says so", ONE, OFF, off(None), catalog=places(status="off")),
    scene(
        "queue_off: it goes before a locked group",
        f"{IS_OFF}, RECEIVE 30 transaction=t1 of=c1 session=51",
        OFF,
    ),
    scene(
        "queue_off: a message with five rollbacks",
        f"{IS_OFF}, {FIVE}",
        OFF_AND_BACK,
        {**off(10, "c1/0"), **times(("c1/0", 5))},
    ),
    scene("queue_off: a message with four rollbacks", f"{IS_OFF}, {FOUR}", OFF_AND_BACK, off(10)),
    scene(
        "queue_off: of two messages with five rollbacks, the one that was received last",
        f"{IS_OFF}, ready c1/1 1, {FIVE}, {rolled_back('c1/1', 5, 2.1)}",
        f"{OFF_AND_BACK}; c1/1: queue_off, rolled_back",
        {**off(10, "c1/1", 2), **times(("c1/0", 5), ("c1/1", 5))},
    ),
    scene(
        "queue_off: a message waits to be sent to a queue that is off on the same instance",
        f"talk c1, sent c1/0, {STAYS_OFF}",
        "c1/0: queue_off",
        off(10),
    ),
    scene(
        "queue_off: a message waits for a queue that the catalog knows and no endpoint yet",
        f"begin c1, sent c1/0, {STAYS_OFF}",
        "c1/0: queue_off",
        off(10),
    ),
    scene(
        "queue_off: the queue is on another instance",
        "begin c1, create c1 instance=SQL2 database=C, sent c1/0, "
        "QUEUE_ALTERED 2 instance=SQL2 database=C status=OFF",
        FIRST,
    ),
]

ROLLED_BACK = [
    scene(
        "rolled_back: twice, the later one last",
        f"{ONE}, {rolled_back('c1/0', 2)}",
        "c1/0: first_in_line, rolled_back",
        times(("c1/0", 2)),
    ),
    scene(
        "rolled_back: only one of two messages was received",
        f"{ONE}, ready c1/1 2, {rolled_back('c1/0', 1, 3)}",
        "c1/0: first_in_line, rolled_back; c1/1: own_group_first, first_in_line",
    ),
    scene(
        "rolled_back: in the queue, and not where the message is still being forwarded",
        f"begin c1, create c1 instance=SQL2 database=C, sent c1/0, forward c1/0 2, {rolled_back('c1/0', 1)}",
        "c1/0@SQL2: first_in_line, rolled_back; c1/0@HUB: first_in_line",
    ),
    scene(
        "rolled_back: twice in one transaction is once",
        f"{ONE}, received c1/0 t1 2, received c1/0 t1 3, ROLLBACK 4 transaction=t1",
        "c1/0: first_in_line, rolled_back",
        {"rolled_back": [{"message_id": "c1/0", "times": 1, "last_transaction_id": "t1", "messages": 1}]},
    ),
    scene(
        "rolled_back: most times first",
        f"{ONE}, ready c1/1 1, {rolled_back('c1/0', 1)}, {rolled_back('c1/1', 2)}",
        "c1/0: first_in_line, rolled_back; c1/1: own_group_first, first_in_line, rolled_back",
        times(("c1/1", 2), ("c1/0", 1)),
    ),
    scene(
        "rolled_back: at as_of it is still in flight",
        f"{ONE}, received c1/0 t1 2, ROLLBACK 60 transaction=t1",
        "",
    ),
    scene(
        "rolled_back: it was committed too",
        f"{ONE}, received c1/0 t1 2, ROLLBACK 3 transaction=t1, COMMIT 4 transaction=t1",
        "",
    ),
]


def level(number: int) -> list[Row]:
    """A rule of the sender's database."""
    return [rule("Level", number, database="A", contract="Contract")]


SENT = "talk c1, sent c1/0"
HONOR_OFF = [
    scene(
        "honor_off: the sender's database does not honor its level",
        SENT,
        "c1/0: first_in_line, honor_off",
        {"honor_off": [{**IN_A, "messages": 1}]},
        rules=level(6),
        catalog=places(a=False),
    ),
    scene("honor_off: the level is the default", SENT, FIRST, rules=level(5), catalog=places(a=False)),
    scene("honor_off: the level is lower", SENT, FIRST, rules=level(2), catalog=places(a=False)),
    scene("honor_off: honor is on", SENT, FIRST, rules=level(6), catalog=places()),
    scene(
        "honor_off: the message waits for a queue that is off, so its level is not why",
        SENT,
        "c1/0: queue_off",
        off(None),
        rules=level(6),
        catalog=places(b=False, status="off"),
    ),
    scene(
        "honor_off: a forwarded message has no level of its own",
        "begin c1, create c1 instance=SQL2 database=C, sent c1/0, forward c1/0 2",
        "c1/0@SQL1: first_in_line; c1/0@HUB: first_in_line",
        rules=level(6),
    ),
]
SCENES = [*GROUP_LOCKED, *QUEUE_OFF, *ROLLED_BACK, *HONOR_OFF]
