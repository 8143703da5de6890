"""Rows of the ledger's tables with everything in them, and a warehouse that holds them."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipelines.engine.frames import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES, Table
from schemas.events import LEDGER_PARTITIONS
from schemas.reading import as_of_key
from tests.support.factories import INITIATOR, TARGET, Row, at


def endpoint(conversation: str = "c1", is_initiator: bool = True, **changes: Any) -> Row:
    """An open endpoint in SQL1.A, or the target's in SQL1.B, as the first fold writes it, without a rule."""
    name = f"{conversation} {is_initiator}"
    return {
        "conversation_id": conversation,
        "is_initiator": is_initiator,
        "instance": "SQL1",
        "database": "A" if is_initiator else "B",
        "queue": "InitiatorQueue" if is_initiator else "TargetQueue",
        "contract": "Contract",
        "local_service": INITIATOR if is_initiator else TARGET,
        "remote_service": TARGET if is_initiator else INITIATOR,
        "conversation_handle": f"handle {name}",
        "conversation_group_id": f"group {name}",
        "first_group_id": f"group {name}",
        "created_at": at(0),
        "priority": 5,
        "inferred": False,
        "closed_on": None,
        "fold": 1,
        **changes,
    }


OF_AN_HOUR = {"as_of": at(60), "as_of_key": as_of_key(at(60)), "instance": "SQL1", "database": "A"}
"""The place of rows that describe 13:00."""


def received(queue: str, position: int | None, **changes: Any) -> Row:
    """A message that is ready in a queue of SQL1.A at 13:00; null as its position means a locked group."""
    return {
        **OF_AN_HOUR,
        "queue": queue,
        "message_id": f"{queue}/{position}",
        "position": position,
        "receive_number": position,
        "conversation_group_id": "g",
        "group_priority": 9,
        "conversation_id": f"c{position}",
        "is_initiator": False,
        "contract": "Contract",
        "local_service": TARGET,
        "remote_service": INITIATOR,
        "priority": 9 if position and position % 2 else 3,
        "message_type": "Order",
        "arrived_at": at(-(position or 0)),
        "state": "ready" if position else "group_locked",
        **changes,
    }


def sent(position: int, **changes: Any) -> Row:
    """A message that waits for transmission from SQL1.A at 13:00."""
    return {
        **OF_AN_HOUR,
        "message_id": f"m{position}",
        "position": position,
        "conversation_id": "c",
        "sent_by_initiator": True,
        "message_type": "Order",
        "from_service": INITIATOR,
        "to_service": "TargetService",
        "contract": "Contract",
        "destination_instance": "SQL2",
        "destination_database": "C",
        "priority": 7,
        "transmit_priority": 5,
        "elevated": False,
        "forwarded": False,
        "sendable_at": at(position),
        **changes,
    }


def ended_run(run_id: str, as_of: datetime, status: str = "succeeded", **changes: Any) -> Row:
    """A run that began a minute after its as_of and took 100 seconds."""
    began = as_of + timedelta(minutes=1)
    return {
        "run_id": run_id,
        "as_of": as_of,
        "started_at": began,
        "finished_at": began + timedelta(seconds=100),
        "status": status,
        "code_version": "1",
        "settings": "{}",
        "row_counts": {},
        "reconciliation": {},
        "error": None if status == "succeeded" else "the disk was full",
        **changes,
    }


def group(queue: str, messages: int = 1, **changes: Any) -> Row:
    """A group that is ready in a queue of SQL1.A at 13:00; its messages came a minute apart, up to noon."""
    return {
        **OF_AN_HOUR,
        "queue": queue,
        "conversation_group_id": f"{queue} {messages}",
        "priority": 5,
        "deciding_conversation_id": "c",
        "conversations": 1,
        "messages": messages,
        "oldest_arrival": at(-messages),
        "state": "ready",
        "position": 1,
        **changes,
    }


def batch(number: int = 1, source: str = "message_events", **changes: Any) -> Row:
    """What a batch took in of a source: nothing unless changed."""
    counts = dict.fromkeys(("events", "accepted", "duplicates", "rejected"), 0)
    return {"batch": number, "source": source, "bindings": "b", **counts, **changes}


def warehouse_of(session: SparkSession, folder: Path, tables: Mapping[str, Iterable[Row]]) -> Warehouse:
    """Make a warehouse of these rows, by table."""
    warehouse = Warehouse(session, str(folder))
    for name, rows in tables.items():
        write(warehouse, TABLES[name], rows)
    return warehouse


def write(warehouse: Warehouse, table: Table, rows: Iterable[Row]) -> None:
    """Make these the rows of a table; what a row lacks is null, or 1 for the batch and the fold."""
    books = {"batch": 1, "fold": 1} if table.partition_by == LEDGER_PARTITIONS else {}
    values = [[{**books, **row}.get(name) for name in table.names] for row in rows]
    warehouse.replace(table, small_frame(warehouse.spark, values, table.struct))
