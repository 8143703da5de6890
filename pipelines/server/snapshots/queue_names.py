"""How a database calls its queues: statements of DDL logs spell them otherwise than snapshots do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from pipelines.config.queue_filter import name_parts
from pipelines.rules.statements import CatalogChange
from pipelines.server.snapshots.facts import ON, QUEUE, SERVICE, Name
from pipelines.server.snapshots.names import DEFAULT_SCHEMA
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.server.snapshots.views import QUEUES


@dataclass(frozen=True)
class QueueSwitch:
    """A statement that turned a queue on or off, and when, UTC."""

    instance: str
    database: str
    queue: str
    moment: datetime
    is_on: bool


def switches_of(changes: Iterable[CatalogChange]) -> tuple[QueueSwitch, ...]:
    """The statements that turn queues on or off.

    Args:
        changes: `name_queues`.
    """
    return tuple(
        QueueSwitch(each.instance, each.database, each.name, each.moment, each.values["on"] == ON)
        for each in changes
        if "on" in each.values
    )


def name_queues(changes: Iterable[CatalogChange], snapshots: Iterable[ServerSnapshot]) -> list[CatalogChange]:
    """The changes with the names of queues as the tables have them.

    Of queues with one name in several schemas, that of dbo has its name; the others are `schema.name`. Where
    case is all that differs, the spelling of a snapshot counts, else the first one.

    Args:
        changes: of DDL logs, in their order.
        snapshots: of all databases.
    """
    changes = list(changes)
    known: dict[tuple[str, str], list[tuple[str, str]]] = {
        (each.instance, each.database): [] for each in changes
    }
    for snapshot in snapshots:
        if snapshot.database_key in known:
            known[snapshot.database_key] += _shown(snapshot)
    for change in changes:
        known[change.instance, change.database] += _stated(change)
    names = {place: _QueueNames(queues) for place, queues in known.items()}
    return [_named(each, names[each.instance, each.database]) for each in changes]


class _QueueNames:
    """The names of the queues of a database by schema and name."""

    def __init__(self, known: Iterable[tuple[str, str]]) -> None:
        """Take schema and name of all queues, those of snapshots first."""
        self._spelled: dict[str, str] = {}
        self._schemas: dict[str, set[str]] = {}
        for schema, name in known:
            self._spelled.setdefault(name.casefold(), name)
            self._schemas.setdefault(name.casefold(), set()).add(schema.casefold())

    def named(self, schema: str, name: str) -> str:
        """The name of a queue."""
        spelled = self._spelled.get(name.casefold(), name)
        is_one = len(self._schemas.get(name.casefold(), ())) < 2 or schema.casefold() == DEFAULT_SCHEMA
        return spelled if is_one else f"{schema}.{spelled}"


def _named(change: CatalogChange, names: _QueueNames) -> CatalogChange:
    if change.kind == QUEUE:
        return replace(change, name=names.named(change.schema, change.name))
    if change.kind == SERVICE and (queue := change.values.get("queue")) is not None:
        return replace(change, values={"queue": names.named(change.schema, queue)})
    return change


def _shown(snapshot: ServerSnapshot) -> Iterator[tuple[str, str]]:
    for row in snapshot.small.get(QUEUES, []):
        schema = row.get("schema_name") or DEFAULT_SCHEMA
        yield schema, row["name"].removeprefix(f"{schema}.")


def _stated(change: CatalogChange) -> Iterator[tuple[str, str]]:
    if change.kind == QUEUE:
        yield change.schema, change.name
    elif change.kind == SERVICE and (queue := change.values.get("queue")) is not None:
        yield change.schema, queue


def is_same_value(name: Name, one: str, other: str) -> bool:
    """Whether two values of an attribute are one; a procedure may lack its schema or brackets."""
    if name[2] != "procedure":
        return one == other
    parts = [[*map(str.casefold, name_parts(each))] for each in (one, other)]
    shorter = min(map(len, parts))
    return shorter > 0 and parts[0][-shorter:] == parts[1][-shorter:]
