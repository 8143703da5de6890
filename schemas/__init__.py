"""Every table of the pipeline, declared once: inputs, accepted events, ledger and outputs."""

from schemas.events import ACCEPTED, CONTRACTS, EventContract
from schemas.ledger import (
    EARLY_FACTS,
    ENDPOINTS,
    LEDGER_BATCHES,
    MESSAGES,
    QUEUE_CHANGES,
    QUEUE_SESSIONS,
    ROLLBACKS,
    TRANSACTIONS,
)
from schemas.outputs import (
    ACTIVATION,
    ACTIVATION_SUMMARY,
    GROUP_PRIORITIES,
    INGEST_BATCHES,
    PRIORITY_RULES,
    RECEIVE_SCHEDULE,
    REJECTED_EVENTS,
    RULE_COVERAGE,
    RULE_USES,
    RUNS,
    TRANSMISSION_SCHEDULE,
    UNRESOLVED,
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
        RULE_COVERAGE,
        REJECTED_EVENTS,
        UNRESOLVED,
        RUNS,
        MESSAGES,
        TRANSACTIONS,
        EARLY_FACTS,
        QUEUE_CHANGES,
        QUEUE_SESSIONS,
        ROLLBACKS,
        RULE_USES,
        *ACCEPTED.values(),
        INGEST_BATCHES,
        LEDGER_BATCHES,
    )
}
"""All tables under a warehouse, by name; the public ones first."""

__all__ = ["ACCEPTED", "CONTRACTS", "TABLES", "Column", "EventContract", "Table"]
