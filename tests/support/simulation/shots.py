"""Captures of the simulated servers: what each shows at its moment, and its lines."""

from dataclasses import dataclass
from datetime import datetime
from uuid import NAMESPACE_DNS, uuid5

from tests.support.captures import Captured, capture_lines
from tests.support.factories import Row as View
from tests.support.simulation.database import Database, Endpoint, Row
from tests.support.view_rows import named_views, queue as queue_row, waiting


@dataclass(frozen=True)
class Shown:
    """A database in a capture; a copy of it, without what the capture can't see.

    Attributes:
        writable: a secondary replica is not.
        endpoints: those that the capture has: all in a full one.
        has_retained: whether it has the rows that RETENTION keeps: views by hand have them.
    """

    database: Database
    writable: bool
    endpoints: list[Endpoint]
    locked: int = 0
    has_retained: bool = False


@dataclass(frozen=True)
class Shot:
    """A capture of a server; `unread` are its databases that the script did not read, with the reason."""

    server: str
    taken_at: datetime
    light: bool
    shown: dict[str, Shown]
    unread: dict[str, str]

    @property
    def lines(self) -> list[str]:
        """The capture's lines."""
        databases = {name: Captured(reason=reason) for name, reason in self.unread.items()}
        for name, each in self.shown.items():
            locked = (each.locked, 0) if each.locked else None
            databases[name] = Captured(views_of(each), locked_groups=locked)
        id = str(uuid5(NAMESPACE_DNS, f"{self.server} {self.taken_at}")).upper()
        return capture_lines(
            databases, server=self.server, taken_at=self.taken_at, id=id, is_light=self.light
        )

    @property
    def name(self) -> str:
        """The file's name, below its day."""
        return f"{self.taken_at:%Y-%m-%d}/{self.server}-{self.taken_at:%Y%m%dT%H%M%S}Z.jsonl"


def views_of(shown: Shown) -> dict[str, list[View]]:
    """The views of a database."""
    database = shown.database
    services = {name: number for number, name in enumerate(sorted(database.services), start=1)}
    contracts = {name: number for number, name in enumerate(database.contracts, start=10)}
    views: dict[str, list[View]] = {
        "databases": [
            {
                "name": database.name,
                "is_honor_broker_priority_on": database.honor,
                "is_broker_enabled": True,
                "service_broker_guid": database.guid,
                "database_id": database.number,
                "updateability": "READ_WRITE" if shown.writable else "READ_ONLY",
            }
        ],
        **named_views(
            contracts,
            services,
            {name: database.queues[queue].number for name, queue in database.services.items()},
            [(name, criteria, level) for name, (criteria, level) in database.rules.items()],
        ),
        "service_queues": [
            queue_row(
                queue.number,
                name,
                is_on=queue.is_on,
                is_enqueue_enabled=queue.is_on,
                is_activation_enabled=queue.activation,
                activation_procedure=queue.procedure,
                max_readers=queue.max_readers,
            )
            for name, queue in database.queues.items()
        ],
        "conversation_endpoints": [
            _endpoint_row(each, contracts[each.contract], services[each.local]) for each in shown.endpoints
        ],
        "transmission_queue": [_waiting_row(database, row) for row in database.transmission],
    }
    for name in database.queues:
        rows = [row for row in database.queued if row.queue == name]
        views[f"dbo.{name}"] = [_queued_row(database.endpoints[row.handle], row) for row in rows]
    return views


def _endpoint_row(endpoint: Endpoint, contract: int, service: int) -> View:
    return {
        "conversation_handle": endpoint.handle,
        "conversation_id": endpoint.conversation,
        "is_initiator": int(endpoint.is_initiator),
        "service_contract_id": contract,
        "conversation_group_id": endpoint.group,
        "service_id": service,
        "lifetime": endpoint.expires_at,
        "state": endpoint.state,
        "far_service": endpoint.remote,
        "priority": endpoint.level,
        "send_sequence": endpoint.sent,
        "receive_sequence": endpoint.arrived,
    }


def _waiting_row(database: Database, row: Row) -> View:
    endpoint = database.endpoints.get(row.handle)
    names = row.names or (endpoint and (endpoint.local, endpoint.remote, endpoint.contract))
    assert names is not None
    return waiting(
        sequence=row.number,
        enqueue_time=row.at,
        conversation_handle=row.handle,
        message_type_name=row.type,
        is_conversation_error=row.type.endswith("/Error"),
        is_end_of_dialog=row.type.endswith("/EndDialog"),
        transmission_status=row.reason,
        size_bytes=100,
        priority=endpoint.level if endpoint else 5,
        **dict(zip(("from_service_name", "to_service_name", "service_contract_name"), names, strict=True)),
    )


def _queued_row(endpoint: Endpoint, row: Row) -> View:
    return {
        "status": row.status,
        "priority": endpoint.level,
        "queuing_order": row.order,
        "conversation_group_id": endpoint.group,
        "conversation_handle": row.handle,
        "message_sequence_number": row.number,
        "message_type_name": row.type,
        "message_enqueue_time": row.at,
        "size_bytes": 100,
    }
