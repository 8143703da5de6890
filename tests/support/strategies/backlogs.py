"""Logs of backlogs in which each cause of `why` occurs: near, new and missing rules, locks, idle readers."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.support.factories import NOON, Row, by_source, endpoint_event, message_event, queue_event

from .backlog_rules import CONTRACTS, rule_statements
from .logs import Log

TICK = timedelta(minutes=7)
TICKS = 30
AS_OF = NOON + 40 * TICK
"""Everything but some statements and outcomes is before it."""
PLACES = {"SQL1": ("A", "B"), "SQL2": ("C",)}
QUEUES = {"A": ("Replies",), "B": ("Work", "work"), "C": ("Depot",)}
SERVICES = {
    "A": (("Orders", "Replies"), ("Order1", "Replies")),
    "B": (("Stock", "Work"), ("stock", "Work"), ("Billing", "work")),
    "C": (("Depot", "Depot"),),
}
"""The services of each database with their queues."""
NO_SERVICE = "Nowhere"
ENDS = ("END_CONVERSATION", "END_CONVERSATION_WITH_ERROR")
CONVERSATIONS = (6, 8, 10, 12)
FATES = (*["ready"] * 6, *["waiting"] * 4, "forwarded", "rolled back", "rolled back", "in flight", "received")
MONITORS: tuple[Row, ...] = (
    {},
    {},
    {"activation": {"procedure": "dbo.Read", "max_queue_readers": 1}},
    {"activation": {"procedure": "dbo.Read"}},
    {"activation": {"procedure": "dbo.Read", "max_queue_readers": 2, "status": "on"}},
    {"activation": {"procedure": "dbo.Read", "max_queue_readers": 1, "status": "off"}},
    {"event_notification": {"timeout_seconds": 600}},
)
ACTIVATION: dict[str, Any] = {"check_seconds": 600.0, "empty_seconds": 5.0, "window_hours": 24.0}
"""The settings of activation: few checks, so that the model is quick."""

Place = tuple[str, str, str]
"""Instance, database and service."""


def backlog_log(number: int) -> Log:
    """A log of two instances with three databases; the same for the same number."""
    random = Random(number)
    catalog = _catalog(random)
    rows, messages = _conversations(random)
    rows += messages
    rows += _statements(random, rows)
    rows += _readers(random)
    for serial, row in enumerate(rows):
        row["event_id"] = f"e{random.randrange(1000):03d}.{serial}"
    return Log(
        **by_source(*rows),
        catalog=catalog,
        rules=rule_statements(random, SERVICES, [NOON + tick * TICK for tick in range(TICKS)]),
        as_of=AS_OF,
        top=random.choice((None, None, 1, 2)),
        starvation=random.choice((None, None, {"after_seconds": 3600, "raise_by": 1})),
        blocks=random.choice((None, {"fragment_bytes": 100, "fragments": random.choice((2, 3))})),
    )


def _tick(random: Random, first: int = 0, last: int = TICKS) -> datetime:
    """A tick, or a little after it."""
    moment = NOON + random.randint(first, max(first, last)) * TICK
    return moment + timedelta(microseconds=random.choice((0, 0, 0, 1, 900_000)))


def _catalog(random: Random) -> Row:
    return {
        "instances": [
            {
                "name": instance,
                "databases": [
                    {
                        "name": database,
                        "honor_broker_priority": random.choice((True, True, False)),
                        "queues": [
                            {
                                "name": queue,
                                "status": random.choice(("on",) * 7 + ("off",)),
                                **random.choice(MONITORS),
                            }
                            for queue in QUEUES[database]
                        ],
                        "services": [
                            {"name": service, "queue": queue} for service, queue in SERVICES[database]
                        ],
                    }
                    for database in databases
                ],
            }
            for instance, databases in PLACES.items()
        ]
    }


def _place(random: Random, *databases: str) -> Place:
    database = random.choice(databases)
    instance = next(name for name, each in PLACES.items() if database in each)
    return instance, database, random.choice(SERVICES[database])[0]


# Conversations


def _conversations(random: Random) -> tuple[list[Row], list[Row]]:
    """Endpoint events, and message events; queue events of messages that were rolled back among the first."""
    rows: list[Row] = []
    messages: list[Row] = []
    usual = random.choice(CONTRACTS)
    for number in range(random.choice(CONVERSATIONS)):
        conversation = f"c{number}"
        ends = {True: _place(random, "A", "A", "C"), False: _place(random, "B", "B", "C")}
        begun = random.randint(0, 20)
        contract = random.choice((usual, *CONTRACTS))
        for is_initiator, event_type in ((True, "BEGIN_DIALOG"), (False, "DIALOG_CREATED")):
            if random.randrange(14):
                rows.append(_creation(random, conversation, event_type, ends, contract, begun))
            if not random.randrange(16):
                instance, database, _ = ends[is_initiator]
                rows.append(
                    endpoint_event(
                        random.choice(ENDS),
                        conversation,
                        is_initiator=is_initiator,
                        instance=instance,
                        database=database,
                        event_time=_tick(random, begun),
                        **dict.fromkeys(("contract", "local_service", "remote_service")),
                        conversation_group_id=None,
                    )
                )
        for by_initiator, most in ((True, 3), (False, 1)):
            for place in range(random.randint(int(by_initiator), most)):
                message = f"{conversation}/{place}"
                of_message, of_queue = _message(random, message, by_initiator, ends, begun)
                messages += of_message
                rows += of_queue
    return rows, messages


def _creation(
    random: Random, conversation: str, event_type: str, ends: dict[bool, Place], contract: str, begun: int
) -> Row:
    own = event_type == "BEGIN_DIALOG"
    instance, database, service = ends[own]
    return endpoint_event(
        event_type,
        conversation,
        is_initiator=own,
        instance=instance,
        database=database,
        event_time=_tick(random, begun, begun + (0 if own else 1)),
        # The handle that the naive server shows.
        conversation_handle=f"H-{conversation}-{int(own)}",
        conversation_group_id=f"g{random.randrange(4)}" if random.randrange(3) else f"g {conversation}",
        contract=contract,
        local_service=service if random.randrange(14) else NO_SERVICE,
        remote_service=ends[not own][2],
    )


def _message(
    random: Random, message: str, by_initiator: bool, ends: dict[bool, Place], begun: int
) -> tuple[list[Row], list[Row]]:
    """The events of a message, as its fate has it, and the outcomes of transactions that received it."""
    fate = random.choice(FATES)
    sender, receiver = ends[by_initiator], ends[not by_initiator]
    base: dict[str, Any] = {
        "message_id": f"{'i' if by_initiator else 't'} {message}",
        "sent_by_initiator": by_initiator,
        "size_bytes": random.choice((None, 100, 150)),
    }

    def event(event_type: str, moment: datetime, place: Place, **more: Any) -> Row:
        where = {"instance": place[0], "database": place[1]}
        return message_event(event_type, message, event_time=moment, **base, **where, **more)

    sent_at = _tick(random, begun, begun + 3)
    rows = [event("SENT", sent_at, sender)]
    if fate in ("waiting", "forwarded"):
        if fate == "forwarded":
            rows.append(event("FORWARD_ACCEPTED", sent_at + TICK, ("HUB", "H", "")))
        return rows, []
    arrived_at = sent_at + random.choice((0, 0, 1, 4)) * TICK
    rows.append(event("DELIVERED", arrived_at, receiver, queuing_order=random.choice((None, 1, 2))))
    outcomes: list[Row] = []
    times = {"rolled back": random.choice((1, 1, 2, 5, 6)), "in flight": 1, "received": 1}.get(fate, 0)
    queue = dict(SERVICES[receiver[1]])[receiver[2]]
    for number in range(times):
        transaction = f"{message} {by_initiator} t{number}"
        moment = arrived_at + timedelta(minutes=number)
        rows.append(event("RECEIVED", moment, receiver, transaction_id=transaction))
        if fate != "in flight":
            where = {"instance": receiver[0], "database": receiver[1], "queue": queue}
            outcome = "ROLLBACK" if fate == "rolled back" else "COMMIT"
            later = moment + timedelta(seconds=30)
            outcomes.append(queue_event(outcome, event_time=later, transaction_id=transaction, **where))
    return rows, outcomes


# Queues


def _queue(random: Random) -> Row:
    database = random.choice(("A", "B", "B", "C"))
    instance = next(name for name, each in PLACES.items() if database in each)
    return {"instance": instance, "database": database, "queue": random.choice(QUEUES[database])}


def _statements(random: Random, rows: list[Row]) -> list[Row]:
    """Statements of open and committed transactions that lock groups, and switches."""
    groups = [row["conversation_group_id"] for row in rows if row.get("local_service")] or ["g0"]
    found = []
    for number in range(random.choice((0, 1, 2, 3))):
        where, transaction = _queue(random), f"s{number}"
        session = random.choice((None, 51, 52))
        moment = _tick(random, 5)
        found.append(
            queue_event(
                random.choice(("RECEIVE", "GET_CONVERSATION_GROUP")),
                event_time=moment,
                transaction_id=transaction,
                session_id=session,
                conversation_group_id=random.choice(groups),
                has_where=random.choice((None, True)),
                row_count=random.choice((0, 1)),
                **where,
            )
        )
        if not random.randrange(4):
            outcome = random.choice(("COMMIT", "ROLLBACK"))
            later = moment + random.choice((1, 40)) * TICK
            found.append(queue_event(outcome, event_time=later, transaction_id=transaction, **where))
    for _ in range(random.choice((0, 0, 1, 2))):
        status = random.choice(("OFF", "OFF", "ON", None))
        found.append(
            queue_event("QUEUE_ALTERED", event_time=_tick(random), queue_status=status, **_queue(random))
        )
    return found


def _readers(random: Random) -> list[Row]:
    """Receives without a group, and signs of life of readers."""
    found = []
    for _ in range(random.choice((0, 3, 6, 9))):
        event_type = random.choice(("RECEIVE", "WAIT_STARTED", *["TASK_STARTED"] * 4, "TASK_EXITED"))
        found.append(
            queue_event(
                event_type,
                event_time=_tick(random, 0, 20),
                session_id=random.choice((51, 52, 53)),
                row_count=random.choice((0, 1)) if event_type == "RECEIVE" else None,
                **_queue(random),
            )
        )
    return found
