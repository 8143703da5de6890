"""A snapshot of a server: its files, and the rows of the small views that say what catalog and rules are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipelines.config.catalog import Database
from pipelines.config.errors import InputError
from pipelines.config.model import Snapshot
from pipelines.rules.statements import SourceLocation
from pipelines.server.snapshots.facts import (
    CONTRACT,
    DATABASE,
    QUEUE,
    SERVICE,
    Name,
    database_of,
    switch,
)
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.server.snapshots.views import (
    CONTRACTS,
    DATABASES,
    ENDPOINTS,
    LISTED_NAME,
    PRIORITIES,
    QUEUES,
    SERVICES,
    VIEWS,
)

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class CapturedSnapshot:
    """A database of a capture, as the settings declare others.

    Attributes:
        path: the capture.
        instance: of the database.
        database: its name.
        taken_at: the moment that it shows, UTC.
        capture_id: of the capture.
        utc_offset_minutes: of the server's clock; None if it is not known.
    """

    path: str
    instance: str
    database: str
    taken_at: datetime
    capture_id: str
    utc_offset_minutes: int | None = None


@dataclass(frozen=True)
class ServerSnapshot:
    """A snapshot with its files, and the rows of its small views.

    Attributes:
        declared: what the settings say of it.
        files: its views.
        small: rows of the small views that it has.
        complete: the views that show all that there was.
        unread: a line for each file of its folder that is not read.
        services: by queue, services that the queues' own rows name; none where views of services say it.
        statuses: by queue's view, how many rows of each status a capture counts, where some do not wait.
        rule_lines: the lines of the rules in their file; empty where each row is a line behind a header.
        place: instance and database by which its database goes; None for its own.
        number: by which the rows of captures say that they are of it; None of views by hand.
        renamed: what queues are called whose rows have another name.
    """

    declared: "Snapshot | CapturedSnapshot"
    files: Mapping[str, ViewFile]
    small: Mapping[str, Rows] = field(default_factory=dict)
    complete: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    services: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rule_lines: Sequence[int] = ()
    place: tuple[str, str] | None = None
    statuses: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    number: int | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def database_key(self) -> tuple[str, str]:
        """Instance and database."""
        return self.place or self.own_key

    @property
    def own_key(self) -> tuple[str, str]:
        """Instance and database as the server names them."""
        return self.declared.instance, self.declared.database

    @property
    def taken_at(self) -> datetime:
        """The moment that it shows."""
        return self.declared.taken_at

    @property
    def has_endpoints(self) -> bool:
        """Whether a view shows the endpoints."""
        return ENDPOINTS in self.files

    @property
    def database_id(self) -> int | None:
        """The server's number of the database; None if no view says it."""
        return next((row["database_id"] for row in self._own_row()), None)

    @property
    def is_broker_enabled(self) -> bool | None:
        """Whether Service Broker is on in the database; None if no view says it."""
        return next((row.get("is_broker_enabled") for row in self._own_row()), None)

    @property
    def is_priority_honored(self) -> bool | None:
        """Whether the database honors priorities; None if no view says it."""
        return next((row["is_honor_broker_priority_on"] for row in self._own_row()), None)

    @property
    def service_broker_guid(self) -> str | None:
        """The id of the database's broker, in upper case; None if no view says it."""
        found = next((row.get("service_broker_guid") for row in self._own_row()), None)
        return None if found is None else found.strip("{} ").upper()

    @property
    def is_read_only(self) -> bool | None:
        """Whether nobody can write to the database; None if no view says it."""
        said = next((row.get("updateability") for row in self._own_row()), None)
        return None if said is None else said.upper() == "READ_ONLY"

    def path_of(self, view: str) -> str:
        """The file that has a view."""
        return self.files[view].path if view in self.files else self.declared.path

    def rule_location(self, number: int) -> SourceLocation:
        """Where a rule stands, by its place among `priorities`; behind a header in a file of its own."""
        line = self.rule_lines[number] if self.rule_lines else number + 2
        return SourceLocation(self.path_of(PRIORITIES), line, 1)

    def names(self, view: str) -> dict[int, str]:
        """The names that a view has, by id."""
        return {row[VIEWS[view].id]: row["name"] for row in self.small.get(view, [])}

    def priorities(self) -> list[tuple[str, str | None, str | None, str | None, int]] | None:
        """The rules: (name, contract, local service, remote service, level); None without that view."""
        if PRIORITIES not in self.small:
            return None
        contracts, services = self.names(CONTRACTS), self.names(SERVICES)
        return [
            (
                row["name"],
                row["service_contract_name"] or contracts.get(row["service_contract_id"]),
                row["local_service_name"] or services.get(row["local_service_id"]),
                row["remote_service_name"],
                row["priority"],
            )
            for row in self.small[PRIORITIES]
        ]

    @property
    def leaves_out_any(self) -> bool:
        """Whether the rules are the listing of the vendor's page, whose inner joins leave out rules with ANY.

        A row with ANY for a contract or a local service shows that the joins were others.
        """
        file = self.files.get(PRIORITIES)
        if file is None or file.names.get("name", "").lower() != LISTED_NAME:
            return False
        return all(rule[1] is not None and rule[2] is not None for rule in self.priorities() or [])

    def database(self) -> Database | None:
        """The database as the snapshot shows it; None without the views that say so."""
        if not {QUEUES, SERVICES, DATABASES} & self.small.keys() and not self.services:
            return None
        return database_of(self.database_key[1], self.facts())

    def facts(self) -> dict[Name, str | None]:
        """What it shows of the catalog; None where it shows that there is nothing."""
        switches = {"broker_enabled": self.is_broker_enabled, "honor": self.is_priority_honored}
        facts: dict[Name, str | None] = {
            (DATABASE, self.database_key[1], attribute): switch(value)
            for attribute, value in switches.items()
            if value is not None
        }
        if self.service_broker_guid is not None:
            facts[DATABASE, self.database_key[1], "broker_guid"] = self.service_broker_guid
        for row in self.small.get(QUEUES, []):
            name = row["name"]
            facts[QUEUE, name, "on"] = switch(row["is_receive_enabled"] and row["is_enqueue_enabled"])
            if row["is_activation_enabled"] is not None:
                facts[QUEUE, name, "activation"] = switch(row["is_activation_enabled"])
            if row["activation_procedure"] is not None or self._has_column(QUEUES, "activation_procedure"):
                facts[QUEUE, name, "procedure"] = row["activation_procedure"]
            if row["max_readers"] is not None:
                facts[QUEUE, name, "max_readers"] = str(row["max_readers"])
        facts |= {(SERVICE, service, "queue"): queue for service, queue in self._bindings().items()}
        facts |= {(CONTRACT, contract, "exists"): "true" for contract in self.names(CONTRACTS).values()}
        return facts

    def _has_column(self, view: str, column: str) -> bool:
        """Whether a view has a column; captures have all."""
        return view not in self.files or column in self.files[view].names

    def _bindings(self) -> dict[str, str]:
        """The queues of services: as views of services say, else as the queues' own rows do."""
        queues = self.names(QUEUES)
        bound = {
            row["name"]: queues[row["service_queue_id"]]
            for row in self.small.get(SERVICES, [])
            if row["service_queue_id"] in queues
        }
        return {service: queue for queue, services in self.services.items() for service in services} | bound

    def _own_row(self) -> Rows:
        """The row of `databases` that is of this database: the server compares names without case."""
        rows = self.small.get(DATABASES, [])
        own = [row for row in rows if row["name"] == self.declared.database]
        return own or [row for row in rows if row["name"].lower() == self.declared.database.lower()]


def queue_schemas(snapshots: Iterable[ServerSnapshot]) -> dict[tuple[str, str, str], str]:
    """The schema of each queue (instance, database, name) that a snapshot shows with it."""
    return {
        (*each.database_key, row["name"]): row["schema_name"]
        for each in snapshots
        for row in each.small.get(QUEUES, ())
        if row.get("schema_name") is not None
    }


def in_order(snapshots: Iterable[ServerSnapshot]) -> tuple[ServerSnapshot, ...]:
    """Snapshots by taken_at, instance and database."""
    return tuple(sorted(snapshots, key=lambda each: (each.taken_at, each.database_key)))


def snapshot_error(problems: Iterable[str]) -> InputError:
    """The error that lists what is wrong with files of snapshots, one a line."""
    head = "snapshots break their contract; export these again:"
    return InputError(head, *(f"  {each}" for each in problems))
