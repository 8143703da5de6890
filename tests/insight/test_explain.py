"""Explanations from tables: conversations, messages, groups, and ids that are not known."""

import json
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs import explain_view
from jobs.display import as_json
from pipelines.errors import PipelineError
from pipelines.insight.explain import Tables, explain_conversation, explain_group, explain_message
from pipelines.insight.explain_endpoint import Outcome
from pipelines.insight.explain_queue import Ahead
from schemas import TABLES
from tests.opened import opened

Row = dict[str, Any]
AS_OF = datetime(2026, 11, 21, tzinfo=UTC)
HONORS = {("SQL1", "A"): True, ("SQL1", "B"): False}


def at(minute: int) -> datetime:
    """A minute before as_of."""
    return AS_OF - timedelta(hours=1) + timedelta(minutes=minute)


def frame(spark: SparkSession, table: str, rows: list[Row]) -> DataFrame:
    """Rows of a table; columns that are left out are null, or anything where they may not be."""
    struct = TABLES[table].struct
    for field in struct.fields:
        field.nullable = True
    return spark.createDataFrame([tuple(row.get(name) for name in struct.names) for row in rows], struct)


def endpoint(conversation: str, is_initiator: bool, priority: int, **changes: Any) -> Row:
    own, other = (
        ("InitiatorService", "TargetService") if is_initiator else ("TargetService", "InitiatorService")
    )
    return {
        "conversation_id": conversation,
        "is_initiator": is_initiator,
        "instance": "SQL1",
        "database": "A" if is_initiator else "B",
        "queue": "InitiatorQueue" if is_initiator else "TargetQueue",
        "contract": "Contract",
        "local_service": own,
        "remote_service": other,
        "conversation_group_id": f"group {conversation}",
        "created_at": at(0),
        "priority": priority,
        "inferred": False,
        **changes,
    }


def message(message_id: str, conversation: str, **changes: Any) -> Row:
    first = (at(1), 0, "e", conversation, True, "Order")
    return {
        "message_id": message_id,
        "first_event": first,
        "sequence": (at(1), 0, "e", 4),
        "sent_at": at(1),
        "receives": [],
        "forwards": [],
        **changes,
    }


def received(message_id: str, position: int | None, level: int, conversation: str, **changes: Any) -> Row:
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "database": "B",
        "queue": "TargetQueue",
        "message_id": message_id,
        "position": position,
        "receive_number": position,
        "conversation_group_id": f"group {conversation}",
        "group_priority": level,
        "conversation_id": conversation,
        "is_initiator": False,
        "priority": level,
        "message_type": "Order",
        "arrived_at": at(2),
        "state": "ready" if position else "queue_off",
        **changes,
    }


def sent(message_id: str, position: int, counts: int, **changes: Any) -> Row:
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "message_id": message_id,
        "position": position,
        "database": "A",
        "destination_instance": "SQL2",
        "conversation_id": "c1",
        "sent_by_initiator": True,
        "message_type": "Order",
        "priority": counts,
        "transmit_priority": counts,
        "elevated": False,
        "forwarded": False,
        "sendable_at": at(1),
        **changes,
    }


def group(conversation: str, position: int, level: int, **changes: Any) -> Row:
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "database": "B",
        "queue": "TargetQueue",
        "conversation_group_id": f"group {conversation}",
        "priority": level,
        "deciding_conversation_id": conversation,
        "conversations": 1,
        "messages": 1,
        "oldest_arrival": at(2),
        "state": "ready",
        "position": position,
        **changes,
    }


def rule(name: str, database: str, level: int, local_service: str) -> Row:
    return {
        "instance": "SQL1",
        "database": database,
        "name": name,
        "valid_from": at(-600),
        "contract": "Contract",
        "local_service": local_service,
        "level": level,
    }


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Tables:
    rows: dict[str, list[Row]] = {
        "endpoints": [
            endpoint("c1", True, 5),
            endpoint("c1", False, 3, rule_name="Target", ladder_step=2),
            endpoint("c2", True, 5),
        ],
        "messages": [
            message("m1", "c1", arrival=(at(2), 1, "e", "SQL1", "B")),
            message("m2", "c1"),
            message("gone", "c1", receives=[(at(3), "e", "SQL1", "t", at(4), None)]),
            message("held", "c1", receives=[(at(3), "e", "SQL1", "t", None, None)]),
            message("later", "c1", sent_at=AS_OF),
            message("lost", "c2"),
        ],
        "priority_rules": [
            rule("Target", "B", 3, "TargetService"),
            rule("Slip", "A", 9, "InitiatorSerivce"),
            rule("Elsewhere", "C", 9, "InitiatorService"),
        ],
        "group_priorities": [
            group("c8", 1, 9),
            group("c9", 2, 3),
            group("c1", 3, 3, messages=2, conversations=2),
        ],
        "receive_schedule": [
            received("x", 1, 9, "c8"),
            received("y", 2, 3, "c9"),
            received("z", 3, 3, "c9"),
            received("m1", 4, 3, "c1"),
            received("w", 5, 2, "c7", conversation_group_id="group c1"),
            received("m1", 1, 3, "c1", as_of=AS_OF - timedelta(days=1)),
            received("other", 1, 10, "c1", queue="OtherQueue"),
        ],
        "transmission_schedule": [
            sent("a", 1, 10),
            sent("m2", 2, 5, database="B", priority=8),
            sent("m2", 1, 5, instance="SQL9", database="Z", priority=None, forwarded=True),
            sent("raised", 3, 7, priority=2, elevated=True),
        ],
        "unresolved": [{"as_of": AS_OF, "kind": "receive", "id": "lost", "reason": "endpoint_unknown"}],
    }
    return Tables(AS_OF, **{name: frame(spark, name, of) for name, of in rows.items()})


def test_a_conversation(tables: Tables, capsys: pytest.CaptureFixture[str]) -> None:
    found = explain_conversation(tables, "c1")
    initiator, target = found.endpoints
    assert (initiator.is_initiator, initiator.created_at, initiator.given) == (
        True,
        at(0),
        Outcome(5, None, None),
    )
    assert [miss.asks_for for miss in initiator.steps[1].near_misses] == ["InitiatorSerivce"]
    assert target.given == target.by_present_rules == Outcome(3, "Target", 2)
    [own] = [one for one in found.groups if one.queue == "TargetQueue"]
    assert (own.priority, own.position, own.ahead) == (3, 3, (Ahead(9, 1), Ahead(3, 1)))
    assert [(one.conversation_id, one.priority, one.messages, one.decides) for one in own.listed] == [
        ("c1", 3, 1, True),
        ("c7", 2, 1, False),
    ]
    explain_view.show_conversation(found)
    said = capsys.readouterr().out
    assert (
        "Target endpoint in SQL1.B, created 2026-11-20T23:00:00Z, ended never: level 3 by Target at step 2"
        in said
    )
    assert "Slip (level 9) asks for the local service InitiatorSerivce" in said
    assert "Ahead of it: 2 groups, 1 at level 9, 1 at level 3." in said


def test_a_message_in_a_queue(tables: Tables, capsys: pytest.CaptureFixture[str]) -> None:
    found = explain_message(tables, "m1", HONORS)
    assert found.receive is not None
    assert (found.receive.position, found.receive.receive_number, found.receive.group_priority) == (4, 4, 3)
    assert found.receive.ahead == (Ahead(9, 1), Ahead(3, 2))
    assert found.group is not None
    assert found.group.position == 3
    assert (found.message_sequence_number, found.arrived_at, found.transmissions) == (4, at(2), ())
    explain_view.show_message(found)
    said = capsys.readouterr().out
    assert "It is received with RECEIVE number 4 of TargetQueue." in said
    assert "Receive: position 4 of SQL1.B.TargetQueue, RECEIVE number 4, of a group with level 3 then" in said
    assert "Ahead of it: 3 messages, 1 at level 9, 2 at level 3." in said


def test_a_message_that_waits_and_is_forwarded(tables: Tables, capsys: pytest.CaptureFixture[str]) -> None:
    found = explain_message(tables, "m2", HONORS)
    own, forwarded = found.transmissions
    assert (own.instance, own.priority, own.transmit_priority, own.ahead) == ("SQL1", 8, 5, (Ahead(10, 1),))
    assert own.reason == "B has HONOR_BROKER_PRIORITY off, so it is sent at 5"
    assert (forwarded.instance, forwarded.reason) == ("SQL9", "forwarded messages are always sent at 5")
    explain_view.show_message(found)
    assert "level 8 is shown, 5 counts: B has HONOR_BROKER_PRIORITY off" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("message_id", "state"),
    [
        ("gone", "It is in no schedule: it was received at 2026-11-20T23:03:00Z."),
        (
            "held",
            "It is in no schedule: a RECEIVE took it at 2026-11-20T23:03:00Z, in a transaction of which no "
            "end before as_of is known.",
        ),
        ("later", "It is in no schedule: its first event, at 2026-11-21T00:00:00Z, is not before as_of."),
        ("lost", "It is open, but the receive schedule can't place it: endpoint_unknown."),
    ],
)
def test_messages_without_a_place(tables: Tables, message_id: str, state: str) -> None:
    assert explain_message(tables, message_id, HONORS).state == state


def test_a_message_that_stands_where_the_catalog_now_has_no_queue(tables: Tables) -> None:
    moved = replace(tables, endpoints=tables.endpoints.withColumn("queue", F.lit("Renamed")))
    found, before = (explain_message(each, "m1", HONORS) for each in (moved, tables))
    assert (found.receive, found.group) == (before.receive, before.group)


def test_a_message_that_arrived_and_is_still_forwarded(tables: Tables) -> None:
    still = F.expr("array(struct('SQL9', sent_at, 'e', 'Z', cast(null as timestamp)))")
    schedule = tables.transmission_schedule.withColumn("message_id", F.lit("m1"))
    both = replace(
        tables,
        messages=tables.messages.withColumn("forwards", still),
        transmission_schedule=schedule.where("forwarded"),
    )
    found = explain_message(both, "m1", HONORS)
    assert found.receive is not None
    assert [place.instance for place in found.transmissions] == ["SQL9"]


def test_a_message_in_a_queue_is_explained_by_reading_every_table_once(
    spark: SparkSession, tables: Tables, tmp_path: Path
) -> None:
    names = [each.name for each in fields(tables) if each.name != "as_of"]
    for name in names:
        getattr(tables, name).coalesce(1).write.parquet(str(tmp_path / name))
    stored = Tables(AS_OF, **{name: spark.read.parquet(str(tmp_path / name)) for name in names})
    with opened(spark) as files:
        found = explain_message(stored, "m1", HONORS)
    assert found == explain_message(tables, "m1", HONORS)
    assert files == dict.fromkeys(
        ("messages", "endpoints", "priority_rules", "receive_schedule", "group_priorities"), 1
    )


def test_a_group(tables: Tables) -> None:
    [found] = explain_group(tables, "group c1")
    assert (found.priority, found.deciding_conversation_id, found.messages) == (3, "c1", 2)


def test_unknown_ids(tables: Tables) -> None:
    with pytest.raises(PipelineError, match=r"conversation 'c': no endpoint of it is known; check the id"):
        explain_conversation(tables, "c")
    with pytest.raises(PipelineError, match=r"message 'm': no event of it is known; check the id"):
        explain_message(tables, "m", HONORS)
    with pytest.raises(PipelineError, match=r"group 'g': .* no ready message .* at 2026-11-21T00:00:00Z"):
        explain_group(tables, "g")


def test_json_has_everything(tables: Tables) -> None:
    found = json.loads(as_json(asdict(explain_conversation(tables, "c1"))))
    assert found["endpoints"][1]["steps"][1]["rule"]["rule_name"] == "Target"
    assert found["as_of"] == "2026-11-21T00:00:00Z"
