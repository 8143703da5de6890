"""Warehouses for the page: something of everything, with nasty names."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml
from pyspark.sql import SparkSession

from pipelines.settings.load import Settings, load_settings
from schemas import TABLES
from storage.small_frame import small_frame
from storage.warehouse import Warehouse
from tests.factories import Row, at

AS_OF = at(60)
NIGHT_BEFORE = at(60, day=-1)
NASTY = """</script><img src=x onerror="document.title='owned'"><!--"""
"""A queue's name that would break out of a script element, or become an element."""
SMALL_QUEUES = 40


def received(queue: str, position: int | None, **changes: Any) -> Row:
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "database": "A",
        "queue": queue,
        "message_id": f"{queue}/{position}",
        "position": position,
        "receive_number": position,
        "conversation_group_id": "g",
        "group_priority": 9,
        "conversation_id": f"c{position}",
        "is_initiator": False,
        "priority": 9 if position and position % 2 else 3,
        "message_type": "Order",
        "arrived_at": at(-(position or 0)),
        "state": "ready" if position else "group_locked",
        **changes,
    }


def sent(position: int, **changes: Any) -> Row:
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "message_id": f"m{position}",
        "position": position,
        "database": "A",
        "conversation_id": "c",
        "sent_by_initiator": True,
        "message_type": "Order",
        "to_service": "TargetService",
        "destination_instance": "SQL2",
        "destination_database": "C",
        "priority": 7,
        "transmit_priority": 5,
        "elevated": False,
        "forwarded": False,
        "sendable_at": at(position),
        **changes,
    }


def covered(rule_name: str | None, endpoints: int, **changes: Any) -> Row:
    used = at(5) if endpoints else None
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "database": "A",
        "rule_name": rule_name,
        "valid_from": None if rule_name is None else at(0, day=-30),
        "level": 5 if rule_name is None else 9,
        "endpoints": endpoints,
        "conversations": endpoints,
        "messages": 2 * endpoints,
        "open_messages": endpoints,
        "first_use": used,
        "last_use": used,
        **changes,
    }


def monitored(queue: str, advice: str, need: float) -> Row:
    return {
        "as_of": AS_OF,
        "instance": "SQL1",
        "database": "A",
        "queue": queue,
        "mode": "internal",
        "max_queue_readers": 2,
        "need_seconds": need,
        "short_seconds": need / 2,
        "activations": 3,
        "most_ready": 12,
        "most_ready_at": at(3),
        "groups_ready": 4,
        "groups_free": 2,
        "ready_at_end": 12,
        "is_on": True,
        "off_since": None,
        "advice": advice,
        "sentence": f"{queue}: one more reader would help",
        "oddities": {},
    }


def run(run_id: str, as_of: Any, status: str = "succeeded", *, started: int = 1, **sums: int) -> Row:
    began = as_of + timedelta(minutes=started)
    counted = {
        "open_receive": 0,
        "open_transmission": 0,
        "open_forwarded": 0,
        "unresolved_receive": 0,
        "unresolved_transmission": 0,
        "events": 0,
        "rejected": 0,
        **sums,
    }
    return {
        "run_id": run_id,
        "as_of": as_of,
        "started_at": began,
        "finished_at": began + timedelta(seconds=100),
        "status": status,
        "code_version": "1",
        "settings": "{}",
        "row_counts": {},
        "reconciliation": counted if status == "succeeded" else {},
        "error": None if status == "succeeded" else "the disk was full",
    }


def everything() -> dict[str, list[Row]]:
    """Something of everything, by table."""
    rejected = {"run_id": "r2", "first_seen": AS_OF, "payload": "{}"}
    return {
        "receive_schedule": [
            *[received("OrderQueue", position) for position in range(1, 13)],
            *[received("OrderQueue", None, message_id=f"held {number}") for number in range(2)],
            *[received(NASTY, position) for position in range(1, 4)],
            received("Trailing ", None, state="queue_off"),
            *[received(f"Queue {number:02}", 1, priority=1) for number in range(SMALL_QUEUES)],
            received("OrderQueue", 1, as_of=NIGHT_BEFORE, message_id="of another night"),
        ],
        "transmission_schedule": [
            sent(1, transmit_priority=10, elevated=True, sendable_at=at(30)),
            sent(2),
            sent(3, forwarded=True, priority=None, to_service=None, destination_instance=None),
            sent(1, instance="SQL2"),
        ],
        "rule_coverage": [covered("Gold", 8), covered("Unused", 0), covered(None, 4)],
        "activation_summary": [
            monitored("Queue 00", "keeps_up", 500.0),
            monitored("OrderQueue", "raise_max_queue_readers", 240.0),
        ],
        "ingest_batches": [
            {
                "ingest_batch": number,
                "source": "message_events",
                "events": 10,
                "accepted": 7,
                "duplicates": 1,
                "rejected": 2,
            }
            for number in (1, 2)
        ],
        "rejected_events": [
            {**rejected, "source": "message_events", "event_id": f"e{number}", "reason": reason}
            for number, reason in enumerate(
                ["message_id is null", "message_id is null", "unknown event_type"]
            )
        ],
        "unresolved": [
            {"as_of": AS_OF, "kind": "receive", "id": f"u{number}", "reason": "endpoint_unknown"}
            for number in range(3)
        ],
        "runs": [
            run("r0", NIGHT_BEFORE, open_receive=50, open_transmission=3),
            run("r1", AS_OF, "failed"),
            run(
                "r2", AS_OF, started=2, open_receive=61, open_transmission=3, unresolved_receive=3, events=20
            ),
            run("r3", at(60, day=1), "failed"),
        ],
    }


def write(spark: SparkSession, folder: Path, tables: dict[str, list[Row]]) -> Settings:
    """Write tables into a warehouse, and settings that name it."""
    (folder / "catalog.yaml").write_text("instances: []\n")
    inputs = {name: {"path": name, "format": "json"} for name in ("endpoint_events", "message_events")}
    content = {"warehouse": "warehouse", "inputs": inputs, "catalog": "catalog.yaml"}
    (folder / "settings.yaml").write_text(yaml.safe_dump(content))
    settings = load_settings(folder / "settings.yaml")
    warehouse = Warehouse(spark, settings.warehouse)
    for name, rows in tables.items():
        table = TABLES[name]
        values = [[row.get(column) for column in table.names] for row in rows]
        warehouse.replace(table, small_frame(spark, values, table.struct))
    return settings
