"""Server views, written as files."""

from pathlib import Path
from typing import Any

import yaml

from tests.support.factories import Row, catalog
from tests.support.harness import Project
from tests.support.server import Views, declaration, write_views
from tests.support.view_rows import (
    GROUP as GROUP,
    conversation as conversation,
    handle as handle,
    queue,
    ready as ready,
    shown as shown,
    waiting as waiting,
)


def views(**changed_views: list[Row]) -> Views:
    """Both services live in SQL1.B, whose queues are InitiatorQueue and TargetQueue."""
    return {
        "conversation_endpoints": [],
        "transmission_queue": [],
        "service_contracts": [{"service_contract_id": 7, "name": "Contract"}],
        "services": [
            {"service_id": 1, "name": "InitiatorService", "service_queue_id": 11},
            {"service_id": 2, "name": "TargetService", "service_queue_id": 12},
        ],
        "service_queues": [queue(11, "InitiatorQueue"), queue(12, "TargetQueue")],
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
        one = declaration(name, ("SQL1", "B"), taken_at, "parquet", complete or [])
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
