"""States of endpoints in snapshots: an event from a snapshot has the state in its id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.snapshots.views import ENDPOINTS as VIEW
from pipelines.engine.frames import among
from pipelines.ingest.snapshots.view_events import CLOSED, NAMED_STATES
from pipelines.state.endpoints import SIDE
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, ENDS
from schemas.outputs import SNAPSHOTS

VIEW_PATH = f"/{VIEW}/"
SHOWN = "instance string, database string, seen_at timestamp"
FAR_END_STATE = "DI"
"""The state that is stored as an end of the far endpoint."""


@dataclass(frozen=True)
class SnapshotState:
    """The state of an endpoint in the newest snapshot that shows it: CD, DI, DO or ER; null for others."""

    state: str | None
    seen_at: datetime


def find_snapshot_states(events: Iterable[Mapping[str, Any]], as_of: datetime) -> dict[bool, SnapshotState]:
    """Find the states of a conversation's endpoints, by is_initiator.

    Args:
        events: endpoint events of one conversation: event_id, is_initiator, event_type, seen_at.
        as_of: snapshots that were taken later do not count.
    """
    found: dict[bool, SnapshotState] = {}
    for event in events:
        seen_at = event["seen_at"]
        if seen_at is None or seen_at > as_of or VIEW_PATH not in event["event_id"]:
            continue
        state = state_of(event["event_id"])
        side = event["is_initiator"] != (state == FAR_END_STATE)
        known = found.get(side)
        # A creation and an end are of one row of the view: the end has the state.
        if known is None or (seen_at, state or "") > (known.seen_at, known.state or ""):
            found[side] = SnapshotState(state, seen_at)
    return found


def state_of(event_id: str) -> str | None:
    """Return the state in the id of an event from a snapshot; None if it has none."""
    state = event_id.rpartition("/")[2]
    return state if state in NAMED_STATES else None


def find_closed_endpoints(warehouse: Warehouse, as_of: datetime) -> DataFrame | None:
    """Find the endpoints that the newest snapshots show as CLOSED.

    Args:
        warehouse: the ledger.
        as_of: snapshots that were taken later do not count.

    Returns:
        (conversation_id, is_initiator, closed_seen_at, logged_end), unique by the first two: `logged_end` is
        the first end of the endpoint that a log knows, else null. None if no snapshot has endpoints.
    """
    if not warehouse.exists(SNAPSHOTS):
        return None
    taken = warehouse.read(SNAPSHOTS).where((F.col("view") == VIEW) & (F.col("taken_at") <= F.lit(as_of)))
    newest = collect_rows(taken.groupBy("instance", "database").agg(F.max("taken_at").alias("seen_at")))
    if not newest:
        return None
    events = warehouse.read(ENDPOINT_FACTS)
    # Files of events that only earlier snapshots show are passed over.
    is_recent = F.col("seen_at") >= F.lit(min(row["seen_at"] for row in newest))
    shown = events.where(
        is_recent & F.col("event_id").endswith(f"/{CLOSED}") & F.col("event_type").isin(*ENDS)
    )
    closed = (
        among(shown, [tuple(row.values()) for row in newest], SHOWN)
        .groupBy(*SIDE)
        .agg(F.max("seen_at").alias("closed_seen_at"))
    )
    ends = (
        events.where(F.col("event_type").isin(*ENDS) & F.col("seen_at").isNull())
        .join(closed, SIDE, "left_semi")
        .groupBy(*SIDE)
        .agg(F.min("event_time").alias("logged_end"))
    )
    return closed.join(ends, SIDE, "left")
