"""What an explanation reads of the warehouse: only the rows of one id."""

from dataclasses import fields
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import PipelineError
from pipelines.config.snapshots.views import PRIORITIES
from pipelines.console.wording import format_list
from pipelines.explain.endpoint import Endpoint
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import SNAPSHOTS


def collect_open_first(rows: DataFrame, *columns: str, moment: str) -> list[dict[str, Any]]:
    """Collect the few rows of one id, the open ones if there are any, else the closed ones.

    Args:
        rows: rows of a ledger table, those of one id; all of them are open or all are closed.
        columns: what is wanted of them.
        moment: a time of each row, in whose order files were written more or less.

    What is asked about is mostly open, and all open rows lie together. Files are not ordered by ids, so
    finding one reads that column of all of them: just that one and the moment. Everything else is read at
    these moments only, and the files' statistics say where that is.
    """
    for partitions in ("closed_on is null", "closed_on is not null"):
        found = rows.where(partitions)
        moments = {row[moment] for row in collect_rows(found.select(moment))}
        if moments:
            return collect_rows(found.where(F.col(moment).isin(sorted(moments))).select(*columns))
    return []


def read_endpoints(warehouse: Warehouse, conversation_id: str) -> list[dict[str, Any]]:
    """What the ledger knows of a conversation's endpoints."""
    columns = {field.name for field in fields(Endpoint)} | {"priority", "rule_name", "ladder_step"}
    return collect_open_first(
        warehouse.read(ENDPOINTS).where(F.col("conversation_id") == conversation_id),
        *[name for name in ENDPOINTS.names if name in columns],
        moment="created_at",
    )


def find_conversation(warehouse: Warehouse, handle: str) -> str | None:
    """The conversation whose endpoint has the handle; None if no endpoint has it.

    Raises:
        PipelineError: several conversations have one.
    """
    rows = warehouse.read(ENDPOINTS).where(F.col("conversation_handle") == handle)
    ids = sorted(row["conversation_id"] for row in collect_rows(rows.select("conversation_id").distinct()))
    if len(ids) > 1:
        raise PipelineError(
            f"handle {handle!r}: endpoints of several conversations have it: {format_list(ids)}; name one "
            "of them"
        )
    return ids[0] if ids else None


def read_rule_snapshots(warehouse: Warehouse) -> dict[tuple[str, str], list[datetime]]:
    """When snapshots with rules were taken, by instance and database."""
    found: dict[tuple[str, str], list[datetime]] = {}
    if warehouse.exists(SNAPSHOTS):
        for row in collect_rows(warehouse.read(SNAPSHOTS).where(F.col("view") == PRIORITIES)):
            found.setdefault((row["instance"], row["database"]), []).append(row["taken_at"])
    return found


def read_endpoint_events(warehouse: Warehouse, conversation_id: str) -> list[dict[str, Any]]:
    """What a warehouse with snapshots knows of a conversation's endpoints; without one no state is known."""
    if not warehouse.exists(SNAPSHOTS):
        return []
    events = warehouse.read(ENDPOINT_FACTS).where(F.col("conversation_id") == conversation_id)
    return collect_open_first(
        events, *("event_id", "event_type", "event_time", "is_initiator", "seen_at"), moment="event_time"
    )
