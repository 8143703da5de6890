"""A moment with all that tables and answers say of it, from events, catalog, rules and snapshots."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .activation import activation
from .catalog import Catalog
from .endpoints import Endpoint, endpoints_table, names_held, read_endpoints
from .groups import group_priorities
from .messages import Message, read_messages
from .receive import receive_schedule
from .rules import priority_rules, rule_history
from .snapshots import (
    Snapshot,
    brokers_off,
    events_with,
    monitors,
    rules_with,
    server_levels,
    shown_names,
    statuses,
    with_server_levels,
)
from .spelling import canonical_ids
from .state import State
from .transmission import transmission_schedule
from .unresolved import unresolved
from .vocabulary import Events, QueueKey, Row, queue_of

Place = tuple[str | None, str | None, str | None]
"""A queue; (instance, None, None) for a transmission queue; (None, None, None) for unresolved rows."""
Names = tuple[str | None, str | None, str | None]
"""Contract, local service and remote service."""

KINDS = ("receive", "transmission", "unresolved")
STATES = ("ready", "queue_off", "group_locked", "transmission", "forwarded", "unresolved")


@dataclass(frozen=True, eq=False)
class OpenMessage:
    """A row of one of the two schedules or of unresolved.

    Attributes:
        kind: one of KINDS.
        state: one of STATES.
        place: where it waits.
        row: the row of the table.
        endpoint: the endpoint that holds it, if that exists.
        names: contract and services of the holding endpoint, else of the other one with the services swapped.
        since: when its wait began.
    """

    kind: str
    state: str
    place: Place
    message: Message
    row: Row
    endpoint: Endpoint | None
    names: Names
    since: datetime

    @property
    def message_id(self) -> str:
        return self.message.message_id

    @property
    def position(self) -> int | None:
        position: int | None = self.row.get("position")
        return position

    @property
    def level(self) -> int | None:
        """What counts for its order; None for one that is in no order."""
        column = {"receive": "priority", "transmission": "transmit_priority"}.get(self.kind)
        return self.row[column] if column else None

    @property
    def queue(self) -> QueueKey:
        """The queue of a message that is to be received."""
        instance, database, queue = self.place
        return (str(instance), str(database), str(queue))


class Moment:
    """The tables and open messages of one as_of.

    Args:
        accepted_events: rows by source name, each event once.
        catalog: the Python form of the catalog file.
        rules: rule statements in their YAML form; those of the same moment in the order of effect.
        as_of: the moment; what happens at it has not happened yet.
        top: TOP(n) of the RECEIVE statements.
        starvation: after_seconds and raise_by; None is off.
        blocks: fragment_bytes and fragments; None is off.
        activation_settings: check_seconds, empty_seconds and window_hours; None computes no activation.
        snapshots: server views; those after as_of do not count.
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
        activation_settings: dict[str, Any] | None = None,
        snapshots: Sequence[Snapshot] = (),
    ) -> None:
        taken = [snapshot for snapshot in snapshots if snapshot.taken_at <= as_of]
        events = {
            source: [canonical_ids(row) for row in rows or ()] for source, rows in accepted_events.items()
        }
        self.as_of = as_of
        self.logged = events
        events = events_with(events, taken) if taken else events
        self.events = events
        self.catalog = Catalog(catalog)
        stated = {(statement["instance"], statement["database"]) for statement in rules}
        self.rules = rules_with(rule_history(rules), taken, stated)
        messages = read_messages(events.get("message_events") or [])
        ladder = read_endpoints(events.get("endpoint_events") or [], messages, self.catalog, self.rules)
        self.server_levels = server_levels(events.get("endpoint_events") or [])
        endpoints = with_server_levels(ladder, self.server_levels, self.rules, as_of)
        self.state = State(events, endpoints, messages, self.catalog, as_of)
        self.state.without_queue_events = not self.logged.get("queue_events")
        self.receive_schedule = receive_schedule(self.state, top=top)
        self.transmission_schedule = transmission_schedule(self.state, starvation=starvation, blocks=blocks)
        self.unresolved = unresolved(self.state)
        self.activation = (
            None
            if activation_settings is None
            else activation(events, catalog=catalog, as_of=as_of, **activation_settings)
        )
        self.statuses = statuses(events.get("message_events") or [])
        self.monitors = monitors(taken)
        self.brokers_off = brokers_off(snapshots, as_of)
        self.open_messages = self._open_messages()

    def tables(self) -> dict[str, list[Row]]:
        """The rows of each table, with its public columns, in no particular order."""
        endpoint_events = self.events.get("endpoint_events") or []
        return {
            "endpoints": endpoints_table(self.state.known_endpoints, endpoint_events),
            "group_priorities": group_priorities(self.state),
            "receive_schedule": self.receive_schedule,
            "transmission_schedule": self.transmission_schedule,
            "priority_rules": priority_rules(self.rules),
            "unresolved": self.unresolved,
        }

    def _open_messages(self) -> list[OpenMessage]:
        by_id = {message.message_id: message for message in self.state.messages}
        found = []
        for row in self.receive_schedule:
            message = by_id[row["message_id"]]
            found.append(self._open("receive", row["state"], queue_of(row), message, row, row["arrived_at"]))
        for row in self.transmission_schedule:
            message = by_id[row["message_id"]]
            state = "forwarded" if row["forwarded"] else "transmission"
            place: Place = (row["instance"], None, None)
            found.append(self._open("transmission", state, place, message, row, row["sendable_at"]))
        for row in self.unresolved:
            message = by_id[row["id"]]
            since = message.arrived_at if row["kind"] == "receive" else message.sent_at
            assert since is not None
            found.append(self._open("unresolved", "unresolved", (None, None, None), message, row, since))
        return found

    def _open(
        self, kind: str, state: str, place: Place, message: Message, row: Row, since: datetime
    ) -> OpenMessage:
        receives = kind == "receive" or row.get("kind") == "receive"
        side, other = (message.receiver, message.sender) if receives else (message.sender, message.receiver)
        endpoint, far = self.state.endpoint(side), self.state.endpoint(other)
        names: Names = names_held(endpoint, far)
        if not endpoint and not far:
            contract, sender, receiver = shown_names(message.events)
            names = (contract, receiver, sender) if receives else (contract, sender, receiver)
        return OpenMessage(kind, state, place, message, row, endpoint, names, since)


def simulate(accepted_events: Events, **settings: Any) -> dict[str, list[Row]]:
    """All tables of one run, from the accepted events; see `Moment`."""
    return Moment(accepted_events, **settings).tables()
