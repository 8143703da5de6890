"""The tables that say what was so at a moment, from events, catalog and rules."""

from datetime import datetime

from .catalog import Catalog
from .endpoints import endpoints_table, read_endpoints
from .groups import group_priorities
from .messages import read_messages
from .receive import receive_schedule
from .rules import priority_rules, rule_history
from .spelling import canonical_ids
from .state import State
from .transmission import transmission_schedule
from .unresolved import unresolved
from .vocabulary import Events, Row


def simulate(
    accepted_events: Events,
    *,
    catalog: Row,
    rules: list[Row],
    as_of: datetime,
    top: int | None = None,
    starvation: Row | None = None,
    blocks: Row | None = None,
) -> dict[str, list[Row]]:
    """All tables of one run, with their public columns, in no particular order.

    Args:
        accepted_events: rows by source name, each event once.
        catalog: the Python form of the catalog file.
        rules: rule statements in their YAML form; those of the same moment in the order of effect.
        as_of: the moment; what happens at it has not happened yet.
        top: TOP(n) of the RECEIVE statements.
        starvation: after_seconds and raise_by; None is off.
        blocks: fragment_bytes and fragments; None is off.
    """
    events = {source: [canonical_ids(row) for row in rows or ()] for source, rows in accepted_events.items()}
    places, history = Catalog(catalog), rule_history(rules)
    endpoint_events = events.get("endpoint_events") or []
    messages = read_messages(events.get("message_events") or [])
    endpoints = read_endpoints(endpoint_events, messages, places, history)
    state = State(events, endpoints, messages, places, as_of)
    return {
        "endpoints": endpoints_table(endpoints, endpoint_events),
        "group_priorities": group_priorities(state),
        "receive_schedule": receive_schedule(state, top=top),
        "transmission_schedule": transmission_schedule(state, starvation=starvation, blocks=blocks),
        "priority_rules": priority_rules(history),
        "unresolved": unresolved(state),
    }
