"""Which endpoints there are, known or inferred, and their priorities."""

from dataclasses import dataclass
from datetime import datetime

from .catalog import Catalog
from .messages import Message, event_order
from .rules import Rule, resolve
from .vocabulary import CREATIONS, ENDS, QueueKey, Row, Side, by_time


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
    return min(arrivals, key=event_order) if arrivals else None


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
        and (event["conversation_id"], event["is_initiator"])
        == (endpoint.conversation_id, endpoint.is_initiator)
        and event["event_time"] >= endpoint.created_at
    ]
    return str(max(moves, key=by_time)["conversation_group_id"]) if moves else endpoint.first_group_id


def endpoints_table(endpoints: dict[Side, Endpoint], endpoint_events: list[Row]) -> list[Row]:
    """The table endpoints: as the ledger knows them, after all known moves and ends."""
    rows = []
    for side, endpoint in endpoints.items():
        ends = [
            event["event_time"]
            for event in endpoint_events
            if event["event_type"] in ENDS and (event["conversation_id"], event["is_initiator"]) == side
        ]
        rows.append(
            {
                "conversation_id": endpoint.conversation_id,
                "is_initiator": endpoint.is_initiator,
                "instance": endpoint.instance,
                "database": endpoint.database,
                "queue": endpoint.queue[2] if endpoint.queue else None,
                "contract": endpoint.contract,
                "local_service": endpoint.local_service,
                "remote_service": endpoint.remote_service,
                "conversation_handle": endpoint.conversation_handle,
                "conversation_group_id": group_id(endpoint, endpoint_events),
                "created_at": endpoint.created_at,
                "ended_at": min(ends, default=None),
                "priority": endpoint.priority,
                "rule_name": endpoint.rule_name,
                "ladder_step": endpoint.ladder_step,
            }
        )
    return rows
