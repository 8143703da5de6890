"""Rows of server views with everything in them, so that a test names only what matters to it.

An endpoint has a number and a side, of which its ids are made.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.factories import INITIATOR, TARGET, Row, at

CONVERSATION = "ABCDEF00-0000-0000-0000-0000000000{:02}"
HANDLE = "0000000{}-0000-0000-0000-0000000000{:02}"
GROUP = "FFFFFFF{}-0000-0000-0000-0000000000{:02}"
Triple = tuple[str | None, str | None, str | None]


def conversation(number: int) -> str:
    return CONVERSATION.format(number)


def handle(number: int, side: bool) -> str:
    return HANDLE.format(int(side), number)


def shown(number: int = 0, side: bool = True, **changes: Any) -> Row:
    """A row of conversation_endpoints."""
    return {
        "conversation_handle": handle(number, side),
        "conversation_id": conversation(number),
        "is_initiator": side,
        "service_contract_id": 7,
        "conversation_group_id": GROUP.format(int(side), number),
        "service_id": 1 if side else 2,
        "lifetime": None,
        "state": "CO",
        "far_service": TARGET if side else INITIATOR,
        "priority": 5,
        **changes,
    }


def ready(number: int = 0, side: bool = True, sequence: int | None = 0, **changes: Any) -> Row:
    """A row of a queue; the endpoint is the receiving one."""
    return {
        "status": 1,
        "priority": 5,
        "queuing_order": 1,
        "conversation_group_id": GROUP.format(int(side), number),
        "conversation_handle": handle(number, side),
        "message_sequence_number": sequence,
        "message_type_name": "Order",
        "message_enqueue_time": at(-30),
        "size_bytes": 10,
        **changes,
    }


def waiting(number: int = 0, side: bool = True, sequence: int | None = 0, **changes: Any) -> Row:
    """A row of transmission_queue; the endpoint is the sending one."""
    return {
        "enqueue_time": at(-30),
        "conversation_handle": handle(number, side),
        "message_sequence_number": sequence,
        "message_type_name": "Order",
        "is_conversation_error": False,
        "is_end_of_dialog": False,
        "transmission_status": "",
        "size_bytes": 10,
        **changes,
    }


def queue(number: int, name: str, *, is_on: bool = True, **changes: Any) -> Row:
    """A row of service_queues."""
    switches = {"is_receive_enabled": is_on, "is_enqueue_enabled": True}
    return {"object_id": number, "name": name, **switches, **changes}


def priority(name: str, level: int, **criteria: Any) -> Row:
    """A row of conversation_priorities; all criteria are ANY unless given."""
    ids = dict.fromkeys(("service_contract_id", "local_service_id", "remote_service_name"))
    return {"name": name, **ids, "priority": level, **criteria}


def named_views(
    contracts: Mapping[str, int],
    services: Mapping[str, int],
    queue_of: Mapping[str, int | None],
    rules: Iterable[tuple[str, Triple, int]],
) -> dict[str, list[Row]]:
    """The views with names of contracts, services and rules.

    Args:
        contracts: ids by name.
        services: ids by name.
        queue_of: the id of the queue by service.
        rules: name, criteria (contract, local and remote service; None is ANY) and level.
    """
    return {
        "service_contracts": [{"service_contract_id": id, "name": name} for name, id in contracts.items()],
        "services": [
            {"service_id": id, "name": name, "service_queue_id": queue_of[name]}
            for name, id in services.items()
        ],
        "conversation_priorities": [
            priority(
                name,
                level,
                service_contract_id=contract and contracts[contract],
                local_service_id=local and services[local],
                remote_service_name=remote,
            )
            for name, (contract, local, remote), level in rules
        ],
    }
