"""States of endpoints in snapshots: an event from a snapshot has the state in its id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.frames import small_frame
from pipelines.ingest.snapshots.view_events import NAMED_STATES
from pipelines.server.snapshots.views import ENDPOINTS as VIEW
from pipelines.state.endpoints import SIDE
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS
from schemas.outputs import SNAPSHOTS

VIEW_PATH = f"/{VIEW}/"
VIEWS = "instance string, database string, full_at timestamp, first_at timestamp"
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


@dataclass(frozen=True)
class ShownStates:
    """The endpoints that snapshots of their databases show, from the newest complete view on.

    Attributes:
        rows: one row per endpoint: conversation_id, is_initiator, `shown_state`, `shown_at` (the newest
            snapshot that shows it) and `first_seen` (the first snapshot that shows this state; null if no
            earlier snapshot of the database tells that it was otherwise before).
        since: the rows of the ledger that are open then have all these endpoints.
    """

    rows: DataFrame
    since: datetime


def find_shown_states(warehouse: Warehouse, as_of: datetime) -> ShownStates | None:
    """Find the states of endpoints in the newest snapshots up to as_of; None if none has endpoints.

    A light capture shows few endpoints: the others have the state of the newest complete view before it. Of
    a database without a complete view the newest one counts.
    """
    if not warehouse.exists(SNAPSHOTS):
        return None
    taken_at = F.col("taken_at")
    taken = warehouse.read(SNAPSHOTS).where((F.col("view") == VIEW) & (taken_at <= F.lit(as_of)))
    views = collect_rows(
        taken.groupBy("instance", "database").agg(
            F.coalesce(F.max(F.when(F.col("complete"), taken_at)), F.max(taken_at)).alias("full_at"),
            F.min(taken_at).alias("first_at"),
        )
    )
    if not views:
        return None
    # All rows of a conversation close together, after the newest snapshot that shows it.
    since = min(row["full_at"] for row in views) - timedelta(microseconds=1)
    sights = warehouse.read_left(ENDPOINT_FACTS, since).where(
        F.col("state").isNotNull() & (F.col("seen_at") <= F.lit(as_of))
    )
    of_endpoint = (*SIDE, "instance", "database")
    states = sights.groupBy(*of_endpoint, F.col("state").alias("shown_state")).agg(
        F.min("seen_at").alias("first_seen"), F.max("seen_at").alias("shown_at")
    )
    newest = states.groupBy(*of_endpoint).agg(
        F.max_by("shown_state", "shown_at").alias("shown_state"),
        F.max_by("first_seen", "shown_at").alias("first_seen"),
        F.max("shown_at").alias("shown_at"),
    )
    databases = small_frame(warehouse.spark, [tuple(row.values()) for row in views], VIEWS)
    shown = F.broadcast(databases).join(newest, ["instance", "database"], "inner")
    shown = shown.where("shown_at >= full_at")
    first_seen = F.when(F.col("first_at") < F.col("shown_at"), F.col("first_seen"))
    return ShownStates(shown.select(*SIDE, "shown_state", "shown_at", first_seen.alias("first_seen")), since)
