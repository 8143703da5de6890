"""Examples derived by hand from the documented rules; they show that the model means what it says."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.model import accept, simulate

Row = dict[str, Any]

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CATALOG: Row = {
    "instances": [
        {
            "name": "SQL1",
            "databases": [
                {
                    "name": "A",
                    "honor_broker_priority": "on",
                    "queues": [{"name": "InitiatorQueue"}],
                    "services": [{"name": "Initiator", "queue": "InitiatorQueue"}],
                },
                {
                    "name": "B",
                    "queues": [{"name": "TargetQueue"}],
                    "services": [{"name": "Target", "queue": "TargetQueue"}],
                },
            ],
        }
    ]
}


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


def begin(conversation: str, *, minute: int = 0, **changes: Any) -> Row:
    return {
        "event_id": f"begin {conversation}",
        "event_time": at(minute),
        "instance": "SQL1",
        "database": "A",
        "event_type": "BEGIN_DIALOG",
        "conversation_id": conversation,
        "is_initiator": True,
        "conversation_group_id": f"group of {conversation}",
        "contract": "Simple",
        "local_service": "Initiator",
        "remote_service": "Target",
        **changes,
    }


def created(conversation: str, *, minute: int = 0, **changes: Any) -> Row:
    target = {
        "event_id": f"created {conversation}",
        "database": "B",
        "event_type": "DIALOG_CREATED",
        "is_initiator": False,
        "local_service": "Target",
        "remote_service": "Initiator",
    }
    return begin(conversation, minute=minute, **{**target, **changes})


def message(event_type: str, message_id: str, *, minute: int, **changes: Any) -> Row:
    """An event of message <conversation>/<sequence number> of the initiator."""
    conversation, number = message_id.split("/")
    return {
        "event_id": f"{event_type} {message_id}",
        "event_time": at(minute),
        "instance": "SQL1",
        "database": "A" if event_type == "SENT" else "B",
        "event_type": event_type,
        "message_id": message_id,
        "conversation_id": conversation,
        "sent_by_initiator": True,
        "message_sequence_number": int(number),
        "message_type": "Order",
        **changes,
    }


def queue(event_type: str, *, minute: int, **changes: Any) -> Row:
    return {
        "event_id": f"{event_type} {minute}",
        "event_time": at(minute),
        "instance": "SQL1",
        "database": "B",
        "queue": "TargetQueue",
        "event_type": event_type,
        **changes,
    }


def create_rule(name: str, level: int, *, database: str, minute: int = -60, **criteria: Any) -> Row:
    return {
        "effective_from": at(minute),
        "instance": "SQL1",
        "database": database,
        "create": {"name": name, "level": level, **criteria},
    }


def by_contract(*levels: int) -> list[Row]:
    """Rules of the target database: contract C9 has level 9, and so on."""
    return [create_rule(f"R{level}", level, database="B", contract=f"C{level}") for level in levels]


def run(*events: Row, minute: int = 60, **settings: Any) -> dict[str, list[Row]]:
    sources: dict[str, list[Row]] = {"endpoint_events": [], "message_events": [], "queue_events": []}
    for event in events:
        if "queue" in event:
            sources["queue_events"].append(event)
        else:
            sources["message_events" if "message_id" in event else "endpoint_events"].append(event)
    return simulate(sources, **{"catalog": CATALOG, "rules": [], "as_of": at(minute), **settings})


def received(tables: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
    """(receive_number, group_priority, message_id) in order."""
    rows = sorted(tables["receive_schedule"], key=lambda row: row["position"])
    return [(row["receive_number"], row["group_priority"], row["message_id"]) for row in rows]


def transmitted(tables: dict[str, list[Row]], *columns: str) -> list[tuple[Any, ...]]:
    rows = sorted(tables["transmission_schedule"], key=lambda row: row["position"])
    return [tuple(row[column] for column in ("message_id", *columns)) for row in rows]


def test_two_ends_of_one_conversation_have_their_own_priorities() -> None:
    rules = [
        create_rule("High", 10, database="A", contract="Simple"),
        create_rule("Low", 1, database="B", contract="Simple"),
    ]
    tables = run(begin("c"), created("c", minute=1), rules=rules)
    assert [(row["is_initiator"], row["priority"], row["rule_name"]) for row in tables["endpoints"]] == [
        (True, 10, "High"),
        (False, 1, "Low"),
    ]


@pytest.mark.parametrize(
    ("criteria", "step"),
    [
        pytest.param(("Simple", "Initiator", "Target"), 1, id="all"),
        pytest.param(("Simple", "Initiator", "ANY"), 2, id="contract and local"),
        pytest.param(("Simple", "ANY", "Target"), 3, id="contract and remote"),
        pytest.param(("Simple", "ANY", "ANY"), 4, id="contract"),
        pytest.param(("ANY", "Initiator", "Target"), 5, id="local and remote"),
        pytest.param(("ANY", "Initiator", "ANY"), 6, id="local"),
        pytest.param(("ANY", "ANY", "Target"), 7, id="remote"),
        pytest.param(("ANY", "ANY", "ANY"), 8, id="none"),
        pytest.param(({"name": "ANY"}, "ANY", "ANY"), None, id="a contract really named ANY"),
        pytest.param(("simple", "ANY", "ANY"), None, id="other case"),
        pytest.param(("Simple ", "ANY", "ANY"), None, id="trailing blank"),
    ],
)
def test_ladder_step(criteria: tuple[Any, Any, Any], step: int | None) -> None:
    names = dict(zip(("contract", "local_service", "remote_service"), criteria, strict=True))
    (endpoint,) = run(begin("c"), rules=[create_rule("R", 7, database="A", **names)])["endpoints"]
    assert (endpoint["ladder_step"], endpoint["priority"]) == (step, 7 if step else 5)


def test_rule_in_force_at_the_moment_of_creation_decides() -> None:
    #   minute  0         10        20
    #   rule    [--- 3 ---[--- 8 ---) dropped
    place = {"instance": "SQL1", "database": "A"}
    rules = [
        create_rule("R", 3, database="A", minute=0, contract="Simple"),
        {"effective_from": at(10), **place, "alter": {"name": "R", "level": 8}},
        {"effective_from": at(20), **place, "drop": {"name": "R"}},
    ]
    tables = run(*(begin(f"at {minute}", minute=minute) for minute in (-1, 0, 9, 10, 20)), rules=rules)
    assert [row["priority"] for row in tables["endpoints"]] == [5, 3, 3, 8, 5]
    assert [(row["contract"], row["level"], row["valid_to"]) for row in tables["priority_rules"]] == [
        ("Simple", 3, at(10)),
        ("Simple", 8, at(20)),
    ]


def test_rule_versions_of_no_length_leave_no_row() -> None:
    rules = [
        create_rule("R", 3, database="A", minute=0),
        {"effective_from": at(0), "instance": "SQL1", "database": "A", "alter": {"name": "R", "level": 8}},
    ]
    assert [row["level"] for row in run(rules=rules)["priority_rules"]] == [8]


def test_target_endpoint_is_inferred_from_the_first_arrival() -> None:
    tables = run(
        begin("c"),
        message("SENT", "c/0", minute=1),
        message("RECEIVED", "c/1", minute=3),
        message("DELIVERED", "c/0", minute=4),
    )
    target = tables["endpoints"][1]
    assert (target["created_at"], target["database"], target["queue"]) == (at(3), "B", "TargetQueue")
    assert (target["local_service"], target["remote_service"]) == ("Target", "Initiator")
    assert (target["conversation_group_id"], target["conversation_handle"]) == ("c", None)


def test_earlier_of_logged_and_inferred_creation_counts_and_the_log_says_the_rest() -> None:
    tables = run(begin("c"), message("DELIVERED", "c/0", minute=3), created("c", minute=5))
    target = tables["endpoints"][1]
    assert (target["created_at"], target["conversation_group_id"]) == (at(3), "group of c")


def test_target_is_not_inferred_without_the_initiator() -> None:
    tables = run(message("DELIVERED", "c/0", minute=3))
    assert tables["endpoints"] == []
    assert [(row["kind"], row["reason"]) for row in tables["unresolved"]] == [("receive", "endpoint_unknown")]


def test_group_priority_falls_when_its_high_conversation_is_drained() -> None:
    """One group holds conversations of 9 and 2, the other one of 5; a RECEIVE takes one message."""
    events = [
        created("nine", contract="C9", conversation_group_id="mixed"),
        created("two", contract="C2", conversation_group_id="mixed"),
        created("five", contract="C5"),
        message("DELIVERED", "two/0", minute=1),
        message("DELIVERED", "five/0", minute=2),
        message("DELIVERED", "nine/0", minute=3),
    ]
    one_by_one = run(*events, rules=by_contract(9, 5, 2), top=1)
    assert received(one_by_one) == [(1, 9, "nine/0"), (2, 5, "five/0"), (3, 2, "two/0")]
    whole_groups = run(*events, rules=by_contract(9, 5, 2))
    assert received(whole_groups) == [(1, 9, "nine/0"), (1, 9, "two/0"), (2, 5, "five/0")]


def test_top_1_interleaves_groups_of_one_priority_by_what_is_left() -> None:
    events = [created("a"), created("b")]
    for minute, message_id in enumerate(("a/0", "b/0", "b/1", "a/1"), start=1):
        events.append(message("DELIVERED", message_id, minute=minute))
    assert [row[2] for row in received(run(*events, top=1))] == ["a/0", "b/0", "b/1", "a/1"]
    assert [row[2] for row in received(run(*events, top=2))] == ["a/0", "a/1", "b/0", "b/1"]


def test_order_within_a_conversation() -> None:
    system = "http://schemas.microsoft.com/SQL/ServiceBroker/"
    tables = run(
        created("c"),
        message("DELIVERED", "c/1", minute=1),
        message("DELIVERED", "c/0", minute=2),
        message("DELIVERED", "c/7", minute=3, message_sequence_number=None),
        message("DELIVERED", "c/8", minute=4, message_type=system + "Error"),
        message("DELIVERED", "c/9", minute=5, message_type=system + "DialogTimer"),
        message("DELIVERED", "c/2", minute=6, message_type=system + "EndDialog"),
    )
    assert [row[2] for row in received(tables)] == ["c/9", "c/8", "c/0", "c/1", "c/2", "c/7"]


def test_equal_arrival_times_are_ordered_by_queuing_order_then_message_id() -> None:
    tables = run(
        *(created(conversation) for conversation in "abcd"),
        message("DELIVERED", "a/0", minute=1),
        message("DELIVERED", "b/0", minute=1, queuing_order=8),
        message("DELIVERED", "c/0", minute=1, queuing_order=7),
        message("DELIVERED", "d/0", minute=1),
    )
    assert [row[2] for row in received(tables)] == ["c/0", "b/0", "a/0", "d/0"]


@pytest.mark.parametrize(
    ("ends", "in_queue"),
    [
        pytest.param([], "group_locked", id="open"),
        pytest.param(["COMMIT"], None, id="committed"),
        pytest.param(["ROLLBACK"], "ready", id="rolled back"),
        pytest.param(["ROLLBACK", "COMMIT"], None, id="both: commit counts"),
    ],
)
def test_transactions(ends: list[str], in_queue: str | None) -> None:
    """The first message is received in a transaction, the second of its group is still there."""
    tables = run(
        created("c"),
        message("DELIVERED", "c/0", minute=1),
        message("DELIVERED", "c/1", minute=2),
        message("RECEIVED", "c/0", minute=3, transaction_id="t"),
        queue("WAIT_STARTED", minute=0),
        *(queue(end, minute=4, transaction_id="t") for end in ends),
    )
    states = {row["message_id"]: row["state"] for row in tables["receive_schedule"]}
    assert states.get("c/0") == ("ready" if in_queue == "ready" else None)
    assert states["c/1"] == (in_queue or "ready")


def test_without_queue_events_a_receive_counts_as_committed() -> None:
    tables = run(
        created("c"),
        message("DELIVERED", "c/0", minute=1),
        message("DELIVERED", "c/1", minute=2),
        message("RECEIVED", "c/0", minute=3, transaction_id="t"),
    )
    assert received(tables) == [(1, 5, "c/1")]


def test_queue_that_is_off_goes_before_a_locked_group() -> None:
    lock = queue("GET_CONVERSATION_GROUP", minute=2, transaction_id="t", conversation_group_id="group of c")
    events = [created("c"), message("DELIVERED", "c/0", minute=1), lock]
    off = queue("QUEUE_ALTERED", minute=3, queue_status="OFF")
    (locked_row,) = run(*events)["receive_schedule"]
    (off_row,) = run(*events, off)["receive_schedule"]
    assert (locked_row["state"], off_row["state"]) == ("group_locked", "queue_off")
    assert (off_row["position"], off_row["receive_number"], off_row["group_priority"]) == (None, None, 5)


def test_what_happens_at_as_of_has_not_happened() -> None:
    events = [created("c"), message("DELIVERED", "c/0", minute=5)]
    assert run(*events, minute=5)["receive_schedule"] == []
    assert len(run(*events, minute=6)["receive_schedule"]) == 1


def test_move_takes_the_messages_along_but_not_before_as_of() -> None:
    move = created(
        "c", minute=5, event_id="move", event_type="MOVE_CONVERSATION", conversation_group_id="new"
    )
    events = [created("c"), move, message("DELIVERED", "c/0", minute=1)]
    before, after = run(*events, minute=5), run(*events, minute=6)
    groups = [tables["receive_schedule"][0]["conversation_group_id"] for tables in (before, after)]
    assert groups == ["group of c", "new"]
    assert [tables["endpoints"][0]["conversation_group_id"] for tables in (before, after)] == ["new", "new"]


@pytest.mark.parametrize(
    ("end", "waiting"),
    [
        pytest.param("END_CONVERSATION", ["c/0", "c/1"], id="plain"),
        pytest.param("END_CONVERSATION_WITH_ERROR", ["c/1"], id="with error"),
        pytest.param("END_CONVERSATION_WITH_CLEANUP", [], id="with cleanup"),
    ],
)
def test_what_an_end_drops_of_the_senders_messages(end: str, waiting: list[str]) -> None:
    tables = run(
        begin("c"),
        message("SENT", "c/0", minute=1),
        message("SENT", "c/1", minute=1, message_type="x/ServiceBroker/Error"),
        begin("c", minute=2, event_id="end", event_type=end),
    )
    assert [row[0] for row in transmitted(tables)] == waiting


def test_only_an_honoring_database_transmits_by_priority() -> None:
    #   A honors, B does not; both on SQL1, so their messages share one order.
    rules = [create_rule("A", 9, database="A"), create_rule("B", 10, database="B")]
    reply = {"sent_by_initiator": False, "database": "B"}
    tables = run(
        begin("c"),
        created("c"),
        message("SENT", "c/7", minute=1, **reply),
        message("SENT", "c/0", minute=2),
        rules=rules,
    )
    assert transmitted(tables, "priority", "transmit_priority") == [("c/0", 9, 9), ("c/7", 10, 5)]


def test_message_to_a_queue_that_is_off_is_held_by_the_queues_database() -> None:
    tables = run(
        begin("c"),
        created("c"),
        message("SENT", "c/0", minute=1),
        queue("QUEUE_ALTERED", minute=0, queue_status="OFF"),
        rules=[create_rule("A", 9, database="A")],
    )
    assert transmitted(tables, "database", "priority", "transmit_priority") == [("c/0", "B", 9, 5)]


def test_conversation_never_overtakes_itself() -> None:
    tables = run(
        begin("c"),
        begin("d"),
        message("SENT", "c/0", minute=5),
        message("SENT", "c/1", minute=1),
        message("SENT", "d/0", minute=3),
    )
    assert transmitted(tables, "sendable_at") == [("d/0", at(3)), ("c/0", at(5)), ("c/1", at(5))]


def test_forwarded_messages_have_priority_5_and_end_with_forwarded() -> None:
    """A hub accepts two messages of an unknown sender, and passes one on."""
    hub = {"instance": "HUB", "database": "master"}
    tables = run(
        message("FORWARD_ACCEPTED", "c/0", minute=1, **hub),
        message("FORWARD_ACCEPTED", "c/1", minute=2, **hub),
        message("FORWARDED", "c/0", minute=3, **hub),
    )
    columns = ("instance", "database", "forwarded", "priority", "transmit_priority", "from_service")
    assert transmitted(tables, *columns) == [("c/1", "HUB", "master", True, None, 5, None)]


def test_contract_and_services_are_the_holding_endpoints() -> None:
    """Each side has a contract of its own; of d only the receiving one is known, of e none."""
    hub = {"instance": "HUB", "database": "master"}
    tables = run(
        begin("c", contract="of the initiator"),
        created("c", contract="of the target"),
        message("DELIVERED", "c/0", minute=1),
        message("SENT", "c/1", minute=1),
        created("d", contract="of the target"),
        *[message("FORWARD_ACCEPTED", name, minute=2, **hub) for name in ("c/1", "d/0", "e/0")],
    )
    services = ("contract", "local_service", "remote_service")
    assert [[row[name] for name in services] for row in tables["receive_schedule"]] == [
        ["of the target", "Target", "Initiator"]
    ]
    assert transmitted(tables, "instance", "contract") == [
        ("c/1", "HUB", "of the initiator"),
        ("c/1", "SQL1", "of the initiator"),
        ("d/0", "HUB", "of the target"),
        ("e/0", "HUB", None),
    ]


def test_starvation_prevention_raises_by_full_periods_to_10() -> None:
    tables = run(
        begin("c"),
        begin("d"),
        message("SENT", "c/0", minute=1),
        message("SENT", "d/0", minute=31),
        rules=[create_rule("A", 6, database="A")],
        starvation={"after_seconds": 15 * 60, "raise_by": 2},
    )
    assert transmitted(tables, "transmit_priority", "elevated") == [("c/0", 10, True), ("d/0", 8, True)]


def test_tail_of_a_block_overtakes_a_higher_priority_for_another_destination() -> None:
    #   order of fragments   high/0 (B)  other/0 (nowhere)  low/0 low/0 low/0 (B)
    #   blocks of 3          [high low low] [other] [low]
    rules = [
        create_rule("High", 9, database="A", contract="C9"),
        create_rule("Other", 8, database="A", contract="C8"),
    ]
    tables = run(
        begin("high", contract="C9"),
        begin("other", contract="C8", remote_service="Unknown"),
        begin("low"),
        message("SENT", "high/0", minute=1),
        message("SENT", "other/0", minute=1),
        message("SENT", "low/0", minute=1, size_bytes=200),
        message("SENT", "low/1", minute=1, size_bytes=101),
        rules=rules,
        blocks={"fragment_bytes": 100, "fragments": 3},
    )
    assert transmitted(tables, "block") == [("high/0", 1), ("low/0", 1), ("other/0", 2), ("low/1", 3)]


def test_every_row_is_accepted_counted_or_rejected() -> None:
    original, changed = begin("c"), begin("c", contract="Other")
    next_day = begin("c", minute=24 * 60)
    twice_in_a_batch = [begin("d"), begin("d", contract="Other")]
    invalid = begin("e", contract=None, is_initiator=False)
    result = accept(
        [
            {"endpoint_events": [original, dict(original), *twice_in_a_batch]},
            {"endpoint_events": [changed, next_day, dict(original), invalid]},
            {"endpoint_events": [dict(twice_in_a_batch[0]), {"event_id": "f", "event_type": "END"}]},
        ]
    )
    assert result.events["endpoint_events"] == [original, next_day, twice_in_a_batch[0]]
    assert result.duplicates == {"endpoint_events": 2, "message_events": 0, "queue_events": 0}
    assert [(event_id, reason) for _, event_id, reason, _ in result.rejected] == [
        ("begin d", "conflicting_duplicate"),
        ("begin d", "conflicting_duplicate"),
        ("begin e", "missing_contract"),
        ("begin e", "initiator_flag_contradicts_type"),
        ("begin c", "conflicting_duplicate"),
        ("f", "missing_event_time"),
        ("f", "missing_instance"),
        ("f", "missing_database"),
        ("f", "missing_conversation_id"),
        ("f", "missing_is_initiator"),
        ("f", "unknown_event_type"),
    ]
