"""Which rows close: those that no later as_of needs, case by case, after one night that ends on day 6."""

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import (
    Events,
    Row,
    at,
    by_source,
    catalog,
    endpoint_event,
    message_event,
    queue_event,
    short_talk,
)
from tests.support.harness import Project

NEWEST = at(60, day=6)
IN_FLIGHT, COMMITTED, ROLLED_BACK = "open", "commits", "rolls back"


def message(name: str, *events: str, **changes: object) -> list[Row]:
    """Events of the first message of a conversation, a day apart; RECEIVED:x is received in transaction x."""
    rows = []
    for day, event in enumerate(events):
        event_type, _, transaction = event.partition(":")
        place = {"instance": "SQL2", "database": "C"} if event_type.startswith("FORWARD") else {}
        row = message_event(event_type, f"{name}/0", event_time=at(day=day), **place, **changes)
        rows.append(row | {"transaction_id": transaction or None})
    return rows


def received_again(name: str) -> Row:
    """A RECEIVED for good, a minute after the first one and before the ROLLBACK of QUEUE_EVENTS."""
    return message_event("RECEIVED", f"{name}/0", event_id=f"again {name}", event_time=at(1))


def ended(name: str, side: bool, how: str = "", day: int = 3) -> Row:
    return endpoint_event(f"END_CONVERSATION{how}", name, is_initiator=side, event_time=at(day=day))


MESSAGES: dict[str, tuple[Callable[[str], list[Row]], bool]] = {
    "delivered": (lambda name: message(name, "SENT", "DELIVERED"), True),
    "sent": (lambda name: message(name, "SENT"), True),
    "received at once": (lambda name: message(name, "SENT", "RECEIVED"), False),
    "in flight": (lambda name: message(name, f"RECEIVED:{IN_FLIGHT}"), True),
    "committed": (lambda name: message(name, "DELIVERED", f"RECEIVED:{COMMITTED}"), False),
    "rolled back": (lambda name: message(name, "DELIVERED", f"RECEIVED:{ROLLED_BACK}"), True),
    "received again": (lambda name: message(name, f"RECEIVED:{ROLLED_BACK}", f"RECEIVED:{COMMITTED}"), False),
    "received twice, the first rolled back then": (
        lambda name: [*message(name, f"RECEIVED:{ROLLED_BACK}"), received_again(name)],
        True,
    ),
    "received twice, the first rolled back then, receiver ended": (
        lambda name: [*message(name, f"RECEIVED:{ROLLED_BACK}"), received_again(name), ended(name, False)],
        False,
    ),
    "received twice, the first rolled back then, sender ended": (
        lambda name: [*message(name, f"RECEIVED:{ROLLED_BACK}"), received_again(name), ended(name, True)],
        True,
    ),
    "received twice, by an open transaction and for good": (
        lambda name: message(name, f"RECEIVED:{IN_FLIGHT}", "RECEIVED"),
        True,
    ),
    "received twice, by a transaction that was over and for good": (
        lambda name: message(name, "DELIVERED", f"RECEIVED:{ROLLED_BACK}", "RECEIVED"),
        True,
    ),
    "received twice, committed both times": (
        lambda name: message(name, f"RECEIVED:{COMMITTED}", "RECEIVED"),
        False,
    ),
    "receiver ended": (lambda name: [*message(name, "DELIVERED"), ended(name, False)], False),
    "receiver ended, rolled back": (
        lambda name: [*message(name, f"RECEIVED:{ROLLED_BACK}"), ended(name, False)],
        False,
    ),
    "receiver ended, in flight": (
        lambda name: [*message(name, f"RECEIVED:{IN_FLIGHT}"), ended(name, False)],
        True,
    ),
    "dropped": (lambda name: [*message(name, "SENT"), ended(name, True, "_WITH_CLEANUP")], False),
    "kept by a plain end": (lambda name: [*message(name, "SENT"), ended(name, True)], True),
    "dropped after it arrived": (
        lambda name: [*message(name, "SENT", "DELIVERED"), ended(name, True, "_WITH_CLEANUP")],
        True,
    ),
    "received, being forwarded": (lambda name: message(name, "FORWARD_ACCEPTED", "RECEIVED"), True),
    "received and forwarded": (
        lambda name: message(name, "FORWARD_ACCEPTED", "RECEIVED", "FORWARDED"),
        False,
    ),
    "only forwarded": (lambda name: message(name, "FORWARDED"), False),
    "received in the last minutes": (
        lambda name: [message_event("RECEIVED", f"{name}/0", event_time=at(50, day=6))],
        True,
    ),
    "received after the log's end, by a clock ahead": (
        lambda name: [message_event("RECEIVED", f"{name}/0", event_time=at(day=2000))],
        True,
    ),
}
"""How the events of a message are made, and whether they stay open."""

CONVERSATIONS: dict[str, tuple[Callable[[str], list[Row]], bool]] = {
    "begun": (lambda name: [endpoint_event(conversation=name)], True),
    "initiator ended, no target": (
        lambda name: [endpoint_event(conversation=name), ended(name, True)],
        False,
    ),
    "initiator ended, target inferred": (
        lambda name: [
            endpoint_event(conversation=name),
            ended(name, True),
            *message(name, "SENT", "RECEIVED"),
        ],
        True,
    ),
    "both ended": (lambda name: _rows(short_talk(name, 0, ends=True)), False),
    "both ended, inferred target": (
        lambda name: [
            endpoint_event(conversation=name),
            *message(name, "SENT", "RECEIVED"),
            ended(name, True),
            ended(name, False),
        ],
        False,
    ),
    "both ended, a message in flight": (
        lambda name: [*_rows(short_talk(name, 0, ends=True)), *message(name, f"RECEIVED:{IN_FLIGHT}")],
        True,
    ),
    "an end alone": (lambda name: [ended(name, True)], False),
    "both ended, one by a clock ahead": (
        lambda name: [
            *_rows(short_talk(name, 0, ends=False)),
            ended(name, True),
            ended(name, False, day=2000),
        ],
        True,
    ),
}
"""How the events of a conversation are made, and whether its endpoint events stay open."""

QUEUE_EVENTS: dict[str, tuple[Row, bool]] = {
    "commit": (queue_event("COMMIT", transaction_id=COMMITTED), True),
    "rollback": (queue_event("ROLLBACK", transaction_id=ROLLED_BACK), True),
    "commit of what is over": (queue_event("COMMIT", transaction_id="over"), False),
    "lock of an open transaction": (
        queue_event("RECEIVE", transaction_id="locks", conversation_group_id="g"),
        True,
    ),
    "off": (queue_event("QUEUE_ALTERED", "off", queue_status="OFF"), False),
    "off again": (queue_event("QUEUE_ALTERED", "off again", event_time=at(3), queue_status="OFF"), True),
    "altered, says nothing": (queue_event("QUEUE_ALTERED", "nothing", event_time=at(4)), False),
    "on, by a clock ahead": (
        queue_event("QUEUE_ALTERED", "on", event_time=at(day=2000), queue_status="ON"),
        True,
    ),
    "task started": (queue_event("TASK_STARTED", "started", session_id=51), False),
    "task exited": (queue_event("TASK_EXITED", "exited", session_id=51, event_time=at(3)), True),
    "task of another session": (queue_event("TASK_STARTED", "other", session_id=52), True),
    "wait": (queue_event("WAIT_STARTED", "waits", session_id=51), True),
    "empty": (queue_event("RECEIVE", "empty", row_count=0), False),
    "empty again": (queue_event("RECEIVE", "empty again", row_count=0, event_time=at(3)), True),
    "empty, of one group": (
        queue_event("RECEIVE", "where", row_count=0, has_where=True, event_time=at(4)),
        False,
    ),
    "rows": (queue_event("RECEIVE", "rows", row_count=3, event_time=at(5)), False),
}
"""Queue events, and whether they stay open: COMMITTED and ROLLED_BACK received messages that do."""


def _rows(events: Events) -> list[Row]:
    return [row for rows in events.values() for row in rows]


@pytest.fixture(scope="module")
def ledger(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """closed_on of all cases, by input and name of the case."""
    project = Project(tmp_path_factory.mktemp("closing"), catalog=catalog())
    rows = [message_event("SENT", "the last/0", event_time=NEWEST)]
    # A message that stays open needs to know what became of all transactions that had received it.
    rows += message("needs the commit", f"RECEIVED:{COMMITTED}", "FORWARD_ACCEPTED")
    for cases in (MESSAGES, CONVERSATIONS):
        for name, (make, _) in cases.items():
            rows += make(name)
    for name, (row, _) in QUEUE_EVENTS.items():
        rows.append(row | {"event_id": name})
    project.add(by_source(*rows))
    project.run(session, at(90, day=6))
    return {
        source: {row[name]: row["closed_on"] for row in project.table(source)}
        for source, name in (
            ("message_events", "conversation_id"),
            ("endpoint_events", "conversation_id"),
            ("endpoints", "conversation_id"),
            ("queue_events", "event_id"),
        )
    }


def found(ledger: dict[str, dict[str, object]], source: str, name: str) -> bool:
    """Whether the case is open; what is closed is closed on the log's newest day."""
    day = ledger[source][name]
    assert day in (None, NEWEST.date())
    return day is None


@pytest.mark.slow
@pytest.mark.parametrize("case", MESSAGES)
def test_messages(ledger: dict[str, dict[str, object]], case: str) -> None:
    assert found(ledger, "message_events", case) is MESSAGES[case][1]


@pytest.mark.slow
@pytest.mark.parametrize("case", CONVERSATIONS)
def test_conversations(ledger: dict[str, dict[str, object]], case: str) -> None:
    assert found(ledger, "endpoint_events", case) is CONVERSATIONS[case][1]
    if case in ledger["endpoints"]:
        assert found(ledger, "endpoints", case) is CONVERSATIONS[case][1]


@pytest.mark.slow
@pytest.mark.parametrize("case", QUEUE_EVENTS)
def test_queue_events(ledger: dict[str, dict[str, object]], case: str) -> None:
    assert found(ledger, "queue_events", case) is QUEUE_EVENTS[case][1]
