"""Projects with rows that are rejected."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.field.running import Case

Row = dict[str, Any]


BODY = 'S3CRET <body>, of a "customer"'


def message(event_id: str, **changes: Any) -> Row:
    """A SENT with a body beside the declared columns, as written in a file."""
    return {
        "message_body": BODY,
        "event_id": event_id,
        "event_time": "2026-11-20T09:00:00.000001Z",
        "instance": "I",
        "database": "D",
        "event_type": "SENT",
        "message_id": event_id,
        "conversation_id": "c1",
        "sent_by_initiator": True,
        "message_sequence_number": 0,
        "message_type": "Order",
        "size_bytes": 3,
        "queuing_order": None,
        "transaction_id": None,
        "other": BODY,
        **changes,
    }


def project(folder: Path, format: str = "json", *, share: float = 1.0, **more: Mapping[str, Any]) -> Case:
    """A project of messages alone in this format."""
    (folder / "endpoint_events").mkdir(parents=True)
    (folder / "catalog.yaml").write_text("instances: []\n")
    settings = {
        "warehouse": "warehouse",
        "inputs": {
            "endpoint_events": {"path": "endpoint_events", "format": "json"},
            "message_events": {"path": "message_events", "format": format},
        },
        "catalog": "catalog.yaml",
        "quality": {"max_rejected_share": share, **more.get("quality", {})},
    }
    (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
    return Case(folder)
