"""Scenes about what only a snapshot says: statuses, unknown handles, rules and levels of the server."""

from typing import Any

from tests.support.factories import Row, at, create_rule, message_event
from tests.support.model.snapshots import Snapshot

from .scene import FIRST, IN_A, IN_B, NO_NAMES, TARGET_NAMES, Scene, drop, ready, rule, sent, talk, unplaced

NAMES: dict[str, list[Row]] = {
    "service_contracts": [{"service_contract_id": 7, "name": "Contract"}],
    "services": [
        {"service_id": 1, "name": "InitiatorService", "service_queue_id": 11},
        {"service_id": 2, "name": "TargetService", "service_queue_id": 12},
    ],
}
HANDLE = "handle c1 True"
"""Of the initiator endpoint of c1, as its creation logs it."""


def waiting(status: str | None, handle: str = HANDLE, number: int = 0) -> Row:
    """A row of transmission_queue."""
    return {
        "enqueue_time": at(1),
        "conversation_handle": handle,
        "message_sequence_number": number,
        "message_type_name": "Order",
        "is_conversation_error": False,
        "is_end_of_dialog": False,
        "transmission_status": status,
        "size_bytes": 100,
    }


def in_queue(handle: str, minute: float) -> Row:
    """A row of the target queue."""
    return {
        "status": 1,
        "priority": 5,
        "queuing_order": 1,
        "conversation_group_id": "g",
        "conversation_handle": handle,
        "message_sequence_number": 0,
        "message_type_name": "Order",
        "message_enqueue_time": at(minute),
        "size_bytes": 100,
    }


def shown_target(priority: int, **changes: Any) -> Row:
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
        **changes,
    }


def of_database(database: str, minute: float = 50, **views: list[Row]) -> Snapshot:
    """A snapshot of a database of SQL1; a view named dbo_Q is the queue dbo.Q."""
    return Snapshot(
        at(minute), "SQL1", database, {name.replace("dbo_", "dbo."): rows for name, rows in views.items()}
    )


STATUS = "An error occurred while receiving data: '64(The specified network name is no longer available.)'."
STATUSES = [
    Scene(
        "transmission_status: the server says why it waits",
        [*talk(), sent()],
        {"c1/0": ["first_in_line", "transmission_status"]},
        {"transmission_status": [{"text": STATUS, "messages": 1}]},
        snapshots=[of_database("A", transmission_queue=[waiting(STATUS)])],
    ),
    Scene(
        "transmission_status: the server says nothing",
        [*talk(), sent()],
        {"c1/0": FIRST},
        snapshots=[of_database("A", transmission_queue=[waiting("")])],
    ),
    Scene(
        "transmission_status: a snapshot after as_of does not count",
        [*talk(), sent()],
        {"c1/0": FIRST},
        snapshots=[of_database("A", 61, transmission_queue=[waiting(STATUS)])],
    ),
    Scene(
        "transmission_status: the newest snapshot counts",
        [*talk(), sent(), sent("c1/1", 2)],
        {
            "c1/0": ["first_in_line", "transmission_status"],
            "c1/1": ["own_group_first", "transmission_status"],
        },
        {
            "transmission_status": [
                {"text": "blue", "messages": 1},
                {"text": "red", "messages": 1},
            ]
        },
        snapshots=[
            of_database("A", 40, transmission_queue=[waiting("green"), waiting("red", number=1)]),
            of_database("A", 50, transmission_queue=[waiting("blue")]),
        ],
    ),
    Scene(
        "handle_unknown: no endpoint has the handle of a message in a queue",
        [],
        {"H/unknown/0": ["handle_unknown"]},
        unplaced("handle_unknown", "receive", IN_B, NO_NAMES),
        snapshots=[of_database("B", dbo_TargetQueue=[in_queue("H", 1)])],
    ),
    Scene(
        "handle_unknown: no endpoint has the handle of a message to send",
        [],
        {"H/unknown/0": ["handle_unknown"]},
        unplaced("handle_unknown", "transmission", IN_A, NO_NAMES),
        snapshots=[of_database("A", transmission_queue=[waiting(None, "H")])],
    ),
    Scene(
        "handle_unknown: the log has the handle",
        talk(),
        {"c1/initiator/0": FIRST},
        snapshots=[of_database("B", dbo_TargetQueue=[in_queue("handle c1 False", 1)])],
    ),
]

PRIORITY = {
    "name": "Gold",
    "service_contract_id": 7,
    "local_service_id": None,
    "remote_service_name": None,
    "priority": 9,
}
SERVER = [
    Scene(
        "rule_newer_than_endpoint: a rule that only a snapshot shows, first seen at its moment",
        [*talk(), ready()],
        {"c1/0": ["rule_newer_than_endpoint", "first_in_line"]},
        {
            "rule_newer_than_endpoint": [
                {
                    **IN_B,
                    "rule": "Gold",
                    "level": 9,
                    "was_rule": None,
                    "was_level": 5,
                    "since": at(50),
                    "messages": 1,
                }
            ]
        },
        snapshots=[of_database("B", **NAMES, conversation_priorities=[PRIORITY])],
    ),
    Scene(
        "rule_changed_since: the level is the server's, so no version decided",
        [],
        {"c9/initiator/0": ["rule_changed_since", "first_in_line"]},
        {
            "rule_changed_since": [
                {
                    **IN_B,
                    "rule": "Gold",
                    "level": 9,
                    "was_rule": None,
                    "was_level": 6,
                    "since": None,
                    "messages": 1,
                }
            ]
        },
        rules=[rule("Gold", 9, contract="Contract")],
        snapshots=[
            of_database(
                "B",
                **NAMES,
                conversation_endpoints=[shown_target(6)],
                dbo_TargetQueue=[in_queue("handle c9 False", 1)],
            )
        ],
    ),
    Scene(
        "rule_changed_since: the level is the server's, whatever rule has gone since",
        [],
        {"c9/initiator/0": ["rule_changed_since", "first_in_line"]},
        {
            "rule_changed_since": [
                {
                    **IN_B,
                    "rule": "Gold",
                    "level": 9,
                    "was_rule": None,
                    "was_level": 6,
                    "since": None,
                    "messages": 1,
                }
            ]
        },
        rules=[
            rule("Gold", 9, contract="Contract"),
            rule("Special", 2, contract="Contract", local_service="TargetService"),
            drop("Special", 55),
        ],
        snapshots=[
            of_database(
                "B",
                **NAMES,
                conversation_endpoints=[shown_target(6)],
                dbo_TargetQueue=[in_queue("handle c9 False", 1)],
            )
        ],
    ),
    Scene(
        "other_side_only: the other side's level is the server's own",
        [*talk("c9")[:1], message_event("DELIVERED", "c9/0", sent_by_initiator=False)],
        {"c9/0": FIRST},
        snapshots=[of_database("B", **NAMES, conversation_endpoints=[shown_target(8)])],
    ),
    Scene(
        "other_side_only: a server's own level is no lack of a rule",
        talk("c9")[:1],
        {"c9/initiator/0": FIRST},
        rules=[create_rule("Gold", 9, contract="Contract")],
        snapshots=[
            of_database(
                "B",
                **NAMES,
                conversation_endpoints=[shown_target(6)],
                dbo_TargetQueue=[in_queue("handle c9 False", 1)],
            )
        ],
    ),
    Scene(
        "other_side_only: the server's level is the default",
        talk("c9")[:1],
        {"c9/initiator/0": ["other_side_only", *FIRST]},
        {
            "other_side_only": [
                {
                    **IN_B,
                    **TARGET_NAMES,
                    "other_instance": "SQL1",
                    "other_database": "A",
                    "other_rule": "Gold",
                    "other_level": 9,
                    "messages": 1,
                }
            ]
        },
        rules=[create_rule("Gold", 9, contract="Contract")],
        snapshots=[
            of_database(
                "B",
                **NAMES,
                conversation_endpoints=[shown_target(5)],
                dbo_TargetQueue=[in_queue("handle c9 False", 1)],
            )
        ],
    ),
]
SCENES = [*STATUSES, *SERVER]
