"""A moment with the tables that say what was so then, from events, catalog and rules."""

from datetime import datetime
from typing import Any

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


class Moment:
    """The tables of one as_of.

    Args:
        accepted_events: rows by source name, each event once.
        catalog: the Python form of the catalog file.
        rules: rule statements in their YAML form; those of the same moment in the order of effect.
        as_of: the moment; what happens at it has not happened yet.
        top: TOP(n) of the RECEIVE statements.
        starvation: after_seconds and raise_by; None is off.
        blocks: fragment_bytes and fragments; None is off.
    """

    def __init__(
        self,
        accepted_events: Events,
        *,
        catalog: Row,
        rules: list[Row],
        as_of: datetime,
        top: int | None = None,
        starvation: Row | None = None,
        blocks: Row | None = None,
    ) -> None:
        self.as_of = as_of
        self.events = {
            source: [canonical_ids(row) for row in rows or ()] for source, rows in accepted_events.items()
        }
        self.catalog = Catalog(catalog)
        self.rules = rule_history(rules)
        messages = read_messages(self._rows("message_events"))
        endpoints = read_endpoints(self._rows("endpoint_events"), messages, self.catalog, self.rules)
        self.state = State(self.events, endpoints, messages, self.catalog, as_of)
        self.top, self.starvation, self.blocks = top, starvation, blocks

    def _rows(self, source: str) -> list[Row]:
        return self.events.get(source) or []

    def tables(self) -> dict[str, list[Row]]:
        """The rows of each table, with its public columns, in no particular order."""
        state = self.state
        return {
            "endpoints": endpoints_table(state.known_endpoints, self._rows("endpoint_events")),
            "group_priorities": group_priorities(state),
            "receive_schedule": receive_schedule(state, top=self.top),
            "transmission_schedule": transmission_schedule(
                state, starvation=self.starvation, blocks=self.blocks
            ),
            "priority_rules": priority_rules(self.rules),
            "unresolved": unresolved(state),
        }


def simulate(accepted_events: Events, **settings: Any) -> dict[str, list[Row]]:
    """All tables of one run, from the accepted events; see `Moment`."""
    return Moment(accepted_events, **settings).tables()
