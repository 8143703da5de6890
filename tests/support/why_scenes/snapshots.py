"""Scenes about what only a snapshot says: statuses, unknown handles, rules and levels of the server."""

from typing import Any

from tests.support.factories import Row, at, create_rule
from tests.support.model.snapshots import Snapshot

from .scene import IN_A, IN_B, INITIATOR_NAMES, NO_NAMES, TARGET_NAMES, drop, rule, scene, unplaced

NAMES: dict[str, list[Row]] = {
    "service_contracts": [{"service_contract_id": 7, "name": "Contract"}],
    "services": [
        {"service_id": 1, "name": "InitiatorService", "service_queue_id": 11},
        {"service_id": 2, "name": "TargetService", "service_queue_id": 12},
    ],
}
HANDLE = "handle c1 True"
"""Of the initiator endpoint of c1, as its creation logs it."""
MESSAGE = {"message_sequence_number": 0, "message_type_name": "Order", "size_bytes": 100}


def waiting(status: str | None, handle: str = HANDLE, number: int = 0) -> Row:
    """A row of transmission_queue."""
    flags = dict.fromkeys(("is_conversation_error", "is_end_of_dialog"), False)
    about = {"conversation_handle": handle, "message_sequence_number": number, "transmission_status": status}
    return {"enqueue_time": at(1), **MESSAGE, **flags, **about}


OWN_NAMES = {
    "from_service_name": "InitiatorService",
    "to_service_name": "TargetService",
    "service_contract_name": "Contract",
}
"""What a row of transmission_queue says of its endpoint."""


def in_queue(handle: str) -> Row:
    """A row of the target queue."""
    return {
        "status": 1,
        "priority": 5,
        "queuing_order": 1,
        "conversation_group_id": "g",
        "conversation_handle": handle,
        "message_enqueue_time": at(1),
        **MESSAGE,
    }


def shown_target(priority: int) -> Row:
    """A row of conversation_endpoints of database B."""
    return {
        "conversation_handle": "handle c9 False",
        "conversation_id": "c9",
        "is_initiator": False,
        "service_contract_id": 7,
        "conversation_group_id": "g",
        "service_id": 2,
        "lifetime": None,
        "state": "CO",
        "far_service": "InitiatorService",
        "priority": priority,
    }


def of_database(database: str, minute: float = 50, **views: list[Row]) -> Snapshot:
    """A snapshot of a database of SQL1; a view named dbo_Q is the queue dbo.Q."""
    return Snapshot(
        at(minute), "SQL1", database, {name.replace("dbo_", "dbo."): rows for name, rows in views.items()}
    )


STATUS = "An error occurred while receiving data: '64(The specified network name is no longer available.)'."
SAYS_WHY = [of_database("A", transmission_queue=[waiting(STATUS)])]
STATUSES = [
    scene(
        "transmission_status: the server says why it waits",
        "talk c1, sent c1/0",
        "c1/0: transmission_status",
        {"transmission_status": [{"text": STATUS, "messages": 1}]},
        snapshots=SAYS_WHY,
    ),
    scene(
        "transmission_status: the server says nothing",
        "talk c1, sent c1/0",
        "c1/0: first_in_line",
        snapshots=[of_database("A", transmission_queue=[waiting("")])],
    ),
    scene(
        "transmission_status: a snapshot after as_of does not count",
        "talk c1, sent c1/0",
        "c1/0: first_in_line",
        snapshots=[of_database("A", 61, transmission_queue=[waiting(STATUS)])],
    ),
    scene(
        "transmission_status: the newest snapshot counts",
        "talk c1, sent c1/0, sent c1/1 2",
        "c1/0: transmission_status; c1/1: own_group_first, transmission_status",
        {"transmission_status": [{"text": text, "messages": 1} for text in ("blue", "red")]},
        snapshots=[
            of_database("A", 40, transmission_queue=[waiting("green"), waiting("red", number=1)]),
            of_database("A", 50, transmission_queue=[waiting("blue")]),
        ],
    ),
    scene(
        "handle_unknown: no endpoint has the handle of a message in a queue",
        "",
        "H/unknown/0: handle_unknown",
        unplaced("handle_unknown", "receive", IN_B, NO_NAMES),
        snapshots=[of_database("B", dbo_TargetQueue=[in_queue("H")])],
    ),
    scene(
        "handle_unknown: no endpoint has the handle of a message to send",
        "",
        "H/unknown/0: handle_unknown",
        unplaced("handle_unknown", "transmission", IN_A, NO_NAMES),
        snapshots=[of_database("A", transmission_queue=[waiting(None, "H")])],
    ),
    scene(
        "handle_unknown: the row says whose message it is",
        "",
        "H/unknown/0: handle_unknown",
        unplaced("handle_unknown", "transmission", IN_A, INITIATOR_NAMES),
        snapshots=[of_database("A", transmission_queue=[{**waiting(None, "H"), **OWN_NAMES}])],
    ),
    scene(
        "handle_unknown: the log has the handle",
        "talk c1",
        "c1/initiator/0: first_in_line",
        snapshots=[of_database("B", dbo_TargetQueue=[in_queue("handle c1 False")])],
    ),
]

PRIORITY = {
    "name": "Gold",
    "service_contract_id": 7,
    "local_service_id": None,
    "remote_service_name": None,
    "priority": 9,
}


def higher(was_level: int, since: Any) -> list[Row]:
    """The details of one message that rule Gold would raise."""
    row = {"rule": "Gold", "level": 9, "was_rule": None, "was_level": was_level, "since": since}
    return [{**IN_B, **row, "messages": 1}]


def of_server(priority: int) -> list[Snapshot]:
    """A target whose level the server shows, with a message in its queue."""
    message = in_queue("handle c9 False")
    endpoints = [shown_target(priority)]
    return [of_database("B", **NAMES, conversation_endpoints=endpoints, dbo_TargetQueue=[message])]


GOLD = rule("Gold", 9, contract="Contract")
OTHER = {"other_instance": "SQL1", "other_database": "A", "other_rule": "Gold", "other_level": 9}
SERVER = [
    scene(
        "rule_newer_than_endpoint: a rule that only a snapshot shows, first seen at its moment",
        "talk c1, ready c1/0",
        "c1/0: rule_newer_than_endpoint, first_in_line",
        {"rule_newer_than_endpoint": higher(5, at(50))},
        snapshots=[of_database("B", **NAMES, conversation_priorities=[PRIORITY])],
    ),
    scene(
        "rule_changed_since: the level is the server's, so no version decided",
        "",
        "c9/initiator/0: rule_changed_since, first_in_line",
        {"rule_changed_since": higher(6, None)},
        rules=[GOLD],
        snapshots=of_server(6),
    ),
    scene(
        "rule_changed_since: the level is the server's, whatever rule has gone since",
        "",
        "c9/initiator/0: rule_changed_since, first_in_line",
        {"rule_changed_since": higher(6, None)},
        rules=[
            GOLD,
            rule("Special", 2, contract="Contract", local_service="TargetService"),
            drop("Special", 55),
        ],
        snapshots=of_server(6),
    ),
    scene(
        "other_side_only: the other side's level is the server's own",
        "begin c9, ready c9/0 1 sent_by_initiator=false",
        "c9/0: first_in_line",
        snapshots=[of_database("B", **NAMES, conversation_endpoints=[shown_target(8)])],
    ),
    scene(
        "other_side_only: a server's own level is no lack of a rule",
        "begin c9",
        "c9/initiator/0: first_in_line",
        rules=[create_rule("Gold", 9, contract="Contract")],
        snapshots=of_server(6),
    ),
    scene(
        "other_side_only: the server's level is the default",
        "begin c9",
        "c9/initiator/0: other_side_only, first_in_line",
        {"other_side_only": [{**IN_B, **TARGET_NAMES, **OTHER, "messages": 1}]},
        rules=[create_rule("Gold", 9, contract="Contract")],
        snapshots=of_server(5),
    ),
]
SCENES = [*STATUSES, *SERVER]
