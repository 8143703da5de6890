"""Server views, written as files."""

from pathlib import Path
from typing import Any

import yaml

from tests.support.factories import Row, at, catalog
from tests.support.harness import Project
from tests.support.server import Views, write_views

CONVERSATION = "ABCDEF00-0000-0000-0000-0000000000{:02}"


HANDLE = "0000000{}-0000-0000-0000-0000000000{:02}"


GROUP = "FFFFFFF{}-0000-0000-0000-0000000000{:02}"


def conversation(number: int) -> str:
    return CONVERSATION.format(number)


def handle(number: int, side: bool) -> str:
    return HANDLE.format(int(side), number)


def shown(number: int, side: bool, **changes: Any) -> Row:
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
        "far_service": "TargetService" if side else "InitiatorService",
        "priority": 5,
        **changes,
    }


def ready(number: int, side: bool, sequence: int | None, **changes: Any) -> Row:
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


def views(**changed_views: list[Row]) -> Views:
    """Both services live in SQL1.B, whose queues are InitiatorQueue and TargetQueue."""
    queue = dict.fromkeys(("is_receive_enabled", "is_enqueue_enabled"), True)
    return {
        "conversation_endpoints": [],
        "transmission_queue": [],
        "service_contracts": [{"service_contract_id": 7, "name": "Contract"}],
        "services": [
            {"service_id": 1, "name": "InitiatorService", "service_queue_id": 11},
            {"service_id": 2, "name": "TargetService", "service_queue_id": 12},
        ],
        "service_queues": [
            {"object_id": 11, "name": "InitiatorQueue", **queue},
            {"object_id": 12, "name": "TargetQueue", **queue},
        ],
        "dbo.TargetQueue": [],
        **{name.replace("dbo_", "dbo."): rows for name, rows in changed_views.items()},
    }


class Server:
    """A project of database SQL1.B, with events and snapshots that are added one by one."""

    def __init__(self, folder: Path, **sections: Any) -> None:
        self.project = Project(folder, catalog=catalog({"SQL1": []}), **sections)
        self.path = folder / "settings.yaml"
        settings = yaml.safe_load(self.path.read_text())
        self.settings = {**settings, "catalog": None, "rules": None}

    def snapshot(self, given: Views, taken_at: Any, complete: list[str] | None = None, **more: Any) -> None:
        name = f"snap{len(self.settings.get('snapshots', []))}"
        write_views(self.project.folder / name, given, "parquet")
        one = {
            "path": name,
            "instance": "SQL1",
            "database": "B",
            "taken_at": taken_at.isoformat(),
            "format": "parquet",
            "complete": complete or [],
        }
        self.settings.setdefault("snapshots", []).append({**one, **more})
        self.path.write_text(yaml.safe_dump(self.settings))

    def endpoints(self) -> dict[tuple[str, bool], Row]:
        rows = self.project.table("endpoints")
        return {(row["conversation_id"], row["is_initiator"]): row for row in rows}

    def received(self) -> list[str]:
        rows = self.project.table("receive_schedule")
        return [row["message_id"] for row in sorted(rows, key=lambda row: row["position"] or 0)]

    def sent(self) -> list[str]:
        rows = self.project.table("transmission_schedule")
        return [row["message_id"] for row in sorted(rows, key=lambda row: row["position"])]
