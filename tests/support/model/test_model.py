"""Examples derived by hand from the documented rules; they show that the model means what it says."""

from datetime import datetime
from typing import Any

import pytest

from tests.support.factories import Row, at, by_source, catalog, create_rule, endpoint_event, message_event
from tests.support.model import accept, simulate
from tests.support.why_scenes.scene import alter, drop, events, rule

SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"
HUB = {"instance": "HUB", "database": "master"}
Tables = dict[str, list[Row]]


def run(text: str, *more: Row, minute: float = 60, **settings: Any) -> Tables:
    """The tables of events, which are written as in the scenes of why."""
    log = by_source(*events(text), *more)
    return simulate(log, **{"catalog": catalog(), "rules": [], "as_of": at(minute), **settings})


def by_contract(*levels: int) -> list[Row]:
    """Rules of the target database: contract C9 has level 9, and so on."""
    return [rule(f"R{level}", level, contract=f"C{level}") for level in levels]


def of_sender(level: int, **criteria: Any) -> Row:
    return create_rule(f"S{level}", level, **criteria)


def received(tables: Tables) -> str:
    """receive_number:group_priority:message_id in order."""
    rows = sorted(tables["receive_schedule"], key=lambda row: row["position"])
    return " ".join(f"{row['receive_number']}:{row['group_priority']}:{row['message_id']}" for row in rows)


def transmitted(tables: Tables, *columns: str) -> list[tuple[Any, ...]]:
    rows = sorted(tables["transmission_schedule"], key=lambda row: row["position"])
    return [tuple(row[column] for column in ("message_id", *columns)) for row in rows]


# Endpoints and their levels


@pytest.mark.parametrize(
    ("contract", "local", "remote", "step"),
    [
        ("Contract", "InitiatorService", "TargetService", 1),
        ("Contract", "InitiatorService", "ANY", 2),
        ("Contract", "ANY", "TargetService", 3),
        ("Contract", "ANY", "ANY", 4),
        ("ANY", "InitiatorService", "TargetService", 5),
        ("ANY", "InitiatorService", "ANY", 6),
        ("ANY", "ANY", "TargetService", 7),
        ("ANY", "ANY", "ANY", 8),
        ({"name": "ANY"}, "ANY", "ANY", None),
        ("contract", "ANY", "ANY", None),
        ("Contract ", "ANY", "ANY", None),
    ],
)
def test_ladder_step(contract: Any, local: str, remote: str, step: int | None) -> None:
    own = of_sender(7, contract=contract, local_service=local, remote_service=remote)
    (endpoint,) = run("begin c", rules=[own, rule("Other side", 3)])["endpoints"]
    assert (endpoint["ladder_step"], endpoint["priority"]) == (step, 7 if step else 5)


def test_rule_in_force_at_the_moment_of_creation_decides() -> None:
    #   minute  0         10        20
    #   rule    [--- 3 ---[--- 8 ---) dropped; a version of no length leaves no row
    place = {"database": "A"}
    rules = [
        create_rule("R", 3, contract="Contract", effective_from=at(0)),
        alter("R", 10, **place, level=6),
        alter("R", 10, **place, level=8),
        drop("R", 20, **place),
    ]
    tables = run(", ".join(f"begin c{minute} {minute}" for minute in (-1, 0, 9, 10, 20)), rules=rules)
    assert [row["priority"] for row in tables["endpoints"]] == [5, 3, 3, 8, 5]
    assert [(row["level"], row["valid_to"]) for row in tables["priority_rules"]] == [(3, at(10)), (8, at(20))]


@pytest.mark.parametrize(
    ("text", "created", "group"),
    [
        ("begin c, sent c/0 1, received c/1 - 3, ready c/0 4", at(3), "c"),
        ("begin c, ready c/0 3, create c 5", at(3), "group c False"),
        ("begin c, create c 2, ready c/0 3", at(2), "group c False"),
    ],
)
def test_a_target_is_as_old_as_its_first_arrival(text: str, created: Any, group: str) -> None:
    target = run(text)["endpoints"][1]
    assert (target["created_at"], target["conversation_group_id"]) == (created, group)
    assert (target["queue"], target["local_service"]) == ("TargetQueue", "TargetService")


def test_target_is_not_inferred_without_the_initiator() -> None:
    tables = run("ready c/0 3")
    assert tables["endpoints"] == []
    assert [(row["kind"], row["reason"]) for row in tables["unresolved"]] == [("receive", "endpoint_unknown")]


def test_move_takes_the_messages_along_but_not_before_as_of() -> None:
    move = endpoint_event(
        "MOVE_CONVERSATION", "c", is_initiator=False, event_time=at(5), conversation_group_id="new"
    )
    before, after = (run("create c, ready c/0 1", move, minute=minute) for minute in (5, 6))
    groups = [tables["receive_schedule"][0]["conversation_group_id"] for tables in (before, after)]
    assert groups == ["group c False", "new"]
    assert [tables["endpoints"][0]["conversation_group_id"] for tables in (before, after)] == ["new", "new"]


# Receiving

MIXED = (
    "create nine contract=C9 group=mixed, create two contract=C2 group=mixed, create five contract=C5, "
    "ready two/0 1, ready five/0 2, ready nine/0 3"
)
TURNS = "create a, create b, ready a/0 1, ready b/0 2, ready b/1 3, ready a/1 4"


@pytest.mark.parametrize(
    ("text", "top", "order"),
    [
        pytest.param(
            MIXED, 1, "1:9:nine/0 2:5:five/0 3:2:two/0", id="a group falls when its high one is drained"
        ),
        pytest.param(MIXED, None, "1:9:nine/0 1:9:two/0 2:5:five/0", id="whole groups"),
        pytest.param(TURNS, 1, "1:5:a/0 2:5:b/0 3:5:b/1 4:5:a/1", id="groups of one level by what is left"),
        pytest.param(TURNS, 2, "1:5:a/0 1:5:a/1 2:5:b/0 2:5:b/1", id="two at a time"),
        pytest.param(
            "create c, ready c/0 1, received c/0 t 2, ready c/1 3", None, "1:5:c/1", id="no queue events"
        ),
    ],
)
def test_receive_order(text: str, top: int | None, order: str) -> None:
    assert received(run(text, rules=by_contract(9, 5, 2), top=top)) == order


def test_order_within_a_conversation_and_of_equal_arrivals() -> None:
    kinds = {"c/8": "Error", "c/9": "DialogTimer", "c/2": "EndDialog"}
    messages = [message_event("DELIVERED", f"c/{number}", event_time=at(1)) for number in (1, 0)]
    messages.append(message_event("DELIVERED", "c/7", message_sequence_number=None))
    messages += [message_event("DELIVERED", name, message_type=SYSTEM + kind) for name, kind in kinds.items()]
    assert received(run("create c", *messages)) == " ".join(
        f"1:5:c/{number}" for number in (9, 8, 0, 1, 2, 7)
    )
    orders = {"a/0": None, "b/0": 8, "c/0": 7, "d/0": None}
    tied = [message_event("DELIVERED", name, queuing_order=order) for name, order in orders.items()]
    tables = run("create a, create b, create c, create d", *tied)
    assert received(tables) == "1:5:c/0 2:5:b/0 3:5:a/0 4:5:d/0"


@pytest.mark.parametrize(
    ("ends", "states"),
    [
        pytest.param("", {"c/1": "group_locked"}, id="open"),
        pytest.param(", COMMIT 4 transaction=t", {"c/1": "ready"}, id="committed"),
        pytest.param(", ROLLBACK 4 transaction=t", {"c/0": "ready", "c/1": "ready"}, id="rolled back"),
        pytest.param(
            ", ROLLBACK 4 transaction=t, COMMIT 5 transaction=t", {"c/1": "ready"}, id="both: commit counts"
        ),
        pytest.param(", QUEUE_ALTERED 4 status=OFF", {"c/1": "queue_off"}, id="off goes before locked"),
        pytest.param(
            ", COMMIT 4 transaction=t, GET_CONVERSATION_GROUP 5 transaction=u of=c",
            {"c/1": "group_locked"},
            id="named",
        ),
    ],
)
def test_transactions_and_queues(ends: str, states: dict[str, str]) -> None:
    """The first message is received in a transaction, the second of its group is still there."""
    text = "create c, ready c/0 1, ready c/1 2, received c/0 t 3, WAIT_STARTED 0"
    rows = run(text + ends)["receive_schedule"]
    assert {row["message_id"]: row["state"] for row in rows} == states
    assert all((row["position"] is None) is (row["state"] != "ready") for row in rows)


@pytest.mark.parametrize(
    ("happened", "since"),
    [
        pytest.param("WAIT_STARTED 0", at(3), id="a message in flight"),
        pytest.param("GET_CONVERSATION_GROUP 2 transaction=u of=c", at(2), id="named before"),
        pytest.param("RECEIVE 4 transaction=u of=c", at(3), id="named later"),
        pytest.param("QUEUE_ALTERED 4 status=OFF, QUEUE_ALTERED 5 status=off", at(4), id="the first off"),
        pytest.param(
            "QUEUE_ALTERED 1 status=OFF, QUEUE_ALTERED 2 status=ON, QUEUE_ALTERED 4 status=OFF",
            at(4),
            id="off again",
        ),
    ],
)
def test_since_when_a_message_is_held(happened: str, since: datetime) -> None:
    [row] = run(f"create c, ready c/0 1, ready c/1 2, received c/0 t 3, {happened}")["receive_schedule"]
    assert (row["held_since"], row["held_source"]) == (since, "log")


def test_what_happens_at_as_of_has_not_happened() -> None:
    assert [len(run("create c, ready c/0 5", minute=minute)["receive_schedule"]) for minute in (5, 6)] == [
        0,
        1,
    ]


# Sending


@pytest.mark.parametrize(
    ("end", "waiting"),
    [("", ["c/0", "c/1"]), ("_WITH_ERROR", ["c/1"]), ("_WITH_CLEANUP", [])],
)
def test_what_an_end_drops_of_the_senders_messages(end: str, waiting: list[str]) -> None:
    ended = endpoint_event(f"END_CONVERSATION{end}", "c", event_time=at(2))
    error = message_event("SENT", "c/1", message_type=SYSTEM + "Error")
    assert [row[0] for row in transmitted(run("begin c, sent c/0 1", ended, error))] == waiting


def test_only_an_honoring_database_transmits_by_priority() -> None:
    """A honors, B does not; both on SQL1, so their messages share one order."""
    places = catalog()
    places["instances"][0]["databases"][1]["honor_broker_priority"] = False
    text = "talk c, sent c/7 1 sent_by_initiator=false, sent c/0 2"
    tables = run(text, rules=[of_sender(9), rule("B", 10)], catalog=places)
    assert transmitted(tables, "priority", "transmit_priority") == [("c/0", 9, 9), ("c/7", 10, 5)]
    held = run("talk c, sent c/0 1, QUEUE_ALTERED 0 status=OFF", rules=[of_sender(9)], catalog=places)
    assert transmitted(held, "database", "priority", "transmit_priority") == [("c/0", "B", 9, 5)]
    waits = transmitted(held, "waits_for", "waits_since", "waits_source")
    assert waits == [("c/0", "SQL1.B.TargetQueue", at(0), "log")]


def test_conversation_never_overtakes_itself() -> None:
    tables = run("begin c, begin d, sent c/0 5, sent c/1 1, sent d/0 3")
    assert transmitted(tables, "sendable_at") == [("d/0", at(3)), ("c/0", at(5)), ("c/1", at(5))]


def test_forwarded_messages_have_priority_5_and_end_with_forwarded() -> None:
    """A hub accepts messages, and passes one on; contract and services are the holding endpoint's."""
    passed_on = message_event("FORWARDED", "c/0", event_time=at(3), **HUB)
    text = "begin c contract=own, create d contract=far, " + ", ".join(
        f"forward {name} 2" for name in ("c/0", "c/1", "d/0", "e/0")
    )
    columns = ("instance", "forwarded", "priority", "transmit_priority", "contract", "from_service")
    assert transmitted(run(text, passed_on), *columns) == [
        ("c/1", "HUB", True, 5, 5, "own", "InitiatorService"),
        ("d/0", "HUB", True, None, 5, "far", "InitiatorService"),
        ("e/0", "HUB", True, None, 5, None, None),
    ]


def test_starvation_prevention_raises_by_full_periods_to_10() -> None:
    starvation = {"after_seconds": 15 * 60, "raise_by": 2}
    tables = run("begin c, begin d, sent c/0 1, sent d/0 31", rules=[of_sender(6)], starvation=starvation)
    assert transmitted(tables, "transmit_priority", "elevated") == [("c/0", 10, True), ("d/0", 8, True)]


def test_tail_of_a_block_overtakes_a_higher_priority_for_another_destination() -> None:
    #   order of fragments   high/0 (B)  other/0 (nowhere)  low/0 low/0 low/0 (B)
    #   blocks of 3          [high low low] [other] [low]
    tables = run(
        "begin high contract=C9, begin other contract=C8 remote_service=Unknown, begin low, "
        "sent high/0 1, sent other/0 1",
        message_event("SENT", "low/0", size_bytes=200),
        message_event("SENT", "low/1", size_bytes=101),
        rules=[of_sender(9, contract="C9"), of_sender(8, contract="C8")],
        blocks={"fragment_bytes": 100, "fragments": 3},
    )
    assert transmitted(tables, "block") == [("high/0", 1), ("low/0", 1), ("other/0", 2), ("low/1", 3)]


def test_every_row_is_accepted_counted_or_rejected() -> None:
    original = endpoint_event(conversation="c")
    next_day = original | {"event_time": at(day=1)}
    one, other = (endpoint_event(conversation="d", contract=name) for name in ("one", "other"))
    invalid = endpoint_event(conversation="e", contract=None, is_initiator=False)
    result = accept(
        [
            {"endpoint_events": [original, dict(original), one, other]},
            {"endpoint_events": [original | {"contract": "Other"}, next_day, dict(original), invalid]},
            {"endpoint_events": [dict(one), {"event_id": "f", "event_type": "END"}]},
        ]
    )
    assert result.events["endpoint_events"] == [original, next_day, one]
    assert result.duplicates == {"endpoint_events": 2, "message_events": 0, "queue_events": 0}
    assert [
        (str(event_id).split()[-2:-1] or event_id, reason) for _, event_id, reason, _ in result.rejected
    ] == [
        (["d"], "conflicting_duplicate"),
        (["d"], "conflicting_duplicate"),
        (["e"], "missing_contract"),
        (["e"], "initiator_flag_contradicts_type"),
        (["c"], "conflicting_duplicate"),
        *[("f", f"missing_{name}") for name in ("event_time", "instance", "database", "conversation_id")],
        ("f", "missing_is_initiator"),
        ("f", "unknown_event_type"),
    ]
