"""The naive model's state at a moment, written as the views that a server would show."""

import csv
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from pipelines.server.snapshots.views import VIEWS, columns_in_files
from tests.support.factories import Row
from tests.support.model.endpoints import Endpoint, group_id
from tests.support.model.messages import Message
from tests.support.model.rules import Rule
from tests.support.model.state import State, state_of as state_of
from tests.support.model.vocabulary import DIALOG_TIMER, is_on
from tests.support.view_rows import named_views, queue as queue_row, waiting

Views = dict[str, list[Row]]
Place = tuple[str, str]
LIFETIME = timedelta(seconds=2147483647)
KINDS = {"int": pa.int64(), "bit": pa.bool_(), "time": pa.timestamp("us", "UTC")}
TYPES = {
    column.name: KINDS[column.kind]
    for view in VIEWS.values()
    for column in view.columns
    if column.kind in KINDS
}
"""Columns that are no text."""


def handle_of(endpoint: Endpoint) -> str:
    """A handle for every endpoint, logged or not."""
    return f"H-{endpoint.conversation_id}-{int(endpoint.is_initiator)}"


def server_views(state: State, rules: Iterable[Rule] = ()) -> dict[Place, Views]:
    """The views of every database that has an endpoint or stands in the catalog."""
    catalog = {
        (instance["name"], database["name"]): database
        for instance in state.catalog._catalog["instances"]
        for database in instance["databases"]
    }
    there = [each for each in state.known_endpoints.values() if each.created_at < state.as_of]
    places = sorted({*catalog, *((each.instance, each.database) for each in there)})
    names = sorted({each.contract for each in there} | {each.contract for each in rules if each.contract})
    contracts = {name: number for number, name in enumerate(names, start=10)}
    return {
        place: _views(state, place, catalog.get(place, {}), there, contracts, list(rules)) for place in places
    }


def _views(
    state: State,
    place: Place,
    database: Row,
    there: list[Endpoint],
    contracts: Mapping[str, int],
    rules: list[Rule],
) -> Views:
    here = [each for each in there if (each.instance, each.database) == place]
    own = [rule for rule in rules if (rule.instance, rule.database) == place]
    queues = {queue["name"]: number for number, queue in enumerate(database.get("queues", []), start=100)}
    bound = {service["name"]: service["queue"] for service in database.get("services", [])}
    unbound = {each.local_service for each in here} | {
        each.local_service for each in own if each.local_service
    }
    services = {
        name: number for number, name in enumerate([*bound, *sorted(unbound - bound.keys())], start=1)
    }
    views: Views = {
        "conversation_endpoints": [
            _endpoint_row(state, each, contracts, services) for each in here if _is_shown(state, each)
        ],
        **named_views(
            contracts,
            services,
            {name: queues.get(bound.get(name, "")) for name in services},
            [
                (rule.name, (rule.contract, rule.local_service, rule.remote_service), rule.level)
                for rule in own
            ],
        ),
        "service_queues": [
            queue_row(id, name, is_on=not state.is_off((*place, name))) for name, id in queues.items()
        ],
        "databases": [
            {
                "name": place[1],
                "is_honor_broker_priority_on": is_on(database.get("honor_broker_priority", False)),
            }
        ],
        "transmission_queue": [
            _waiting_row(state, message)
            for message in state.messages
            if (sender := state.endpoint(message.sender))
            and (sender.instance, sender.database) == place
            and state.waits_for_transmission(message)
        ],
    }
    for queue in queues:
        views[f"dbo.{queue}"] = [
            _ready_row(state, message, receiver)
            for message in state.messages
            if (receiver := state.endpoint(message.receiver))
            and receiver.queue == (*place, queue)
            and state.is_to_be_received(message)
        ]
    return views


def _is_shown(state: State, endpoint: Endpoint) -> bool:
    """An endpoint stays until both sides have ended."""
    sides = [(endpoint.conversation_id, side) for side in (True, False)]
    return not all(state.has_ended(side) for side in sides)


def _endpoint_row(
    state: State, endpoint: Endpoint, contracts: Mapping[str, int], services: Mapping[str, int]
) -> Row:
    own = state.has_ended((endpoint.conversation_id, endpoint.is_initiator))
    far = state.has_ended((endpoint.conversation_id, not endpoint.is_initiator))
    return {
        "conversation_handle": handle_of(endpoint),
        "conversation_id": endpoint.conversation_id,
        "is_initiator": endpoint.is_initiator,
        "service_contract_id": contracts[endpoint.contract],
        "conversation_group_id": group_id(endpoint, state.endpoint_events),
        "service_id": services[endpoint.local_service],
        "lifetime": endpoint.created_at + LIFETIME if endpoint.is_initiator else state.as_of,
        "state": "DO" if own else "DI" if far else "CO",
        "far_service": endpoint.remote_service,
        "priority": endpoint.priority,
    }


def _ready_row(state: State, message: Message, receiver: Endpoint) -> Row:
    group = state.group(receiver)
    assert group is not None
    return {
        "status": 1,
        "priority": receiver.priority,
        "queuing_order": message.queuing_order,
        "conversation_group_id": group[1],
        "conversation_handle": handle_of(receiver),
        "message_sequence_number": message.sequence_number,
        "message_type_name": message.message_type,
        "message_enqueue_time": message.arrived_at,
        "size_bytes": message.size_bytes,
    }


def _waiting_row(state: State, message: Message) -> Row:
    sender = state.endpoint(message.sender)
    assert sender is not None
    return waiting(
        sequence=message.sequence_number,
        enqueue_time=message.sent_at,
        conversation_handle=handle_of(sender),
        message_type_name=message.message_type,
        is_conversation_error=message.is_error,
        transmission_status="the far side is away",
        size_bytes=message.size_bytes,
    )


def with_guids(rows: Iterable[Row]) -> list[Row]:
    """The rows with ids of conversations and groups as a server has them."""
    ids = ("conversation_id", "conversation_group_id")
    return [
        {**row, **{name: row[name].encode().hex().upper() for name in ids if row.get(name)}} for row in rows
    ]


def message_id(message: Message, moment: datetime) -> str:
    """The id that a snapshot of the moment gives a message; what waits has no place in a queue yet."""
    side = "initiator" if message.sent_by_initiator else "target"
    number = message.sequence_number
    if number is not None and not message.message_type.endswith(DIALOG_TIMER):
        return f"{message.conversation_id}/{side}/{number}"
    arrived = message.arrived_at is not None and message.arrived_at < moment
    order = message.queuing_order if arrived and message.queuing_order is not None else ""
    return f"{message.conversation_id}/{side}/{message.message_type}/{order}"


def write_views(folder: Path, views: Views, format: str) -> None:
    """One file a view."""
    folder.mkdir(parents=True)
    for view, rows in views.items():
        path = folder / f"{view}.{format}"
        if format == "csv":
            write_csv(path, rows or [dict.fromkeys(_empty(view))], rows=bool(rows))
            continue
        names = list(rows[0]) if rows else _empty(view)
        schema = pa.schema([(name, TYPES.get(name, pa.string())) for name in names])
        table = pa.Table.from_pylist(rows, schema)
        if format == "delta":
            write_deltalake(str(path), table)
        else:
            pq.write_table(table, path)


def _empty(view: str) -> list[str]:
    return [column.name for column in columns_in_files(view)]


def write_csv(path: Path, given: list[Row], *, rows: bool = True) -> None:
    """A CSV file as a server's tools write one: times without a zone, bits as 1 and 0, null as nothing."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(given[0])
        if rows:
            writer.writerows([[_text(value) for value in row.values()] for row in given])


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}0"
    return "" if value is None else value


def declaration(path: str, place: Place, taken_at: datetime, format: str, complete: list[str]) -> Row:
    """A snapshot of a database as settings name it."""
    where = {"instance": place[0], "database": place[1], "taken_at": taken_at.isoformat()}
    return {"path": path, **where, "format": format, "complete": complete}


def snapshots(folder: Path, views: Mapping[Place, Views], taken_at: datetime, *formats: str) -> list[Row]:
    """Write the views of every database, in these formats by turns, and say where they are in settings."""
    declared = []
    for number, (place, of_place) in enumerate(views.items()):
        format = formats[number % len(formats)]
        name = f"snap/{taken_at:%H%M%S%f}-{number}"
        write_views(folder / name, of_place, format)
        declared.append(declaration(name, place, taken_at, format, []))
    return declared
