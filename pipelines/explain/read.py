"""Read the rows of one id from the warehouse."""

from dataclasses import fields
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.explain.endpoint import Endpoint
from pipelines.state.endpoints import SIDE
from pipelines.storage.collect import collect_rows
from pipelines.storage.ranges import few_ranges, in_ranges
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import SNAPSHOTS

OF_ENDPOINT_EVENTS = (*SIDE, "event_id", "event_type", "event_time", "seen_at", "state")


def collect_open_first(rows: DataFrame, *columns: str, moment: str) -> list[dict[str, Any]]:
    """Collect the few rows of one id, the open ones if there are any, else the closed ones.

    Args:
        rows: rows of a ledger table, those of one id; all of them are open or all are closed.
        columns: the columns to collect.
        moment: a time column; files were written roughly in its order.

    Most questions concern open rows, and these lie together. Files are not ordered by id, so the first query
    reads the id and the moment of all files. The second reads the columns around these moments only, which
    the statistics of the files locate.
    """
    for partitions in ("closed_on is null", "closed_on is not null"):
        found = rows.where(partitions)
        moments = {row[moment] for row in collect_rows(found.select(moment))}
        if moments:
            return collect_rows(found.where(in_ranges(moment, few_ranges(moments))).select(*columns))
    return []


def read_endpoints(warehouse: Warehouse, conversation_id: str) -> list[dict[str, Any]]:
    """Read the endpoints of a conversation."""
    columns = {field.name for field in fields(Endpoint)} | {"priority", "rule_name", "ladder_step"}
    return collect_open_first(
        warehouse.read(ENDPOINTS).where(F.col("conversation_id") == conversation_id),
        *[name for name in ENDPOINTS.names if name in columns],
        moment="created_at",
    )


def read_endpoint_events(warehouse: Warehouse, conversation_id: str) -> list[dict[str, Any]]:
    """Read the endpoint events of a conversation; none without snapshots, which alone have states."""
    if not warehouse.exists(SNAPSHOTS):
        return []
    events = warehouse.read(ENDPOINT_FACTS).where(F.col("conversation_id") == conversation_id)
    return collect_open_first(events, *OF_ENDPOINT_EVENTS, moment="event_time")
