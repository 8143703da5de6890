"""Every table of the pipeline, declared once: inputs, accepted events, ledger and outputs."""

from schemas.events import ACCEPTED, CONTRACTS, EventContract
from schemas.ledger import ENDPOINTS
from schemas.outputs import (
    ACTIVATION,
    ACTIVATION_SUMMARY,
    BATCHES,
    CAPTURES,
    CATALOG_HISTORY,
    EXPECTATIONS,
    FILES,
    FINDINGS,
    GROUP_PRIORITIES,
    PENDING_EVENTS,
    PRIORITY_RULES,
    QUEUE_MONITORS,
    QUEUE_STATUSES,
    RECEIVE_SCHEDULE,
    REJECTED_EVENTS,
    RUNS,
    SENDS,
    SNAPSHOTS,
    TRANSMISSION_SCHEDULE,
    UNRESOLVED,
    WAITS,
)
from schemas.table import Column, Table

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        ENDPOINTS,
        GROUP_PRIORITIES,
        RECEIVE_SCHEDULE,
        TRANSMISSION_SCHEDULE,
        ACTIVATION,
        ACTIVATION_SUMMARY,
        PRIORITY_RULES,
        CATALOG_HISTORY,
        SENDS,
        REJECTED_EVENTS,
        UNRESOLVED,
        EXPECTATIONS,
        FINDINGS,
        WAITS,
        RUNS,
        *ACCEPTED.values(),
        BATCHES,
        FILES,
        PENDING_EVENTS,
        SNAPSHOTS,
        CAPTURES,
        QUEUE_MONITORS,
        QUEUE_STATUSES,
    )
}
"""All tables under a warehouse, by name; the public ones first."""

__all__ = ["ACCEPTED", "CONTRACTS", "TABLES", "Column", "EventContract", "Table"]
