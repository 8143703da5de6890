"""What snapshots say of catalog and rules: the small views, read before an engine starts."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from pipelines.config.catalog import Catalog, Database, Instance, Queue, QueueActivation, Service
from pipelines.config.errors import InputError
from pipelines.config.model import Snapshot
from pipelines.config.rules.history import RuleVersion, rule_history
from pipelines.config.rules.statements import ANY, RuleStatement, SourceLocation, StatementType
from pipelines.config.snapshots.files import drop_repeated_columns, find_view_files
from pipelines.config.snapshots.names import find_spellings
from pipelines.config.snapshots.small_rows import read_small_rows, read_texts
from pipelines.config.snapshots.view_file import ViewFile
from pipelines.config.snapshots.views import (
    CONTRACTS,
    DATABASES,
    ENDPOINTS,
    NAMES_OF,
    PRIORITIES,
    QUEUES,
    SERVICES,
    is_queue,
    queue_of,
)

SMALL = (SERVICES, CONTRACTS, QUEUES, PRIORITIES, DATABASES)
Rows = list[dict[str, Any]]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CapturedSnapshot:
    """A database of a capture, as the settings declare others.

    Attributes:
        path: the capture.
        instance: of the database.
        database: its name.
        taken_at: the moment that it shows, UTC.
        capture_id: of the capture.
    """

    path: str
    instance: str
    database: str
    taken_at: datetime
    capture_id: str


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
        rule_lines: the lines of the rules in their file; empty where each row is a line behind a header.
    """

    declared: "Snapshot | CapturedSnapshot"
    files: Mapping[str, ViewFile]
    small: Mapping[str, Rows] = field(default_factory=dict)
    complete: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    services: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rule_lines: Sequence[int] = ()

    @property
    def database_key(self) -> tuple[str, str]:
        """Instance and database."""
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

    def path_of(self, view: str) -> str:
        """The file that has a view."""
        return self.files[view].path if view in self.files else self.declared.path

    def rule_location(self, number: int) -> SourceLocation:
        """Where a rule stands, by its place among `priorities`; behind a header in a file of its own."""
        line = self.rule_lines[number] if self.rule_lines else number + 2
        return SourceLocation(self.path_of(PRIORITIES), line, 1)

    def names(self, view: str, key: str) -> dict[int, str]:
        """Names by id."""
        return {row[key]: row["name"] for row in self.small.get(view, [])}

    def priorities(self) -> list[tuple[str, str | None, str | None, str | None, int]] | None:
        """The rules: (name, contract, local service, remote service, level); None without that view."""
        if PRIORITIES not in self.small:
            return None
        contracts, services = (
            self.names(CONTRACTS, "service_contract_id"),
            self.names(SERVICES, "service_id"),
        )
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

    def database(self) -> Database | None:
        """The database as the snapshot shows it; None without the views that say so."""
        if not {QUEUES, SERVICES, DATABASES} & self.small.keys() and not self.services:
            return None
        queues = self.names(QUEUES, "object_id")
        bound = {
            row["name"]: queues[row["service_queue_id"]]
            for row in self.small.get(SERVICES, [])
            if row["service_queue_id"] in queues
        }
        by_rows = {service: queue for queue, services in self.services.items() for service in services}
        shown = tuple(_queue(row) for row in self.small.get(QUEUES, []))
        known = {queue.name for queue in shown}
        return Database(
            name=self.declared.database,
            honor_broker_priority=any(row["is_honor_broker_priority_on"] for row in self._own_row()),
            queues=shown + tuple(Queue(name=name) for name in self.services if name not in known),
            services=tuple(Service(name=name, queue=queue) for name, queue in {**by_rows, **bound}.items()),
        )

    def _own_row(self) -> Rows:
        """The row of `databases` that is of this database: the server compares names without case."""
        rows = self.small.get(DATABASES, [])
        own = [row for row in rows if row["name"] == self.declared.database]
        return own or [row for row in rows if row["name"].lower() == self.declared.database.lower()]


def read_snapshots(declared: Sequence[Snapshot]) -> tuple[ServerSnapshot, ...]:
    """Find the views of all snapshots and read the small ones; by taken_at, instance and database.

    Raises:
        InputError: a view or a column is missing, or of a wrong type; all of them are listed.
    """
    read: list[ServerSnapshot] = []
    problems: list[str] = []
    for snapshot in declared:
        found = find_view_files(snapshot)
        problems += found.problems
        small: dict[str, Rows] = {}
        for view in SMALL if not found.problems else ():
            if view in found.files:
                try:
                    small[view] = list(read_small_rows(found.files[view]))
                except ValueError as error:
                    problems.append(str(error))
        files, twice = _spell_queues(found.files, small.get(QUEUES, []))
        problems += twice
        spelled = {file.path: view for view, file in files.items()}
        complete = {spelled[found.files[view].path] for view in found.complete if not twice}
        server = ServerSnapshot(snapshot, files, small, frozenset(complete), found.unread)
        server, wrong = check_snapshot(server, is_right=not problems)
        problems += wrong
        read.append(server)
    if problems:
        raise snapshot_error(problems)
    for server in read:
        for line in server.unread:
            log.warning("snapshots: %s", line)
    return in_order(read)


def check_snapshot(server: ServerSnapshot, *, is_right: bool = True) -> tuple[ServerSnapshot, list[str]]:
    """Leave out what says nothing, and find what contradicts itself.

    Args:
        server: a snapshot as it was read.
        is_right: whether nothing is wrong with its files so far.

    Returns:
        The snapshot, and a line for each fault.
    """
    small, files = dict(server.small), dict(server.files)
    for view in _find_nameless(server):
        small.pop(view, None)
        files = {each: file for each, file in files.items() if each != view or view in SMALL}
    server = replace(server, small=small, files=files, complete=server.complete & files.keys())
    try:
        problems = _find_repeated(server) + _find_unknown_ids(server) + _find_missing_database(server)
        if is_right and not problems:
            server = replace(server, services=_services_of_queues(server), files=drop_repeated_columns(files))
        server.database()
    except ValidationError as error:
        first = error.errors()[0]
        return server, [f"{server.declared.path}: {first['loc'][-1]}: {first['msg']}"]
    except ValueError as error:
        return server, [str(error)]
    return server, problems


def in_order(snapshots: Iterable[ServerSnapshot]) -> tuple[ServerSnapshot, ...]:
    """Snapshots by taken_at, instance and database."""
    return tuple(sorted(snapshots, key=lambda each: (each.taken_at, each.database_key)))


def snapshot_error(problems: Iterable[str]) -> InputError:
    """The error that lists what is wrong with files of snapshots, one a line."""
    head = "snapshots break their contract; export these anew:"
    return InputError(head, *(f"  {each}" for each in problems))


def add_databases(catalog: Catalog, snapshots: Iterable[ServerSnapshot]) -> Catalog:
    """The catalog, with the databases that it lacks as their latest snapshot shows them."""
    known = {(instance, database) for instance, database, _ in catalog.database_rows()}
    shown: dict[tuple[str, str], Database] = {}
    for snapshot in snapshots:
        database = snapshot.database()
        if database is not None and snapshot.database_key not in known:
            shown[snapshot.database_key] = database
    by_name = {instance.name: instance for instance in catalog.instances}
    for (name, _), database in shown.items():
        instance = by_name.get(name, Instance(name=name))
        by_name[name] = instance.model_copy(update={"databases": (*instance.databases, database)})
    return Catalog(instances=tuple(by_name.values()))


def make_statements(
    statements: Sequence[RuleStatement], snapshots: Iterable[ServerSnapshot]
) -> list[RuleStatement]:
    """The rules that snapshots show, as statements, of databases that have none of their own.

    A snapshot's rules are in force from its taken_at on: what an earlier one showed otherwise is dropped
    and created anew then.
    """
    own = {(statement.instance, statement.database) for statement in statements}
    made: list[RuleStatement] = []
    standing: dict[tuple[str, str], dict[str, RuleVersion]] = {}
    for snapshot in snapshots:
        shown = snapshot.priorities()
        if shown is None or snapshot.database_key in own:
            continue
        before = standing.get(snapshot.database_key, {})
        creates = [_create(snapshot, number, rule) for number, rule in enumerate(shown)]
        after = {version.name: version for version in rule_history(creates)}
        changed = [name for name, version in before.items() if not _same(version, after.get(name))]
        made += [_drop(snapshot, name) for name in changed]
        made += [create for create in creates if create.name not in before or create.name in changed]
        standing[snapshot.database_key] = after
    return made


def _same(one: RuleVersion, other: RuleVersion | None) -> bool:
    return other is not None and (one.triple, one.level) == (other.triple, other.level)


def _create(
    snapshot: ServerSnapshot, number: int, rule: tuple[str, str | None, str | None, str | None, int]
) -> RuleStatement:
    name, contract, local, remote, level = rule
    return RuleStatement(
        StatementType.CREATE,
        snapshot.taken_at,
        *snapshot.database_key,
        name,
        snapshot.rule_location(number),
        contract=ANY if contract is None else contract,
        local_service=ANY if local is None else local,
        remote_service=ANY if remote is None else remote,
        level=level,
    )


def _drop(snapshot: ServerSnapshot, name: str) -> RuleStatement:
    location = SourceLocation(snapshot.path_of(PRIORITIES), min(snapshot.rule_lines, default=1), 1)
    return RuleStatement(StatementType.DROP, snapshot.taken_at, *snapshot.database_key, name, location)


def _find_nameless(server: ServerSnapshot) -> set[str]:
    """Return the views of endpoints and rules whose ids have no names at all; warn of each.

    A server has services and contracts of its own. If their view is there and has no rows, the exporting
    login lacks the right to see them.
    """
    found = set[str]()
    small, files = server.small, server.files
    rules = small.get(PRIORITIES, [])
    for of_ids in (ENDPOINTS, PRIORITIES):
        is_there = of_ids in files or of_ids in small
        for column, view in NAMES_OF[of_ids].items():
            has_ids = is_there and (of_ids not in files or column in files[of_ids].names)
            has_ids = has_ids and small.get(view) == []
            if of_ids == PRIORITIES:
                has_ids = has_ids and any(row[column] is not None for row in rules)
            if has_ids and of_ids not in found:
                found.add(of_ids)
                log.warning("snapshots: %s says nothing: %s has no names", server.path_of(of_ids), view)
    return found


def _spell_queues(files: Mapping[str, ViewFile], queues: Rows) -> tuple[dict[str, ViewFile], list[str]]:
    """The files by view, with queues spelled as `service_queues` has them; and what stands there twice."""
    spelled = find_spellings(files, (row["name"] for row in queues))
    by_view: dict[str, ViewFile] = {}
    problems = []
    for each, file in files.items():
        view = spelled.get(each, each)
        if view in by_view:
            problems.append(f"{file.path}: {by_view[view].path} is the same view; leave one of them there")
        by_view[view] = replace(file, view=view)
    return by_view, problems


def _services_of_queues(snapshot: ServerSnapshot) -> dict[str, list[str]]:
    """The services that rows of queues name, by queue, where no view of services or queues says it."""
    if snapshot.small.get(SERVICES) and snapshot.small.get(QUEUES):
        return {}
    return {
        queue_of(view): sorted(read_texts(file, "service_name"))
        for view, file in snapshot.files.items()
        if is_queue(view) and "service_name" in file.names
    }


def _find_missing_database(snapshot: ServerSnapshot) -> list[str]:
    """A view of databases that lacks this one: the settings, or the export, are of another database."""
    rows = snapshot.small.get(DATABASES, [])
    if not rows or snapshot._own_row():
        return []
    names = ", ".join(sorted(row["name"] for row in rows)[:5])
    return [
        f"{snapshot.path_of(DATABASES)}: has no row of {snapshot.declared.database}, only of {names}; "
        "name the database in the settings as the server does"
    ]


def _queue(row: Mapping[str, Any]) -> Queue:
    """A queue; whether it is on is a fact of the snapshot's moment, not of the catalog."""
    activation = None
    if row["activation_procedure"] is not None:
        activation = QueueActivation(
            status=bool(row["is_activation_enabled"]),
            procedure=row["activation_procedure"],
            max_queue_readers=row["max_readers"] or 0,
        )
    return Queue(name=row["name"], activation=activation)


def _find_repeated(snapshot: ServerSnapshot) -> list[str]:
    """Names and ids that stand in a small view twice, and levels that are none."""
    problems = []
    keys = {
        SERVICES: ("service_id", "name"),
        CONTRACTS: ("service_contract_id",),
        QUEUES: ("object_id",),
        PRIORITIES: ("name",),
        DATABASES: ("name",),
    }
    for view, names in keys.items():
        for name in names:
            values = [row[name] for row in snapshot.small.get(view, [])]
            for value in dict.fromkeys(each for each in values if values.count(each) > 1):
                problems.append(f"{snapshot.path_of(view)}: {name} {value!r} stands there twice")
    for row in snapshot.small.get(PRIORITIES, []):
        if not 1 <= row["priority"] <= 10:
            path = snapshot.path_of(PRIORITIES)
            problems.append(f"{path}: the level of {row['name']!r} is {row['priority']}, not 1 to 10")
    return problems


def _find_unknown_ids(snapshot: ServerSnapshot) -> list[str]:
    """Ids of rules that their views lack: the rules would be for other conversations, or for none."""
    problems = []
    for view, key, column in (
        (CONTRACTS, "service_contract_id", "service_contract_id"),
        (SERVICES, "service_id", "local_service_id"),
    ):
        known = snapshot.names(view, key)
        for row in snapshot.small.get(PRIORITIES, []) if view in snapshot.small else ():
            if row[column] is not None and row[column] not in known:
                problems.append(
                    f"{snapshot.path_of(PRIORITIES)}: {column} of {row['name']!r} is {row[column]}, which "
                    f"{view} lacks; ANY is an empty field"
                )
    return problems
