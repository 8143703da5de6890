"""Each measure of an expectation, on one small moment with literal figures."""

from typing import Any

import pytest

from tests.support.factories import at, by_source, catalog, create_rule, endpoint_event, message_event
from tests.support.model.expectations import expectations, seconds
from tests.support.model.moment import Moment
from tests.support.why_scenes.scene import on_queue, ready, rule, sent, talk


def moment() -> Moment:
    """In the target queue, contract Gold at level 8 and Contract at 5; messages to send; one unknown."""
    rows = [
        *talk("c1"),
        *talk("c2", contract="Gold"),
        ready("c1/0", 0),
        ready("c1/1", 10),
        ready("c2/0", 20),
        ready("c2/1", 50),
        on_queue("RECEIVE", 55, transaction_id="t", conversation_group_id="group c2 False"),
        sent("c1/2", 30),
        sent("c2/2", 40),
        message_event("DELIVERED", "c2/3", event_time=at(57), sent_by_initiator=False),
        message_event("DELIVERED", "c4/0", event_time=at(0)),
    ]
    rules = [rule("Gold", 8, contract="Gold"), create_rule("Sent", 7, contract="Gold")]
    return Moment(by_source(*rows), catalog=catalog(), rules=rules, as_of=at(60))


def measured(**entry: Any) -> tuple[Any, ...]:
    """value, limit, met, messages."""
    (row,) = expectations(moment(), [entry])
    return (row["value"], row["limit"], row["met"], row["messages"])


WAITS = [
    ({"oldest_wait": "60 min"}, (3600.0, 3600.0, True, 5)),
    ({"oldest_wait": "59.99 min"}, (3600.0, 3599.4, False, 5)),
    ({"oldest_wait": "1 h", "queue": "TargetQueue", "contract": "Gold"}, (2400.0, 3600.0, True, 2)),
    ({"oldest_wait": "1h", "queue": "SQL1.A.InitiatorQueue"}, (180.0, 3600.0, True, 1)),
    ({"oldest_wait": "1 h", "instance": "SQL1", "database": "B", "level": 5}, (3600.0, 3600.0, True, 2)),
    ({"oldest_wait": "1 h", "level": 9}, (None, 3600.0, True, 0)),
    ({"oldest_wait": "1 h", "level": 9, "min_messages": 1}, (None, 3600.0, False, 0)),
    ({"oldest_wait": "1 h", "level": 5, "min_messages": 2}, (3600.0, 3600.0, True, 2)),
    ({"oldest_wait": "1 h", "level": 5, "min_messages": 3}, (3600.0, 3600.0, False, 2)),
    ({"oldest_wait": "1 h", "service": "TargetService"}, (3600.0, 3600.0, True, 4)),
    ({"oldest_wait": "1 h", "remote_service": "TargetService"}, (180.0, 3600.0, True, 1)),
    # Of 600, 2400, 3000, 3600, at rank 0.95 * 3.
    ({"p95_wait": "3510 s", "database": "B"}, (3510.0, 3510.0, True, 4)),
    ({"p95_wait": "3509.5 s", "database": "B"}, (3510.0, 3509.5, False, 4)),
    ({"transmission_age": "30 min"}, (1800.0, 1800.0, True, 2)),
    ({"transmission_age": "30 min", "level": 7}, (1200.0, 1800.0, True, 1)),
    ({"transmission_age": "0.4 h", "contract": "Contract"}, (1800.0, 1440.0, False, 1)),
    ({"transmission_age": "1 d", "instance": "SQL2"}, (None, 86400.0, True, 0)),
]


@pytest.mark.parametrize(("entry", "expected"), WAITS)
def test_waits(entry: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert measured(**entry) == expected


COUNTS = [
    ({"level_at_least": 8}, (0.4, 1.0, False, 5)),
    ({"level_at_least": 8, "share": 0.4}, (0.4, 0.4, True, 5)),
    ({"level_at_least": 8, "share": 0.41}, (0.4, 0.41, False, 5)),
    ({"level_at_least": 8, "contract": "Gold", "queue": "TargetQueue"}, (1.0, 1.0, True, 2)),
    ({"level_at_least": 8, "contract": "Silver"}, (None, 1.0, True, 0)),
    ({"unresolved": 0}, (1.0, 0.0, False, 1)),
    ({"unresolved": 1}, (1.0, 1.0, True, 1)),
]


@pytest.mark.parametrize(("entry", "expected"), COUNTS)
def test_counts(entry: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert measured(**entry) == expected


def test_nothing_unresolved_is_a_count() -> None:
    empty = Moment({}, catalog=catalog(), rules=[], as_of=at(60))
    (row,) = expectations(empty, [{"unresolved": 0}])
    assert row == {"name": "unresolved: 0", "value": 0.0, "limit": 0.0, "met": True, "messages": 0}


def test_names() -> None:
    entries: list[dict[str, Any]] = [
        {"name": "gold waits", "oldest_wait": "10 min"},
        {"queue": "Q", "oldest_wait": "10 min", "level": 9},
    ]
    names = [row["name"] for row in expectations(moment(), entries)]
    assert names == ["gold waits", "queue: Q, oldest_wait: 10 min, level: 9"]


def test_durations() -> None:
    assert [seconds(text) for text in ("5 s", "5s", "0.5 min", "1.1 h", "2 d")] == [5, 5, 30, 3960, 172800]


def leaking() -> Moment:
    """Conversations of a week ago: idle, busy, ended on one side, ended on both, and one a second younger."""
    rows = [
        *talk("idle", 60),
        *talk("busy", 60),
        message_event("SENT", "busy/0", event_time=at(59)),
        message_event("SENT", "busy/1", event_time=at(60.02)),
        *talk("half", 200),
        endpoint_event("END_CONVERSATION", "half", event_time=at(201)),
        *talk("over", 0),
        *[
            endpoint_event(
                "END_CONVERSATION", "over", event_time=at(1), is_initiator=side, database="A" if side else "B"
            )
            for side in (True, False)
        ],
        *talk("young", 60.02),
    ]
    return Moment(by_source(*rows), catalog=catalog(), rules=[], as_of=at(60, day=7))


def leaked(**entry: Any) -> tuple[Any, ...]:
    (row,) = expectations(leaking(), [{"leaked_conversations": 2, **entry}])
    return (row["value"], row["met"], row["messages"])


def test_leaks() -> None:
    assert leaked() == (2.0, True, None)
    assert leaked(database="A") == (1.0, True, None)
    assert leaked(database="B") == (2.0, True, None)
    assert leaked(contract="Gold") == (0.0, True, None)
    # No message of the last six days is known, so the traffic is not: the far side of "half" has ended.
    assert leaked(days=6) == (1.0, True, None)
    assert leaked(service="TargetService", days=8) == (1.0, True, None)
    assert leaked(instance="SQL2") == (0.0, True, None)
