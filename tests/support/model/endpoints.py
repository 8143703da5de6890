"""Which endpoints there are, known or inferred, and their priorities."""

from dataclasses import dataclass
from datetime import datetime

from .catalog import Catalog
from .messages import Message, event_order
from .rules import Rule, resolve
from .vocabulary import CREATIONS, ENDS, QueueKey, Row, Side, by_time, side_of


@dataclass(frozen=True)
class Endpoint:
    """An endpoint as created; its group may change by moves."""

    conversation_id: str
    is_initiator: bool
    instance: str
    database: str
    queue: QueueKey | None
    contract: str
    local_service: str
    remote_service: str
    conversation_handle: str | None
    first_group_id: str
    created_at: datetime
    priority: int
    rule_name: str | None
    ladder_step: int | None

    @property
    def side(self) -> Side:
        """Its key."""
        return self.conversation_id, self.is_initiator

    @property
    def place(self) -> tuple[str, str]:
        """Where it is."""
        return self.instance, self.database

    @property
    def names(self) -> tuple[str, str, str]:
        """Contract and services, which the criteria of rules are compared with."""
        return self.contract, self.local_service, self.remote_service


def names_held(holder: Endpoint | None, far: Endpoint | None) -> tuple[str | None, str | None, str | None]:
    """Contract and services of what an endpoint holds: its own, else the far one's, services swapped."""
    if holder is None and far is not None:
        return far.contract, far.remote_service, far.local_service
    return holder.names if holder else (None, None, None)


def read_endpoints(
    endpoint_events: list[Row],
    messages: list[Message],
    catalog: Catalog,
    rules: list[Rule],
) -> dict[Side, Endpoint]:
    """All endpoints whose creation is known or can be inferred, whatever as_of."""
    creations: dict[Side, Row] = {}
    for event in sorted(endpoint_events, key=by_time):
        if event["event_type"] in CREATIONS:
            creations.setdefault((event["conversation_id"], CREATIONS[event["event_type"]]), event)

    for conversation_id in {conversation_id for conversation_id, _ in creations}:
        first = _first_arrival(conversation_id, messages)
        logged, begin_dialog = creations.get((conversation_id, False)), creations.get((conversation_id, True))
        if first and logged:
            # An arrival proves that the target endpoint was there, be its initiator known or not.
            earlier = min(logged["event_time"], first["event_time"])
            creations[conversation_id, False] = {**logged, "event_time": earlier}
        elif first and begin_dialog:
            creations[conversation_id, False] = _inferred_creation(begin_dialog, first)

    return {side: _endpoint(side, creation, catalog, rules) for side, creation in creations.items()}


def _first_arrival(conversation_id: str, messages: list[Message]) -> Row | None:
    """The first arrival of a message of the initiator."""
    arrivals = [
        message.arrival
        for message in messages
        if message.sender == (conversation_id, True) and message.arrival
    ]
    return min(arrivals, key=event_order, default=None)


def _inferred_creation(begin_dialog: Row, first: Row) -> Row:
    """The DIALOG_CREATED that the first arrival of a message of the initiator stands for."""
    return {
        "event_time": first["event_time"],
        "instance": first["instance"],
        "database": first["database"],
        "conversation_handle": None,
        "conversation_group_id": begin_dialog["conversation_id"],
        "contract": begin_dialog["contract"],
        "local_service": begin_dialog["remote_service"],
        "remote_service": begin_dialog["local_service"],
    }


def _endpoint(side: Side, creation: Row, catalog: Catalog, rules: list[Rule]) -> Endpoint:
    instance, database = creation["instance"], creation["database"]
    names = (creation["contract"], creation["local_service"], creation["remote_service"])
    priority, rule_name, step = resolve(rules, (instance, database), creation["event_time"], names)
    return Endpoint(
        conversation_id=side[0],
        is_initiator=side[1],
        instance=instance,
        database=database,
        queue=catalog.queue_of(instance, database, creation["local_service"]),
        contract=creation["contract"],
        local_service=creation["local_service"],
        remote_service=creation["remote_service"],
        conversation_handle=creation.get("conversation_handle"),
        first_group_id=creation["conversation_group_id"],
        created_at=creation["event_time"],
        priority=priority,
        rule_name=rule_name,
        ladder_step=step,
    )


def group_id(endpoint: Endpoint, endpoint_events: list[Row]) -> str:
    """The endpoint's group after those of the given events that are its moves."""
    moves = [
        event
        for event in endpoint_events
        if event["event_type"] == "MOVE_CONVERSATION"
        and side_of(event) == endpoint.side
        and event["event_time"] >= endpoint.created_at
    ]
    return str(max(moves, key=by_time)["conversation_group_id"]) if moves else endpoint.first_group_id


COLUMNS = (
    "conversation_id", "is_initiator", "instance", "database", "contract", "local_service", "remote_service",
    "conversation_handle", "created_at", "priority", "rule_name", "ladder_step",
)  # fmt: skip
"""Columns of the table that an endpoint has as they are."""


def endpoints_table(endpoints: dict[Side, Endpoint], endpoint_events: list[Row]) -> list[Row]:
    """The table endpoints: as the ledger knows them, after all known moves and ends."""
    rows = []
    for side, endpoint in endpoints.items():
        ends = [
            event["event_time"]
            for event in endpoint_events
            if event["event_type"] in ENDS and side_of(event) == side
        ]
        rows.append(
            {
                **{column: getattr(endpoint, column) for column in COLUMNS},
                "queue": endpoint.queue[2] if endpoint.queue else None,
                "conversation_group_id": group_id(endpoint, endpoint_events),
                "ended_at": min(ends, default=None),
            }
        )
    return rows
