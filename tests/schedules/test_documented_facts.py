"""What the vendor's documentation says of priorities, sentence by sentence, on one small log.

Each fact has instances of its own, so that two runs of the nightly job show them all. Pages are those of the
public repository MicrosoftDocs/sql-docs, under docs/database-engine/service-broker unless said otherwise.
"""

from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import (
    INITIATOR,
    TARGET,
    Row,
    at,
    by_source,
    create_rule,
    database,
    endpoint_event,
    message_event,
)
from tests.support.harness import Project

pytestmark = pytest.mark.slow

FIRST, SECOND = at(60), at(120)
SCHEMA = "http://schemas.microsoft.com/SQL/ServiceBroker"
"""Prefix of the system message types."""


class Facts:
    """The log and the catalog as the facts add to them, and the tables in the end."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.rules: list[Row] = []
        self.instances: dict[str, list[Row]] = {}
        self.tables: dict[str, list[Row]] = {}

    def instance(self, name: str, *databases: Row) -> None:
        self.instances[name] = list(databases)

    def rule(self, instance: str, name: str, level: int, where: str = "A", **changes: Any) -> None:
        self.rules.append(create_rule(name, level, instance=instance, database=where, **changes))

    def dialog(self, name: str, initiator: str, target: str, **changes: Any) -> None:
        """A conversation from A of one instance to B of another one, both endpoints created."""
        self.rows += [
            endpoint_event(conversation=name, instance=initiator, **changes),
            endpoint_event("DIALOG_CREATED", name, instance=target, event_time=at(1), **changes),
        ]

    def message(self, event_type: str, message: str, instance: str, minute: int = 2, **changes: Any) -> None:
        row = message_event(event_type, message, instance=instance, event_time=at(minute), **changes)
        # The number says which one it is, in either direction; ids are of the whole log.
        direction = "" if row["sent_by_initiator"] else "back "
        self.rows.append(row | {"message_id": direction + row["message_id"]})

    def table(self, name: str, instance: str, as_of: datetime = FIRST) -> list[Row]:
        """The rows of an instance in the order of their position; of one as_of where there are several."""
        rows = [
            row
            for row in self.tables[name]
            if row["instance"] == instance and row.get("as_of", as_of) == as_of
        ]
        return sorted(rows, key=lambda row: row.get("position") or 0)

    def sent(self, instance: str, *columns: str) -> list[tuple[Any, ...]]:
        rows = self.table("transmission_schedule", instance)
        return [tuple(row[column] for column in columns) for row in rows]

    def received(self, instance: str, *columns: str, as_of: datetime = FIRST) -> list[tuple[Any, ...]]:
        rows = self.table("receive_schedule", instance, as_of)
        return [tuple(row[column] for column in columns) for row in rows]

    def groups(self, instance: str, as_of: datetime) -> list[tuple[Any, ...]]:
        rows = self.table("group_priorities", instance, as_of)
        return [(row["conversation_group_id"], row["priority"], row["position"]) for row in rows]


@pytest.fixture(scope="module")
def facts(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    found = Facts()
    for add in (
        _ends_of_a_conversation,
        _levels_of_an_instance,
        _honor_off,
        _group,
        _system_messages,
        _moments,
        _forwarding,
    ):
        add(found)
    instances = [{"name": name, "databases": each} for name, each in found.instances.items()]
    project = Project(
        tmp_path_factory.mktemp("facts"),
        catalog={"instances": instances},
        rules=found.rules,
        queue_events=False,
    )
    events = by_source(*found.rows)
    project.add({source: rows for source, rows in events.items() if rows})
    for as_of in (FIRST, SECOND):
        project.run(session, as_of)
    for table in ("endpoints", "group_priorities", "receive_schedule", "transmission_schedule"):
        found.tables[table] = project.table(table)
    return found


def _ends_of_a_conversation(facts: Facts) -> None:
    facts.instance("Ten", database("A", INITIATOR, "InitiatorQueue"))
    facts.instance("One", database("B", TARGET, "TargetQueue"))
    facts.rule("Ten", "high", 10)
    facts.rule("One", "low", 1, where="B")
    facts.dialog("ends", "Ten", "One")
    facts.message("SENT", "ends/0", "Ten")
    facts.message("DELIVERED", "ends/0", "One")
    facts.message("SENT", "ends/1", "Ten")
    facts.message("SENT", "ends/0", "One", sent_by_initiator=False)
    facts.message("DELIVERED", "ends/0", "Ten", sent_by_initiator=False)
    facts.message("SENT", "ends/1", "One", sent_by_initiator=False)


def test_a_message_is_sent_at_its_senders_level_and_received_at_its_receivers(facts: Facts) -> None:
    """conversation-priorities.md: each side has its level from its own rules, it is not transmitted."""
    assert facts.sent("Ten", "message_id", "priority", "transmit_priority") == [("ends/1", 10, 10)]
    assert facts.received("One", "message_id", "priority") == [("ends/0", 1)]


def test_a_reply_is_sent_and_received_at_the_levels_of_the_other_direction(facts: Facts) -> None:
    """conversation-priorities.md, the same example: what the target sends back."""
    assert facts.sent("One", "message_id", "priority", "transmit_priority") == [("back ends/1", 1, 1)]
    assert facts.received("Ten", "message_id", "priority") == [("back ends/0", 10)]


def _levels_of_an_instance(facts: Facts) -> None:
    places = [database(name, INITIATOR, "InitiatorQueue") for name in ("A", "A2")]
    facts.instance("Several", *places)
    minutes = {9: 10, 10: 20}
    for where in ("A", "A2"):
        for level, minute in minutes.items():
            facts.rule("Several", f"level {level}", level, where=where, contract=f"C{level}")
            name = f"{where} {level}"
            facts.rows.append(
                endpoint_event(conversation=name, instance="Several", database=where, contract=f"C{level}")
            )
            for number in (0, 1):
                facts.message("SENT", f"{name}/{number}", "Several", minute - number, database=where)


def test_level_10_of_all_transmission_queues_goes_before_level_9_of_any(facts: Facts) -> None:
    """conversation-priorities.md: transmission is coordinated across all queues of an instance."""
    levels = facts.sent("Several", "transmit_priority", "database")
    assert [level for level, _ in levels] == [10, 10, 10, 10, 9, 9, 9, 9]
    assert {where for level, where in levels if level == 10} == {"A", "A2"}


def test_a_conversation_is_sent_in_its_own_order_whatever_the_clocks_say(facts: Facts) -> None:
    """conversation-priorities.md: the order of the messages of a conversation is always kept."""
    for where in ("A", "A2"):
        for level in (9, 10):
            name = f"{where} {level}"
            numbers = facts.sent("Several", "conversation_id", "message_sequence_number")
            assert [number for conversation, number in numbers if conversation == name] == [0, 1]


def _honor_off(facts: Facts) -> None:
    facts.instance(
        "Ignoring",
        database("A", INITIATOR, "InitiatorQueue", honor=False),
        database("A2", INITIATOR, "InitiatorQueue"),
    )
    for where, level in (("A", 10), ("A2", 6)):
        facts.rule("Ignoring", "rule", level, where=where)
        facts.rows.append(endpoint_event(conversation=f"honor {level}", instance="Ignoring", database=where))
        facts.message("SENT", f"honor {level}/0", "Ignoring", 12 - level, database=where)


def test_without_honor_a_level_is_shown_and_5_is_what_counts(facts: Facts) -> None:
    """managing-conversation-priorities.md: with HONOR_BROKER_PRIORITY off, all is sent as at level 5."""
    columns = ("message_id", "priority", "transmit_priority")
    assert facts.sent("Ignoring", *columns) == [("honor 6/0", 6, 6), ("honor 10/0", 10, 5)]


def _group(facts: Facts) -> None:
    facts.instance("Group", database("B", TARGET, "TargetQueue", honor=False))
    conversations = {"high": (10, "mixed"), "low": (2, "mixed"), "other": (9, "single")}
    for minute, (name, (level, group)) in enumerate(conversations.items()):
        facts.rule("Group", name, level, where="B", contract=name)
        facts.dialog(name, "Elsewhere", "Group", contract=name, conversation_group_id=group)
        facts.message("DELIVERED", f"{name}/0", "Group", 10 - minute)
    facts.message("RECEIVED", "high/0", "Group", 90)


def test_a_group_has_the_highest_level_of_its_conversations_with_messages(facts: Facts) -> None:
    """conversation-priorities.md; for receiving, HONOR_BROKER_PRIORITY does not matter."""
    assert facts.groups("Group", FIRST) == [("mixed", 10, 1), ("single", 9, 2)]


def test_a_group_falls_when_its_high_conversation_is_drained(facts: Facts) -> None:
    """conversation-priorities.md: only conversations that have messages in the queue count."""
    assert facts.groups("Group", SECOND) == [("single", 9, 1), ("mixed", 2, 2)]


def test_a_low_message_of_the_first_group_comes_before_a_high_one_of_another(facts: Facts) -> None:
    """troubleshooting-conversation-priorities.md: a RECEIVE returns all messages of its group."""
    columns = ("message_id", "priority", "receive_number")
    assert facts.received("Group", *columns) == [("high/0", 10, 1), ("low/0", 2, 1), ("other/0", 9, 2)]


def _system_messages(facts: Facts) -> None:
    facts.instance("System", database("B", TARGET, "TargetQueue"))
    facts.dialog("system", "Elsewhere", "System")
    for minute, number, message_type in (
        (10, 0, "Order"),
        (11, 1, "Order"),
        (12, 2, f"{SCHEMA}/Error"),
        (13, 3, f"{SCHEMA}/DialogTimer"),
        (14, 4, f"{SCHEMA}/EndDialog"),
    ):
        facts.message("DELIVERED", f"system/{number}", "System", minute, message_type=message_type)


def test_timers_come_first_errors_next_and_end_dialogs_in_their_turn(facts: Facts) -> None:
    """broker-system-messages.md."""
    assert [number for (number,) in facts.received("System", "message_sequence_number")] == [3, 2, 0, 1, 4]


def _moments(facts: Facts) -> None:
    services = [{"name": INITIATOR, "queue": "Q"}, {"name": TARGET, "queue": "Q"}]
    one = {"name": "A", "queues": [{"name": "Q"}], "services": services}
    facts.instance("Same", one)
    facts.rule("Same", "both ends", 8, contract="Contract")
    facts.rules.append(
        {
            "effective_from": at(30),
            "instance": "Same",
            "database": "A",
            "alter": {"name": "both ends", "level": 3},
        }
    )
    for name, begun, arrived in (("before", 10, 20), ("across", 20, 40), ("after", 30, 40)):
        facts.rows.append(endpoint_event(conversation=name, instance="Same", event_time=at(begun)))
        facts.message("DELIVERED", f"{name}/0", "Same", arrived, database="A")


def levels(facts: Facts, conversation: str) -> list[tuple[bool, int]]:
    rows = facts.table("endpoints", "Same")
    return sorted(
        (row["is_initiator"], row["priority"]) for row in rows if row["conversation_id"] == conversation
    )


def test_one_rule_of_a_contract_covers_both_ends_in_one_database(facts: Facts) -> None:
    """conversation-priorities.md."""
    assert levels(facts, "before") == [(False, 8), (True, 8)]


def test_a_rule_that_is_altered_does_not_touch_endpoints_that_are_there(facts: Facts) -> None:
    """conversation-priorities.md; the target endpoint is created when the first message arrives."""
    assert levels(facts, "across") == [(False, 3), (True, 8)]
    assert levels(facts, "after") == [(False, 3), (True, 3)]


def _forwarding(facts: Facts) -> None:
    facts.instance("Late clock", database("A", INITIATOR, "InitiatorQueue"))
    # The clock of its BEGIN_DIALOG was ahead, so the endpoint is created after the first as_of.
    facts.rows.append(endpoint_event(conversation="own", instance="Late clock", event_time=at(90)))
    facts.message("SENT", "own/0", "Late clock")
    facts.message("FORWARD_ACCEPTED", "own/0", "Late clock", 3)
    facts.rows.append(endpoint_event(conversation="passing", instance="Elsewhere"))
    for event_type, event_id, size in (("FORWARD_ACCEPTED", "b", 2), ("FORWARDED", "a", 1)):
        changes = {"event_id": event_id, "size_bytes": size, "instance": "Late clock" if size == 2 else "Hub"}
        facts.rows.append(message_event(event_type, "passing/0", event_time=at(4), **changes))


def test_an_instance_forwards_nothing_of_its_own(facts: Facts) -> None:
    """What an endpoint is does not depend on as_of, so its instance is known before it is created."""
    assert facts.sent("Late clock", "message_id", "forwarded") == [("passing/0", True)]


def test_of_two_forwarding_events_at_a_moment_the_first_by_id_tells_what_a_message_is(facts: Facts) -> None:
    assert facts.sent("Late clock", "size_bytes") == [(1,)]
