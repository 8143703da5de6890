"""Scenes about groups and queues: locked, off, rolled back; and about databases that honor no level."""

from tests.support.factories import INITIATOR, TARGET, Row, catalog, database

from .scene import ONE, scenes

FIRST, LOCKED = "=> c1/0: first_in_line", "=> c1/0: group_locked"
LOCK = "RECEIVE 10 transaction=t1 of=c1"
GROUP_LOCKED = scenes(
    "group_locked",
    f"""
    by a statement that named it
        {ONE}, {LOCK} session=51 {LOCKED}
        => group_locked: queue=TargetQueue conversation_group_id='group c1 False' transaction_id=t1
           session_id=51 since=10 messages=1
    the transaction was committed
        {ONE}, {LOCK}, COMMIT 11 transaction=t1 {FIRST}
    the transaction is committed at as_of
        {ONE}, {LOCK}, COMMIT 60 transaction=t1 {LOCKED}
        => group_locked: transaction_id=t1 session_id=- since=10
    by a message in flight
        {ONE}, ready c1/1 2, received c1/1 t2 11, TASK_STARTED 0 session=51 {LOCKED}
        => group_locked: transaction_id=t2 session_id=- since=11
    the first fact is a queue event, and a later event has the session
        {ONE}, ready c1/1 2, received c1/1 t2 10, GET_CONVERSATION_GROUP 10 transaction=t1 of=c1,
        RECEIVE 12 transaction=t1 session=52, RECEIVE 13 transaction=t1 session=53 {LOCKED}
        => group_locked: transaction_id=t1 session_id=52 since=10
    neither a statement without transaction nor one on another queue
        {ONE}, RECEIVE 8 of=c1, RECEIVE 9 transaction=t0 of=c1 in=A queue=InitiatorQueue,
        {LOCK} session=51 {LOCKED}
        => group_locked: transaction_id=t1 session_id=51 since=10
    another queue's group of that name
        {ONE}, {LOCK} in=A queue=InitiatorQueue => c1/0: first_in_line, not_received
    """,
)


def rolled_back(message: str, times: int, minute: float = 2) -> str:
    """The message is received and rolled back, so often."""
    return ", ".join(
        f"received {message} '{message} t{number}' {minute + number}, "
        f"ROLLBACK {minute + number + 0.5} transaction='{message} t{number}'"
        for number in range(times)
    )


def places(*, a: bool = True, b: bool = True, status: str = "on") -> Row:
    """The catalog with the honor flags of SQL1's databases, and whether the target queue is on."""
    initiator = database("A", INITIATOR, "InitiatorQueue", honor=a)
    return catalog({"SQL1": [initiator, database("B", TARGET, "TargetQueue", honor=b, status=status)]})


STAYS_OFF = (
    "QUEUE_ALTERED 5 status=OFF, QUEUE_ALTERED 6 status=ON, QUEUE_ALTERED 10 status=OFF, "
    "QUEUE_ALTERED 20 status=OFF, QUEUE_ALTERED 30"
)
IS_OFF, OFF = f"{ONE}, {STAYS_OFF}", "=> c1/0: queue_off"
QUEUE_OFF = [
    *scenes(
        "queue_off",
        f"""
        since the first OFF after the last ON
            {IS_OFF} {OFF}
            => queue_off: database=B queue=TargetQueue since=10 poison_message_id=- messages=1
        it is on again
            {IS_OFF}, QUEUE_ALTERED 40 status=ON => c1/0: first_in_line, not_received
        it is on again at as_of
            {IS_OFF}, QUEUE_ALTERED 60 status=ON {OFF}
        it goes before a locked group
            {IS_OFF}, RECEIVE 30 transaction=t1 of=c1 session=51 {OFF}
        a message with five rollbacks
            {IS_OFF}, {rolled_back("c1/0", 5)} {OFF}, rolled_back
            => queue_off: since=10 poison_message_id=c1/0
        a message with four rollbacks
            {IS_OFF}, {rolled_back("c1/0", 4)} {OFF}, rolled_back
            => queue_off: since=10 poison_message_id=-
        of two messages with five rollbacks, the one that was received last
            {IS_OFF}, ready c1/1 1, {rolled_back("c1/0", 5)}, {rolled_back("c1/1", 5, 2.1)}
            {OFF}, rolled_back; c1/1: queue_off, rolled_back
            => queue_off: since=10 poison_message_id=c1/1 messages=2
        a message waits to be sent to a queue that is off on the same instance
            talk c1, sent c1/0, {STAYS_OFF} {OFF}
            => queue_off: queue=TargetQueue since=10 messages=1
        a message waits for a queue that the catalog knows and no endpoint yet
            begin c1, sent c1/0, {STAYS_OFF} {OFF}
            => queue_off: queue=TargetQueue since=10 messages=1
        the queue is on another instance
            begin c1, create c1 instance=SQL2 database=C, sent c1/0,
            QUEUE_ALTERED 2 instance=SQL2 database=C status=OFF {FIRST}
        """,
    ),
    *scenes(
        "queue_off",
        f"""
        only the catalog says so
            {ONE} {OFF}
            => queue_off: queue=TargetQueue since=- messages=1
        """,
        catalog=places(status="off"),
    ),
]
ROLLED_BACK = scenes(
    "rolled_back",
    f"""
    twice, the later one last
        {ONE}, {rolled_back("c1/0", 2)} {FIRST}, rolled_back
        => rolled_back: message_id=c1/0 times=2 last_transaction_id='c1/0 t1' messages=1
    only one of two messages was received
        {ONE}, ready c1/1 2, {rolled_back("c1/0", 1, 3)}
        {FIRST}, rolled_back; c1/1: own_group_first, first_in_line
    in the queue, and not where the message is still being forwarded
        begin c1, create c1 instance=SQL2 database=C, sent c1/0, forward c1/0 2, {rolled_back("c1/0", 1)}
        => c1/0@SQL2: first_in_line, rolled_back; c1/0@HUB: first_in_line
    twice in one transaction is once
        {ONE}, received c1/0 t1 2, received c1/0 t1 3, ROLLBACK 4 transaction=t1 {FIRST}, rolled_back
        => rolled_back: message_id=c1/0 times=1 last_transaction_id=t1 messages=1
    of two messages
        {ONE}, ready c1/1 1, {rolled_back("c1/0", 1)}, {rolled_back("c1/1", 2)}
        {FIRST}, rolled_back; c1/1: own_group_first, first_in_line, rolled_back
        => rolled_back: message_id=c1/1 times=2, message_id=c1/0 times=1
    of a locked group
        {ONE}, ready c1/1 1, {rolled_back("c1/0", 1)}, RECEIVE 10 transaction=t9 of=c1
        => c1/0: group_locked, rolled_back; c1/1: group_locked
    at as_of it is still in flight
        {ONE}, received c1/0 t1 2, ROLLBACK 60 transaction=t1 =>
    it was committed too
        {ONE}, received c1/0 t1 2, ROLLBACK 3 transaction=t1, COMMIT 4 transaction=t1 =>
    """,
)
SENT = "talk c1, sent c1/0"
HONOR_OFF = [
    *scenes(
        "honor_off",
        f"""
        the sender's database does not honor its level
            {SENT}, rule Level 6 in=A {FIRST}, honor_off
            => honor_off: database=A messages=1
        the level is the default
            {SENT}, rule Level 5 in=A {FIRST}
        the level is lower
            {SENT}, rule Level 2 in=A {FIRST}
        """,
        catalog=places(a=False),
    ),
    *scenes(
        "honor_off",
        f"""
        honor is on
            {SENT}, rule Level 6 in=A {FIRST}
        a forwarded message has no level of its own
            begin c1, create c1 instance=SQL2 database=C, sent c1/0, forward c1/0 2, rule Level 6 in=A
            => c1/0@SQL1: first_in_line; c1/0@HUB: first_in_line
        """,
    ),
    *scenes(
        "honor_off",
        f"""
        the message waits for a queue that is off, so its level is not why
            {SENT}, rule Level 6 in=A {OFF}
            => queue_off: since=- messages=1
        """,
        catalog=places(b=False, status="off"),
    ),
]
SCENES = [*GROUP_LOCKED, *QUEUE_OFF, *ROLLED_BACK, *HONOR_OFF]
