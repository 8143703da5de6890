"""Scenes about groups, queues and readers: locked, off, not received, rolled back."""

from typing import Any

from tests.support.factories import INITIATOR, TARGET, Row, at, catalog, database, message_event, queue_event

from .scene import (
    FIRST,
    IN_A,
    IN_B,
    ONE,
    TARGET_GROUP,
    TARGET_QUEUE,
    Scene,
    on_queue,
    ready,
    received,
    rule,
    sent,
    talk,
)

GROUP = TARGET_GROUP.format("c1")


def lock(minute: float, transaction: str | None = "t1", **changes: Any) -> Row:
    """A RECEIVE that names the group of c1."""
    return on_queue(
        "RECEIVE", minute, transaction_id=transaction, **{"conversation_group_id": GROUP, **changes}
    )


def locked(transaction: str, session: int | None, minute: float) -> dict[str, list[Row]]:
    """The details of one locked message."""
    what = {"transaction_id": transaction, "session_id": session, "since": at(minute)}
    return {"group_locked": [{**TARGET_QUEUE, "conversation_group_id": GROUP, **what, "messages": 1}]}


GROUP_LOCKED = [
    Scene(
        "group_locked: by a statement that named it",
        [*ONE, lock(10, session_id=51)],
        {"c1/0": ["group_locked"]},
        locked("t1", 51, 10),
    ),
    Scene(
        "group_locked: the transaction was committed",
        [*ONE, lock(10), on_queue("COMMIT", 11, transaction_id="t1")],
        {"c1/0": FIRST},
    ),
    Scene(
        "group_locked: the transaction is committed at as_of",
        [*ONE, lock(10), on_queue("COMMIT", 60, transaction_id="t1")],
        {"c1/0": ["group_locked"]},
        locked("t1", None, 10),
    ),
    Scene(
        "group_locked: by a message in flight",
        [*ONE, ready("c1/1", 2), received("c1/1", "t2", 11), on_queue("TASK_STARTED", 0, session_id=51)],
        {"c1/0": ["group_locked"]},
        locked("t2", None, 11),
    ),
    Scene(
        "group_locked: the first fact is a queue event, and a later event has the session",
        [
            *ONE,
            ready("c1/1", 2),
            received("c1/1", "t2", 10),
            on_queue("GET_CONVERSATION_GROUP", 10, transaction_id="t1", conversation_group_id=GROUP),
            on_queue("RECEIVE", 12, transaction_id="t1", session_id=52),
            on_queue("RECEIVE", 13, transaction_id="t1", session_id=53),
        ],
        {"c1/0": ["group_locked"]},
        locked("t1", 52, 10),
    ),
    Scene(
        "group_locked: neither a statement without transaction nor one on another queue",
        [
            *ONE,
            lock(8, None),
            lock(9, "t0", database="A", queue="InitiatorQueue"),
            lock(10, session_id=51),
        ],
        {"c1/0": ["group_locked"]},
        locked("t1", 51, 10),
    ),
    Scene(
        "group_locked: another queue's group of that name",
        [*ONE, lock(10, database="A", queue="InitiatorQueue")],
        {"c1/0": ["first_in_line", "not_received"]},
    ),
]

STAYS_OFF = [
    on_queue("QUEUE_ALTERED", 5, queue_status="OFF"),
    on_queue("QUEUE_ALTERED", 6, queue_status="ON"),
    on_queue("QUEUE_ALTERED", 10, queue_status="OFF"),
    on_queue("QUEUE_ALTERED", 20, queue_status="OFF"),
    on_queue("QUEUE_ALTERED", 30, queue_status=None),
]
OFF_CATALOG = catalog(
    {
        "SQL1": [
            database("A", INITIATOR, "InitiatorQueue"),
            database("B", TARGET, "TargetQueue", status="off"),
        ]
    }
)


def off(minute: float | None, poison: str | None = None) -> dict[str, list[Row]]:
    """The details of one message of a queue that is off."""
    since = None if minute is None else at(minute)
    return {"queue_off": [{**TARGET_QUEUE, "since": since, "poison_message_id": poison, "messages": 1}]}


def rolled_back(message: str, times: int, minute: float = 2) -> list[Row]:
    """The message is received and rolled back, so often."""
    rows = []
    for number in range(times):
        transaction = f"{message} t{number}"
        rows.append(received(message, transaction, minute + number))
        later = at(minute + number + 0.5)
        rows.append(queue_event("ROLLBACK", event_time=later, transaction_id=transaction))
    return rows


QUEUE_OFF = [
    Scene(
        "queue_off: since the first OFF after the last ON",
        [*ONE, *STAYS_OFF],
        {"c1/0": ["queue_off"]},
        off(10),
    ),
    Scene(
        "queue_off: it is on again",
        [*ONE, *STAYS_OFF, on_queue("QUEUE_ALTERED", 40, queue_status="ON")],
        {"c1/0": ["first_in_line", "not_received"]},
    ),
    Scene(
        "queue_off: it is on again at as_of",
        [*ONE, *STAYS_OFF, on_queue("QUEUE_ALTERED", 60, queue_status="ON")],
        {"c1/0": ["queue_off"]},
    ),
    Scene(
        "queue_off: only the catalog says so", ONE, {"c1/0": ["queue_off"]}, off(None), catalog=OFF_CATALOG
    ),
    Scene(
        "queue_off: it goes before a locked group",
        [*ONE, *STAYS_OFF, lock(30, session_id=51)],
        {"c1/0": ["queue_off"]},
    ),
    Scene(
        "queue_off: a message with five rollbacks",
        [*ONE, *rolled_back("c1/0", 5), *STAYS_OFF],
        {"c1/0": ["queue_off", "rolled_back"]},
        {
            **off(10, "c1/0"),
            "rolled_back": [
                {"message_id": "c1/0", "times": 5, "last_transaction_id": "c1/0 t4", "messages": 1}
            ],
        },
    ),
    Scene(
        "queue_off: a message with four rollbacks",
        [*ONE, *rolled_back("c1/0", 4), *STAYS_OFF],
        {"c1/0": ["queue_off", "rolled_back"]},
        off(10),
    ),
    Scene(
        "queue_off: of two messages with five rollbacks, the one that was received last",
        [*ONE, ready("c1/1", 1), *rolled_back("c1/0", 5), *rolled_back("c1/1", 5, 2.1), *STAYS_OFF],
        {"c1/0": ["queue_off", "rolled_back"], "c1/1": ["queue_off", "rolled_back"]},
        {
            "queue_off": [{**TARGET_QUEUE, "since": at(10), "poison_message_id": "c1/1", "messages": 2}],
            "rolled_back": [
                {"message_id": "c1/0", "times": 5, "last_transaction_id": "c1/0 t4", "messages": 1},
                {"message_id": "c1/1", "times": 5, "last_transaction_id": "c1/1 t4", "messages": 1},
            ],
        },
    ),
    Scene(
        "queue_off: a message waits to be sent to a queue that is off on the same instance",
        [*talk(), sent(), *STAYS_OFF],
        {"c1/0": ["first_in_line", "queue_off"]},
        off(10),
    ),
    Scene(
        "queue_off: a message waits for a queue that the catalog knows and no endpoint yet",
        [*talk()[:1], sent(), *STAYS_OFF],
        {"c1/0": ["first_in_line", "queue_off"]},
        off(10),
    ),
    Scene(
        "queue_off: the queue is on another instance",
        [
            *talk(instance="SQL1")[:1],
            *talk(instance="SQL2", database="C")[1:],
            sent(),
            queue_event("QUEUE_ALTERED", instance="SQL2", database="C", queue_status="OFF"),
        ],
        {"c1/0": FIRST},
    ),
]

ROLLED_BACK = [
    Scene(
        "rolled_back: twice, the later one last",
        [*ONE, *rolled_back("c1/0", 2)],
        {"c1/0": ["first_in_line", "rolled_back"]},
        {
            "rolled_back": [
                {"message_id": "c1/0", "times": 2, "last_transaction_id": "c1/0 t1", "messages": 1}
            ]
        },
    ),
    Scene(
        "rolled_back: only one of two messages was received",
        [*ONE, ready("c1/1", 2), *rolled_back("c1/0", 1, 3)],
        {"c1/0": ["first_in_line", "rolled_back"], "c1/1": ["own_group_first", "first_in_line"]},
    ),
    Scene(
        "rolled_back: twice in one transaction is once",
        [
            *ONE,
            received("c1/0", "t1", 2),
            received("c1/0", "t1", 3),
            on_queue("ROLLBACK", 4, transaction_id="t1"),
        ],
        {"c1/0": ["first_in_line", "rolled_back"]},
        {"rolled_back": [{"message_id": "c1/0", "times": 1, "last_transaction_id": "t1", "messages": 1}]},
    ),
    Scene(
        "rolled_back: most times first",
        [*ONE, ready("c1/1", 1), *rolled_back("c1/0", 1), *rolled_back("c1/1", 2)],
        {
            "c1/0": ["first_in_line", "rolled_back"],
            "c1/1": ["own_group_first", "first_in_line", "rolled_back"],
        },
        {
            "rolled_back": [
                {"message_id": "c1/1", "times": 2, "last_transaction_id": "c1/1 t1", "messages": 1},
                {"message_id": "c1/0", "times": 1, "last_transaction_id": "c1/0 t0", "messages": 1},
            ]
        },
    ),
    Scene(
        "rolled_back: at as_of it is still in flight",
        [*ONE, received("c1/0", "t1", 2), on_queue("ROLLBACK", 60, transaction_id="t1")],
        {},
    ),
    Scene(
        "rolled_back: it was committed too",
        [
            *ONE,
            received("c1/0", "t1", 2),
            on_queue("ROLLBACK", 3, transaction_id="t1"),
            on_queue("COMMIT", 4, transaction_id="t1"),
        ],
        {},
    ),
]


def honor(a: bool, b: bool = True, status: str = "on") -> Row:
    """The catalog with the honor flags of the databases."""
    return catalog(
        {
            "SQL1": [
                database("A", INITIATOR, "InitiatorQueue", honor=a),
                database("B", TARGET, "TargetQueue", honor=b, status=status),
            ]
        }
    )


def level(number: int) -> list[Row]:
    """A rule of the sender's database."""
    return [rule("Level", number, database="A", contract="Contract")]


SENT = [*talk(), sent()]
HONOR_OFF = [
    Scene(
        "honor_off: the sender's database does not honor its level",
        SENT,
        {"c1/0": ["first_in_line", "honor_off"]},
        {"honor_off": [{**IN_A, "messages": 1}]},
        rules=level(6),
        catalog=honor(False),
    ),
    Scene("honor_off: the level is the default", SENT, {"c1/0": FIRST}, rules=level(5), catalog=honor(False)),
    Scene("honor_off: the level is lower", SENT, {"c1/0": FIRST}, rules=level(2), catalog=honor(False)),
    Scene("honor_off: honor is on", SENT, {"c1/0": FIRST}, rules=level(6), catalog=honor(True)),
    Scene(
        "honor_off: the database of a queue that is off holds the message",
        SENT,
        {"c1/0": ["first_in_line", "queue_off", "honor_off"]},
        {**off(None), "honor_off": [{**IN_B, "messages": 1}]},
        rules=level(6),
        catalog=honor(True, False, "off"),
    ),
    Scene(
        "honor_off: a forwarded message has no level of its own",
        [
            *talk(instance="SQL1")[:1],
            *talk(instance="SQL2", database="C")[1:],
            sent(),
            message_event("FORWARD_ACCEPTED", "c1/0", event_time=at(2), instance="HUB", database="H"),
        ],
        {"c1/0@SQL1": FIRST, "c1/0@HUB": FIRST},
        rules=level(6),
    ),
]
SCENES = [*GROUP_LOCKED, *QUEUE_OFF, *ROLLED_BACK, *HONOR_OFF]
