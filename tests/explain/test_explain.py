"""Explanations from a warehouse of a few rows: conversations, messages, groups, and unknown ids."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import PipelineError
from pipelines.console.invocation import command_line
from pipelines.console.terminal import to_json
from pipelines.explain.endpoint import Outcome
from pipelines.explain.explanations import Message, explain_conversation, explain_group, explain_message
from pipelines.explain.positions import AheadCount, describe_transmit_level
from pipelines.explain.view import print_explanation
from pipelines.storage.warehouse import Warehouse
from schemas.reading import as_of_key
from tests.support import written
from tests.support.factories import Row, at, endpoint_event, message_event, rule
from tests.support.rules import catalog
from tests.support.why_scenes.scene import events
from tests.support.written import batch, ended_run, warehouse_of

AS_OF = at(60)
HONORS = {("SQL1", "A"): True, ("SQL1", "B"): False}
YESTERDAY, TOMORROW = at(60, day=-1), at(60, day=1)
CLOSED = {"closed_on": AS_OF.date()}
GUID, GROUP_GUID = "CC000000-0000-4000-8000-00000000000A", "E2000000-0000-4000-8000-00000000000B"
HANDLES = [f"BB000000-0000-4000-8000-00000000000{side}" for side in "CD"]


def endpoint(conversation: str, is_initiator: bool, priority: int, **changes: Any) -> Row:
    """An endpoint whose group is called after its conversation."""
    group = f"group {conversation}"
    return written.endpoint(
        conversation, is_initiator, priority=priority, conversation_group_id=group, **changes
    )


def of_server(conversation: str, is_initiator: bool, level: int, created_by: str, **changes: Any) -> Row:
    """An endpoint of SQL5 whose level a snapshot shows."""
    shown = {"level_source": "server", "logged_priority": level, "created_by": created_by}
    return endpoint(conversation, is_initiator, level, instance="SQL5", **shown, **changes)


def ended(conversation: str, event_type: str = "END_CONVERSATION", **changes: Any) -> Row:
    """An end of the initiator endpoint."""
    return endpoint_event(event_type, conversation, **{"event_time": at(30), **changes})


def received(message_id: str, position: int | None, level: int, conversation: str, **changes: Any) -> Row:
    """A message in TargetQueue, of a group that has its level."""
    return written.received(
        changes.pop("queue", "TargetQueue"),
        position,
        **{
            "database": "B",
            "message_id": message_id,
            "conversation_group_id": f"group {conversation}",
            "group_priority": level,
            "conversation_id": conversation,
            "priority": level,
            "state": "ready" if position else "queue_off",
            **changes,
        },
    )


def locked(message_id: str, conversation: str, minute: float, order: int | None, level: int = 3) -> Row:
    """A message of the locked group of c4."""
    group = {"queue": "Locked", "conversation_group_id": "group c4", "state": "group_locked"}
    arrival = {"arrived_at": at(minute), "queuing_order": order}
    return received(message_id, None, level, conversation, **group, **arrival)


def sent(message_id: str, position: int, counts: int, **changes: Any) -> Row:
    levels = {"priority": counts, "transmit_priority": counts}
    return written.sent(position, **{"message_id": message_id, "conversation_id": "c1", **levels, **changes})


def group(conversation: str, position: int | None, level: int, **changes: Any) -> Row:
    own = {"conversation_group_id": f"group {conversation}", "deciding_conversation_id": conversation}
    place = {"database": "B", "position": position, "priority": level}
    return written.group(changes.pop("queue", "TargetQueue"), **{**own, **place, **changes})


@pytest.fixture(scope="module")
def warehouse(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    target = {"rule_name": "Target", "ladder_step": 2}
    of_target = {"database": "B", "contract": "Contract", "local_service": "TargetService"}
    rows: dict[str, list[Row]] = {
        "endpoints": [
            endpoint("c1", True, 5),
            endpoint("c1", False, 3, **target),
            endpoint("c2", True, 5, **CLOSED),
            endpoint("c3", False, 3, queue="Renamed"),
            endpoint("near", True, 5, instance="SQL4"),
            endpoint("near and ended", True, 5, instance="SQL4", contract="Contracts", **CLOSED),
            of_server("s1", True, 8, "snapshot"),
            of_server("s1", False, 3, "lifetime", **target),
            of_server("s2", False, 4, "lifetime", **target),
            *[
                written.endpoint(GUID, is_initiator=side, conversation_handle=handle)
                for side, handle in zip((True, False), HANDLES, strict=True)
            ],
            *[written.endpoint(name, conversation_handle="h") for name in ("c8", "c9")],
        ],
        "message_events": [
            *events(
                """sent c1/4, ready c1/4 2, sent c1/5, forward c1/5 2 instance=SQL9,
                sent c1/8, ready c1/8 2, received c1/8 open 5,
                sent c1/9, ready c1/9 2, received c1/9 undone 6, received c1/9 - 8,
                sent c1/10, ready c1/10 2, received c1/10 undone 6,
                sent c1/11 60, sent c2/0, sent c3/0, ready c3/0 2,
                sent c1/12, ready c1/12 2, forward c1/12 1.5 instance=SQL9,
                forward f/1 1 instance=SQL9, forward f/2 60 instance=SQL9,
                sent left/0, sent read/0, ready read/0 2, sent plain/0, sent error/0,
                sent error/1 message_type=x/ServiceBroker/Error, sent error/2, ready error/2 2,
                sent cleanup/0 message_type=x/ServiceBroker/Error, sent later/0"""
            ),
            *[
                row | CLOSED
                for row in events(
                    """sent c1/6, ready c1/6 2, received c1/6 done 3,
                    sent c1/7, ready c1/7 2, received c1/7 - 4"""
                )
            ],
            message_event("FORWARDED", "f/1", instance="SQL9", event_time=at(2)),
            message_event("LEFT", "left/0", event_time=at(40), seen_at=at(41), inferred=True),
            # No server logs this: of one message two conversations, once the earlier one first.
            message_event("SENT", "torn/0", conversation_id="c1"),
            message_event("FORWARD_ACCEPTED", "torn/0", conversation_id="c2", event_time=at(2)),
            message_event("FORWARD_ACCEPTED", "torn/1", conversation_id="c2", event_time=at(2)),
            message_event("SENT", "torn/1", conversation_id="c1"),
            message_event("SENT", f"{GUID}/0", message_id=f"{GUID}/initiator/0"),
        ],
        "endpoint_events": [
            ended("read", is_initiator=False, **CLOSED),
            ended("read", is_initiator=False, **CLOSED, event_time=at(40), event_id="again"),
            ended("plain"),
            ended("error", "END_CONVERSATION_WITH_ERROR"),
            ended("cleanup", "END_CONVERSATION_WITH_CLEANUP", seen_at=at(31)),
            ended("later", is_initiator=False, event_time=AS_OF),
        ],
        "runs": [ended_run("r", AS_OF, last_batch=1)],
        "batches": [batch(1)],
        "queue_events": events(
            """QUEUE_ALTERED 20 status=OFF, QUEUE_ALTERED 25 status=ON, COMMIT 3.5 transaction=done,
            COMMIT 61 transaction=open, ROLLBACK 7 transaction=undone"""
        ),
        "priority_rules": [
            rule("Target", 3, **of_target),
            rule("Slip", 9, contract="Contract", local_service="InitiatorSerivce"),
            rule("Elsewhere", 9, database="C", contract="Contract", local_service="InitiatorService"),
            rule("Ended", 9, instance="SQL4", contract="Contracts"),
            rule("Blank", 8, instance="SQL4", contract="Con tract"),
            rule("Letter", 7, instance="SQL4", contract="Kontract"),
            rule("InCatalog", 6, instance="SQL4", remote_service="TargetServices"),
            rule("NotThere", 5, instance="SQL4", remote_service="TargetServise"),
            rule("Target", 3, instance="SQL5", **of_target, valid_from=AS_OF),
        ],
        "group_priorities": [
            group("c8", 1, 9),
            group("c9", 2, 3),
            group("c1", 3, 3, messages=2, conversations=2),
            group("c3", 4, 3),
            group("c4", None, 3, queue="Locked", state="group_locked", deciding_conversation_id="c5"),
            group(GUID, 1, 5, queue="OtherQueue", conversation_group_id=GROUP_GUID),
        ],
        "receive_schedule": [
            received("x", 1, 9, "c8"),
            received("y", 2, 3, "c9"),
            received("z", 3, 3, "c9"),
            received("c1/4", 4, 3, "c1"),
            received("w", 5, 2, "c7", conversation_group_id="group c1"),
            received("c3/0", 6, 3, "c3"),
            received("c1/12", None, 3, "c1", queue="OtherQueue"),
            received("c1/4", 1, 3, "c1", as_of=YESTERDAY, as_of_key=as_of_key(YESTERDAY)),
            received("other", 1, 10, "c1", queue="OtherQueue"),
            received("guid", 2, 5, GUID, queue="OtherQueue", conversation_group_id=GROUP_GUID),
            locked("a", "c1", 2, None),
            locked("A", "c2", 2, None),
            locked("b", "c3", 2, 10),
            locked("c", "c4", 2, 9),
            locked("d", "c5", 1, 11),
            # The oldest message of a conversation counts; a lower level comes last however old.
            locked("e", "c3", 3, 1),
            locked("f", "c0", 0, None, level=2),
        ],
        "transmission_schedule": [
            sent("a", 1, 10),
            sent("c1/5", 2, 5, database="B", priority=8),
            sent("c1/5", 1, 5, instance="SQL9", database="Z", priority=None, forwarded=True),
            sent("c1/12", 2, 5, instance="SQL9", database="Z", priority=None, forwarded=True),
            sent("raised", 3, 7, priority=2, elevated=True),
        ],
        "unresolved": [
            {
                **{"as_of": AS_OF, "as_of_key": as_of_key(AS_OF), "kind": "receive", "id": "c2/0"},
                "reason": "endpoint_unknown",
            }
        ],
    }
    return warehouse_of(session, tmp_path_factory.mktemp("explain"), rows)


def of_message(warehouse: Warehouse, message_id: str) -> Message:
    return explain_message(warehouse, message_id, as_of=AS_OF, honors=HONORS)


def test_a_conversation(warehouse: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    found = explain_conversation(warehouse, "c1", as_of=AS_OF)
    initiator, target = found.endpoints
    shown = (initiator.is_initiator, initiator.created_at, initiator.given)
    assert shown == (True, at(0), Outcome(5, None, None))
    assert [miss.asks_for for miss in initiator.steps[1].near_misses] == ["InitiatorSerivce"]
    assert target.given == target.by_present_rules == Outcome(3, "Target", 2)
    [own] = [one for one in found.groups if one.queue == "TargetQueue"]
    assert (own.priority, own.position, own.ahead) == (3, 3, (AheadCount(9, 1), AheadCount(3, 1)))
    assert [(one.conversation_id, one.priority, one.messages, one.decides) for one in own.listed] == [
        ("c1", 3, 1, True),
        ("c7", 2, 1, False),
    ]
    print_explanation(found, AS_OF)
    said = capsys.readouterr().out
    assert (
        "Target endpoint in SQL1.B, created 2026-11-20T12:00:00Z, not known to have ended: level 3 by "
        "Target at step 2" in said
    )
    assert "Slip (level 9) asks for the local service InitiatorSerivce" in said
    assert "Ahead of it: 2 groups, 1 at level 9, 1 at level 3." in said
    off = "the queue was off from 2026-11-20T12:20:00Z to 2026-11-20T12:25:00Z"
    assert f"While its messages waited, {off}." in said
    printed = json.loads(to_json(asdict(found)))
    assert printed["endpoints"][1]["steps"][1]["rule"]["rule_name"] == "Target"
    assert printed["as_of"] == "2026-11-20T13:00:00Z"


def test_a_name_in_use_is_no_near_miss(warehouse: Warehouse) -> None:
    """In use by an endpoint that has ended, or as a service of the catalog."""
    services = catalog({("SQL1", "C"): ["TargetServices"]})
    [explained] = explain_conversation(warehouse, "near", as_of=AS_OF, catalog=services).endpoints
    near = [miss.rule_name for step in explained.steps for miss in step.near_misses]
    assert near == ["Blank", "Letter", "NotThere"]


def test_endpoints_whose_level_is_the_servers(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explain_conversation(warehouse, "s1", as_of=AS_OF)
    print_explanation(found, AS_OF)
    said = capsys.readouterr().out
    assert (
        "created 2026-11-20T12:00:00Z or before, not known to have ended: level 8, the server's own; no rule "
        "gives the endpoint this level today"
    ) in said
    assert (
        "created 2026-11-20T12:00:00Z as its lifetime says, not known to have ended: level 3, the server's "
        "own; which rule gave it is not known (3: Target, if it was there then)"
    ) in said
    assert said.count("Its creation is not logged, a snapshot shows its level.") == 2
    assert "Target, level 3: would" in said
    assert "reassign" not in said
    assert "default" not in said
    shown = [(one.level_source, one.created_by) for one in found.endpoints]
    assert shown == [("server", "snapshot"), ("server", "lifetime")]
    print_explanation(explain_conversation(warehouse, "s2", as_of=AS_OF), AS_OF)
    assert "level 4, the server's own; no rule gives the endpoint this level today" in capsys.readouterr().out


def test_a_message_in_a_queue(warehouse: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    found = of_message(warehouse, "c1/4")
    assert found.receive is not None
    assert (found.receive.position, found.receive.receive_number, found.receive.group_priority) == (4, 4, 3)
    assert found.receive.ahead == (AheadCount(9, 1), AheadCount(3, 2))
    assert found.group is not None
    assert found.group.position == 3
    assert (found.message_sequence_number, found.arrived_at, found.transmissions) == (4, at(2), ())
    print_explanation(found, AS_OF)
    said = capsys.readouterr().out
    assert "2 ready messages of 2 conversations" in said
    assert "It is received with RECEIVE number 4 of TargetQueue." in said
    assert "Receive: position 4 of SQL1.B.TargetQueue, RECEIVE number 4, of a group with level 3 then" in said
    assert "Ahead of it: 3 messages, 1 at level 9, 2 at level 3." in said


def test_a_message_that_waits_and_is_forwarded(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    found = of_message(warehouse, "c1/5")
    own, forwarded = found.transmissions
    levels = (own.priority, own.transmit_priority)
    assert (own.instance, levels, own.ahead) == ("SQL1", (8, 5), (AheadCount(10, 1),))
    assert own.reason == "B has HONOR_BROKER_PRIORITY off, so it is sent at 5"
    assert (forwarded.instance, forwarded.reason) == ("SQL9", "forwarded messages are always sent at 5")
    print_explanation(found, AS_OF)
    assert "level 8 is shown, 5 counts: B has HONOR_BROKER_PRIORITY off" in capsys.readouterr().out


OTHER = "the catalog was another one when it was scheduled: A had HONOR_BROKER_PRIORITY"
RAISED = "starvation prevention raised that, for it has waited long"
OFF = "A has HONOR_BROKER_PRIORITY off, so it is sent at 5"


@pytest.mark.parametrize(
    ("priority", "counts", "elevated", "honors", "reason"),
    [
        (7, 7, False, True, "A honors priorities, so the sending endpoint's level counts"),
        (7, 5, False, False, OFF),
        (7, 7, False, False, f"{OTHER} on then, and has it off now"),
        (7, 5, False, True, f"{OTHER} off then, and has it on now"),
        (2, 4, True, False, f"{OTHER} on then, and has it off now; {RAISED}"),
        (7, 6, True, True, f"{OTHER} off then, and has it on now; {RAISED}"),
        (7, 6, True, False, f"{OFF}; {RAISED}"),
        (7, 7, False, None, "whether A honors priorities is not known; the level counts if it does"),
        (7, 5, False, None, f"{OTHER} off then, and that is not known now"),
    ],
)
def test_why_a_level_counts_for_sending(
    priority: int, counts: int, elevated: bool, honors: bool | None, reason: str
) -> None:
    row = sent("m", 1, counts, priority=priority, elevated=elevated)
    assert describe_transmit_level(row, honors) == reason


DROPPED = "an end of its conversation dropped it"
HALF_PAST = "2026-11-20T12:30:00Z"
UNKNOWN = "the events that are known don't say why."
LATER = "its first event, at 2026-11-20T13:00:00Z, is not before as_of."
STATES = {
    "c1/6": "it was received at 2026-11-20T12:03:00Z.",
    "c1/7": "it was received at 2026-11-20T12:04:00Z.",  # at once
    "c1/8": "a RECEIVE took it at 2026-11-20T12:05:00Z, in a transaction of which no end before as_of is "
    "known.",
    "c1/9": "it was received at 2026-11-20T12:08:00Z.",  # again
    "c1/10": UNKNOWN,  # it was given back
    "c1/11": LATER,
    "f/1": "SQL9 passed it on at 2026-11-20T12:02:00Z, and neither its SENT nor its arrival before as_of is "
    "known.",
    "f/2": LATER,
    "left/0": "it is gone between 2026-11-20T12:01:00Z and 2026-11-20T12:41:00Z: sent, or dropped by an end "
    "of its conversation; which of the two is not known.",
    "read/0": f"{DROPPED}: END_CONVERSATION of its receiver at {HALF_PAST}.",
    "plain/0": UNKNOWN,  # a plain end of the sender drops nothing
    "error/0": f"{DROPPED}: END_CONVERSATION_WITH_ERROR of its sender at {HALF_PAST}.",
    "error/1": UNKNOWN,  # its own Error message survives
    "error/2": UNKNOWN,  # and what was delivered
    "cleanup/0": f"{DROPPED}: END_CONVERSATION_WITH_CLEANUP of its sender at {HALF_PAST}, by a snapshot.",
    "later/0": UNKNOWN,  # an end after as_of
}


@pytest.mark.slow
def test_messages_without_a_place(warehouse: Warehouse) -> None:
    found = {id: of_message(warehouse, id).state for id in STATES}
    assert found == {id: f"It is in no schedule: {state}" for id, state in STATES.items()}
    said = "no input shows the creation of the endpoint before as_of (endpoint_unknown)."
    assert of_message(warehouse, "c2/0").state == f"It is open, and not matched to a queue: {said}"


def test_the_earliest_event_says_of_which_conversation_a_message_is(warehouse: Warehouse) -> None:
    for message_id in ("torn/0", "torn/1"):
        found = of_message(warehouse, message_id)
        assert found.conversation_id == "c1"
        assert [one.is_initiator for one in found.endpoints] == [True, False]


def test_messages_that_came_in_after_the_as_of_was_published(session: SparkSession, tmp_path: Path) -> None:
    """On the next day a run found no batch; and without queue events every RECEIVE counts."""
    rows = {
        "message_events": [
            message_event("SENT", "c1/0", batch=1),
            message_event("DELIVERED", "c1/1", batch=2, event_time=at(2)),
            message_event("DELIVERED", "c1/2", batch=3, event_time=at(2)),
            message_event("DELIVERED", "c1/2", event_id="x", batch=4, event_time=AS_OF),
            *events("ready c1/3 2, received c1/3 t 3"),
        ],
        "runs": [
            ended_run("first", AS_OF, last_batch=1),
            ended_run("second", AS_OF, last_batch=2),
            ended_run("other", YESTERDAY, last_batch=4),
            ended_run("broken", AS_OF, "failed", last_batch=None),
            ended_run("before any batch", TOMORROW, last_batch=None),
        ],
        "batches": [batch(number) for number in (1, 2, 3, 4)],
    }
    warehouse = warehouse_of(session, tmp_path, rows)

    def state(number: int, as_of: Any = AS_OF) -> str:
        found = explain_message(warehouse, f"c1/{number}", as_of=as_of, honors=HONORS)
        return found.state.split(": ", 1)[1]

    unknown = "what came in up to then doesn't say why, and more came in later (batches: 2)"
    late = "events of it came in after this as_of was published"
    again = f"run {command_line('schedules', '--as-of', '2026-11-20T13:00:00Z')} to schedule it with them."
    assert [state(n) for n in (0, 1, 2)] == [f"{said}; {again}" for said in (unknown, unknown, late)]
    assert state(0, TOMORROW) == f"{late}; {again.replace('11-20', '11-21')}"
    assert state(3, TOMORROW) == "it was received at 2026-11-20T12:03:00Z."


def test_other_messages_and_a_group(warehouse: Warehouse) -> None:
    """One stands where the catalog now has no queue; one arrived and is still forwarded."""
    found = of_message(warehouse, "c3/0")
    assert found.receive is not None
    assert (found.receive.queue, found.receive.position) == ("TargetQueue", 6)
    assert found.group is not None
    found = of_message(warehouse, "c1/12")
    assert found.receive is not None
    assert [place.instance for place in found.transmissions] == ["SQL9"]
    [group_found] = explain_group(warehouse, "group c1", as_of=AS_OF)
    shown = (group_found.priority, group_found.deciding_conversation_id, group_found.messages)
    assert shown == (3, "c1", 2)


def test_conversations_without_positions_are_listed_as_they_arrived(warehouse: Warehouse) -> None:
    [found] = explain_group(warehouse, "group c4", as_of=AS_OF)
    assert [one.conversation_id for one in found.listed] == ["c5", "c4", "c3", "c2", "c1", "c0"]
    assert found.listed[0].decides


def test_ids_in_any_spelling_and_handles(warehouse: Warehouse) -> None:
    for name in (GUID.lower(), f"{{{GUID}}}", HANDLES[0].lower(), f"{{{HANDLES[1]}}}"):
        conversation = explain_conversation(warehouse, name, as_of=AS_OF)
        assert (conversation.conversation_id, len(conversation.endpoints)) == (GUID, 2)
    message = of_message(warehouse, f"{{{GUID.lower()}}}/initiator/0")
    assert (message.message_id, message.conversation_id) == (f"{GUID}/initiator/0", GUID)
    [explained] = explain_group(warehouse, f"{{{GROUP_GUID.lower()}}}", as_of=AS_OF)
    assert explained.conversation_group_id == GROUP_GUID
    with pytest.raises(PipelineError, match=r"handle 'h': endpoints of several .* have it: c8 and c9; name"):
        explain_conversation(warehouse, "h", as_of=AS_OF)
    with pytest.raises(PipelineError, match=r"conversation 'C8': no endpoint has .* \(case counts unless"):
        explain_conversation(warehouse, "C8", as_of=AS_OF)


def test_unknown_ids(warehouse: Warehouse) -> None:
    with pytest.raises(PipelineError, match=r"conversation 'c': no endpoint has this conversation_id or"):
        explain_conversation(warehouse, "c", as_of=AS_OF)
    with pytest.raises(PipelineError, match=r"message 'm': no event of it is known; check the id"):
        explain_message(warehouse, "m", as_of=AS_OF, honors=HONORS)
    with pytest.raises(PipelineError, match=r"group 'g': .* no ready message .* at 2026-11-20T13:00:00Z"):
        explain_group(warehouse, "g", as_of=AS_OF)
