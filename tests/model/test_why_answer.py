"""The whole JSON of one small moment, its filters and its limit, with literal figures."""

from datetime import timedelta
from typing import Any

from tests.support.factories import at, by_source, catalog, message_event
from tests.support.model.moment import Moment
from tests.support.model.why import Filters, percentile, why
from tests.support.why_scenes.scene import (
    INITIATOR_NAMES,
    TARGET_NAMES,
    TARGET_QUEUE,
    on_queue,
    ready,
    rule,
    sent,
    talk,
)

GOLD = {**TARGET_NAMES, "contract": "Gold"}
RECEIVE = {"kind": "receive", **TARGET_QUEUE}
TRANSMISSION = {"kind": "transmission", "instance": "SQL1", "database": None, "queue": None}
NOWHERE: dict[str, Any] = {"kind": "unresolved", "instance": None, "database": None, "queue": None}
NO_NAMES = dict.fromkeys(INITIATOR_NAMES)


def moment() -> Moment:
    """Four messages to receive, of which one is locked; one to send; one of an unknown conversation."""
    rows = [
        *talk("c1"),
        *talk("c2", contract="Gold"),
        *talk("c3", contract="Gold"),
        ready("c1/0", 0.01),
        ready("c1/1", 10),
        ready("c2/0", 20),
        ready("c3/0", 30),
        on_queue("RECEIVE", 40, transaction_id="t", session_id=51, conversation_group_id="group c3 False"),
        sent("c1/2", 50),
        message_event("DELIVERED", "c4/0", event_time=at(0)),
    ]
    return Moment(
        by_source(*rows),
        catalog=catalog(),
        rules=[rule("Gold", 8, contract="Gold")],
        as_of=at(60) + timedelta(milliseconds=900),
    )


SEVERITY = {
    "no_rule": "misconfigured",
    "group_locked": "blocked",
    "endpoint_unknown": "stopped",
    **dict.fromkeys(("outranked", "own_group_first", "first_in_line"), "order"),
}


def cause(code: str, messages: int, conversations: int, example: str, *details: dict[str, Any]) -> Any:
    return {
        "code": code,
        "severity": SEVERITY[code],
        "messages": messages,
        "conversations": conversations,
        "example_message_id": example,
        "details": list(details),
    }


NO_RULE = cause("no_rule", 2, 1, "c1/0", {"instance": "SQL1", "database": "B", **TARGET_NAMES, "messages": 2})
OUTRANKED = cause("outranked", 2, 1, "c1/0", {**GOLD, "messages": 1})
OWN_GROUP = cause(
    "own_group_first",
    1,
    1,
    "c1/1",
    {**RECEIVE, "conversation_group_id": "group c1 False", "conversation_id": None, "messages": 1},
)
LOCKED = cause(
    "group_locked",
    1,
    1,
    "c3/0",
    {
        **TARGET_QUEUE,
        "conversation_group_id": "group c3 False",
        "transaction_id": "t",
        "session_id": 51,
        "since": at(40),
        "messages": 1,
    },
)
FIRST_THERE = cause("first_in_line", 1, 1, "c2/0", {**RECEIVE, "messages": 1})
FIRST_TO_SEND = cause("first_in_line", 1, 1, "c1/2", {**TRANSMISSION, "messages": 1})
UNKNOWN = cause(
    "endpoint_unknown",
    1,
    1,
    "c4/0",
    {"schedule": "receive", "instance": "SQL1", "database": "B", **NO_NAMES, "messages": 1},
)
STATES = dict.fromkeys(("ready", "queue_off", "group_locked", "transmission", "forwarded", "unresolved"), 0)
QUEUE_SITUATION = {
    "messages": 4,
    "conversations": 3,
    "states": {**STATES, "ready": 3, "group_locked": 1},
    "oldest": at(0.01),
    # 60 min 0.9 s less 0.6 s.
    "oldest_seconds": 3600,
    # Of 1800, 2400, 3000, 3600, at rank 0.95 * 3.
    "p95_seconds": 3510.0,
    "levels": [{"level": 8, "messages": 2}, {"level": 5, "messages": 2}],
    "kinds": [{**TARGET_NAMES, "messages": 2}, {**GOLD, "messages": 2}],
    "ahead": {
        "first": {"message_id": "c2/0", "messages": 0, "receives": 0, "kinds": []},
        "median": {
            "message_id": "c1/0",
            "messages": 1,
            "receives": 1,
            "kinds": [{**GOLD, "messages": 1}],
        },
    },
}
SENDING_SITUATION = {
    "messages": 1,
    "conversations": 1,
    "states": {**STATES, "transmission": 1},
    "oldest": at(50),
    "oldest_seconds": 600,
    "p95_seconds": 600.0,
    "levels": [{"level": 5, "messages": 1}],
    "kinds": [{**INITIATOR_NAMES, "messages": 1}],
    "ahead": {
        "first": {"message_id": "c1/2", "messages": 0, "receives": None, "kinds": []},
        "median": {"message_id": "c1/2", "messages": 0, "receives": None, "kinds": []},
    },
}
UNRESOLVED_SITUATION = {
    "messages": 1,
    "conversations": 1,
    "states": {**STATES, "unresolved": 1},
    "oldest": at(0),
    "oldest_seconds": 3600,
    "p95_seconds": 3600.0,
    "levels": [],
    "kinds": [{**NO_NAMES, "messages": 1}],
    "ahead": None,
}
QUEUE_CAUSES = [LOCKED, NO_RULE, OUTRANKED, OWN_GROUP, FIRST_THERE]


def finding(place: dict[str, Any], cause: dict[str, Any]) -> dict[str, Any]:
    return {**place, **{name: value for name, value in cause.items() if name != "example_message_id"}}


def test_everything() -> None:
    assert why(moment()) == {
        "as_of": at(60) + timedelta(milliseconds=900),
        "situation": {
            "messages": 6,
            "conversations": 4,
            "states": {**STATES, "ready": 3, "group_locked": 1, "transmission": 1, "unresolved": 1},
            "oldest": at(0),
            "oldest_seconds": 3600,
            "p95_seconds": 3600.0,
            "levels": [{"level": 8, "messages": 2}, {"level": 5, "messages": 3}],
            "kinds": [
                {**TARGET_NAMES, "messages": 2},
                {**GOLD, "messages": 2},
                {**INITIATOR_NAMES, "messages": 1},
                {**NO_NAMES, "messages": 1},
            ],
            "ahead": None,
        },
        "causes": [
            UNKNOWN,
            LOCKED,
            NO_RULE,
            OUTRANKED,
            cause(
                "first_in_line",
                2,
                2,
                "c2/0",
                {**RECEIVE, "messages": 1},
                {**TRANSMISSION, "messages": 1},
            ),
            OWN_GROUP,
        ],
        "findings": [
            finding(NOWHERE, UNKNOWN),
            *[finding(RECEIVE, each) for each in QUEUE_CAUSES],
            finding(TRANSMISSION, FIRST_TO_SEND),
        ],
        "places": [
            {**NOWHERE, "situation": UNRESOLVED_SITUATION, "causes": [UNKNOWN]},
            {**RECEIVE, "situation": QUEUE_SITUATION, "causes": QUEUE_CAUSES},
            {**TRANSMISSION, "situation": SENDING_SITUATION, "causes": [FIRST_TO_SEND]},
        ],
    }


def test_a_queue() -> None:
    for filters in (
        Filters(queue="TargetQueue"),
        Filters(queue="SQL1.B.TargetQueue"),
        Filters(database="B"),
        Filters(instance="SQL1", queue="TargetQueue", database="B"),
    ):
        answer = why(moment(), filters)
        assert answer["situation"] == QUEUE_SITUATION
        assert answer["causes"] == QUEUE_CAUSES
        assert [place["kind"] for place in answer["places"]] == ["receive"]


def chosen(**filters: Any) -> list[str]:
    """The kinds of the places that have messages, each as often as it has."""
    places = why(moment(), Filters(**filters))["places"]
    return [place["kind"] for place in places for _ in range(place["situation"]["messages"])]


def test_filters() -> None:
    receive, sending, nowhere = "receive", "transmission", "unresolved"
    assert chosen() == [nowhere, *[receive] * 4, sending]
    assert chosen(instance="SQL1") == [receive] * 4 + [sending]
    assert chosen(transmission=True) == [sending]
    assert chosen(transmission=True, instance="SQL2") == []
    assert chosen(contract="Contract") == [receive] * 2 + [sending]
    assert chosen(service="TargetService") == [receive] * 4
    assert chosen(remote_service="TargetService") == [sending]
    assert chosen(conversation="c4") == [nowhere]
    assert chosen(conversation="c1", contract="Gold") == []
    assert chosen(queue="InitiatorQueue") == []


def test_nothing_fits() -> None:
    answer = why(moment(), Filters(contract="Gold", service="InitiatorService"))
    assert answer["places"] == answer["causes"] == []
    assert answer["situation"] == {
        "messages": 0,
        "conversations": 0,
        "states": STATES,
        "oldest": None,
        "oldest_seconds": None,
        "p95_seconds": None,
        "levels": [],
        "kinds": [],
        "ahead": None,
    }


def test_a_cause_looks_at_the_whole_queue() -> None:
    """c1 alone is asked about; what is ahead of it is of other conversations."""
    answer = why(moment(), Filters(queue="TargetQueue", conversation="c1"))
    assert answer["causes"] == [NO_RULE, OUTRANKED, OWN_GROUP]
    assert answer["situation"]["ahead"] == {
        "first": {"message_id": "c1/0", "messages": 1, "receives": 1, "kinds": [{**GOLD, "messages": 1}]},
        "median": {"message_id": "c1/0", "messages": 1, "receives": 1, "kinds": [{**GOLD, "messages": 1}]},
    }


def test_one_receive_takes_several_messages() -> None:
    rows = [*talk("c1"), *talk("c2"), ready("c1/0", 1), ready("c1/1", 2), ready("c2/0", 3)]
    found = Moment(by_source(*rows), catalog=catalog(), rules=[], as_of=at(60))
    ahead = why(found, Filters(conversation="c2"))["situation"]["ahead"]
    assert ahead["first"] == {
        "message_id": "c2/0",
        "messages": 2,
        "receives": 1,
        "kinds": [{**TARGET_NAMES, "messages": 2}],
    }


def test_messages_without_a_position_have_no_first() -> None:
    assert why(moment(), Filters(conversation="c3"))["situation"]["ahead"] is None


def test_limit_cuts_kinds_and_details_only() -> None:
    answer = why(moment(), limit=1)
    assert answer["situation"]["kinds"] == [{**TARGET_NAMES, "messages": 2}]
    assert len(answer["causes"]) == 6
    assert len(answer["places"]) == 3
    assert [len(each["details"]) for each in answer["causes"]] == [1] * 6


def test_a_conversation_in_any_spelling() -> None:
    guid = "ABCDEF00-0000-0000-0000-000000000001"
    rows = [*talk(guid.lower()), message_event("DELIVERED", "m/0", conversation_id=guid)]
    found = Moment(by_source(*rows), catalog=catalog(), rules=[], as_of=at(60))
    for spelling in (guid, guid.lower(), "{" + guid + "}"):
        assert why(found, Filters(conversation=spelling))["situation"]["messages"] == 1


def test_percentile() -> None:
    assert percentile([], 0.95) is None
    assert percentile([7], 0.95) == 7
    assert percentile([0, 100], 0.95) == 95
    assert percentile(list(range(21)), 0.95) == 19
