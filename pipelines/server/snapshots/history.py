"""What snapshots show of catalogs: each fact with its period, and the catalog of a moment."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from pipelines.config.catalog import Catalog, Database, Instance, Queue, Service
from pipelines.config.shape import Shape
from pipelines.rules.statements import CatalogChange, StatementType
from pipelines.server.snapshots.facts import CONTRACT, QUEUE, SERVICE, Name, database_of
from pipelines.server.snapshots.queue_names import is_same_value
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.server.snapshots.views import CONTRACTS, QUEUES, SERVICES

LISTED = {QUEUES: QUEUE, SERVICES: SERVICE, CONTRACTS: CONTRACT}
"""The kinds of things that have ended where a complete view lacks them, by view."""

Place = tuple[str, str]
"""Instance and database."""
Sight = CatalogChange | ServerSnapshot
"""What says something of a database: a statement of a DDL log, or a snapshot."""
Named = TypeVar("Named", Database, Queue, Service)
OneShape = TypeVar("OneShape", bound=Shape)


@dataclass(frozen=True)
class CatalogFact:
    """An attribute with its value from valid_from until before valid_to: a row of `catalog_history`."""

    instance: str
    database: str
    kind: str
    name: str
    attribute: str
    valid_from: datetime | None
    value: str
    valid_to: datetime | None
    source: str = "snapshot"

    def holds_at(self, moment: datetime | None) -> bool:
        """Whether it holds at a moment; None is after all snapshots."""
        if moment is None:
            return self.valid_to is None
        has_begun = self.valid_from is None or self.valid_from <= moment
        return has_begun and (self.valid_to is None or moment < self.valid_to)


def catalog_history(
    snapshots: Iterable[ServerSnapshot], changes: Iterable[CatalogChange] = ()
) -> tuple[CatalogFact, ...]:
    """All that snapshots and DDL logs say of catalogs, by place, name and moment.

    A fact holds from the first snapshot or statement that shows it until the next one that shows otherwise,
    lacks it in a complete view, or drops it. What the first snapshot shows holds before it, too, but for what
    a statement before it sets.

    Args:
        snapshots: by taken_at.
        changes: of DDL logs, in their order; see `name_queues`.
    """
    of_place: dict[Place, list[Sight]] = {}
    for change in changes:
        of_place.setdefault((change.instance, change.database), []).append(change)
    for snapshot in snapshots:
        of_place.setdefault(snapshot.database_key, []).append(snapshot)
    return tuple(
        fact
        for place in sorted(of_place)
        for fact in _History(place, sorted(of_place[place], key=_moment_of)).facts()
    )


def catalog_at(written: Catalog, history: Iterable[CatalogFact], moment: datetime | None) -> Catalog:
    """The catalog of a moment: all that is written, and what snapshots show where nothing is written.

    Args:
        written: the file of the settings.
        history: `catalog_history`.
        moment: None is after all snapshots.
    """
    shown: dict[Place, dict[Name, str | None]] = {}
    first: dict[tuple[Place, Name], str] = {}
    for fact in history:
        place, name = (fact.instance, fact.database), (fact.kind, fact.name, fact.attribute)
        if fact.valid_from is None:
            first[place, name] = fact.value
        if fact.holds_at(moment):
            # Events say when a queue was turned on or off later: the catalog has what goes before them.
            value = first.get((place, name)) if fact.attribute == "on" else fact.value
            shown.setdefault(place, {})[name] = value
    by_name = {instance.name: instance for instance in written.instances}
    for (instance, database), facts in shown.items():
        before = by_name.get(instance, Instance(name=instance))
        databases = _over(before.databases, (database_of(database, facts),), over_database)
        by_name[instance] = before.model_copy(update={"databases": databases})
    return Catalog(instances=tuple(by_name.values()))


def binding_periods(
    written: Catalog, history: Iterable[CatalogFact]
) -> list[tuple[str, str, str, str, datetime | None, datetime | None]]:
    """The queues of services, each with its period: (instance, database, service, queue, from, to)."""
    rows: list[tuple[str, str, str, str, datetime | None, datetime | None]]
    rows = [(*binding, None, None) for binding in written.service_bindings()]
    known = {row[:3] for row in rows}
    shown = (fact for fact in history if fact.kind == SERVICE)
    return rows + [
        (fact.instance, fact.database, fact.name, fact.value, fact.valid_from, fact.valid_to)
        for fact in shown
        if (fact.instance, fact.database, fact.name) not in known
    ]


def _moment_of(sight: "Sight") -> datetime:
    return sight.moment if isinstance(sight, CatalogChange) else sight.taken_at


class _History:
    """The facts of a database."""

    def __init__(self, place: Place, sights: Sequence["Sight"]) -> None:
        """Take what says something of a database, by its moments."""
        self._place = place
        self._sights = sights
        self._standing: dict[Name, tuple[datetime | None, str, str]] = {}
        self._shown: set[tuple[str, str | None]] = set()
        self._stated: set[Name | tuple[str, str]] = set()
        self._found: list[CatalogFact] = []

    def facts(self) -> list[CatalogFact]:
        """The facts by name and valid_from."""
        for sight in self._sights:
            if isinstance(sight, CatalogChange):
                self._state(sight)
            else:
                self._show(sight)
        for name in [*self._standing]:
            self._end(name, None)
        # Facts of one name stand in order of time.
        return sorted(self._found, key=lambda fact: (fact.kind, fact.name, fact.attribute))

    def _show(self, snapshot: ServerSnapshot) -> None:
        facts, moment = snapshot.facts(), snapshot.taken_at
        listed = {LISTED[view] for view in LISTED.keys() & snapshot.small.keys() & snapshot.complete}
        shown = {(kind, row["name"]) for view, kind in LISTED.items() for row in snapshot.small.get(view, [])}
        for name in [*self._standing]:
            if name[0] in listed and name[:2] not in shown:
                self._end(name, moment)
        for name, value in facts.items():
            is_first = self._shown.isdisjoint([(name[0], name[2]), (name[0], None)])
            is_first = is_first and self._stated.isdisjoint([name, name[:2]])
            self._set(name, value, moment, None if is_first else moment, "snapshot")
        self._shown |= {(kind, attribute) for kind, _, attribute in facts}
        self._shown |= {(kind, None) for kind in listed - {kind for kind, _ in shown}}

    def _state(self, change: CatalogChange) -> None:
        """What a statement sets; CREATE and DROP end all that stood of the name."""
        thing = (change.kind, change.name)
        values = {(*thing, attribute): value for attribute, value in change.values.items()}
        if change.verb is not StatementType.ALTER:
            self._stated.add(thing)
            for name in [*self._standing]:
                if name[:2] == thing and name not in values:
                    self._end(name, change.moment)
        self._stated |= values.keys()
        for name, value in values.items():
            self._set(name, value, change.moment, change.moment, "ddl-log")

    def _set(
        self, name: Name, value: str | None, moment: datetime, valid_from: datetime | None, source: str
    ) -> None:
        if name in self._standing:
            if value is not None and is_same_value(name, self._standing[name][1], value):
                return
            self._end(name, moment)
        if value is not None:
            self._standing[name] = (valid_from, value, source)

    def _end(self, name: Name, moment: datetime | None) -> None:
        valid_from, value, source = self._standing.pop(name)
        if valid_from is not None and valid_from == moment:
            return
        self._found.append(CatalogFact(*self._place, *name, valid_from, value, moment, source))


def _over(
    written: Sequence[Named], shown: Sequence[Named], merge: Callable[[Named, Named], Named]
) -> tuple[Named, ...]:
    """Entries by name: those that are written, with what is shown of them, and then the others."""
    by_name: dict[str, Named] = {each.name: each for each in written}
    for each in shown:
        by_name[each.name] = merge(by_name[each.name], each) if each.name in by_name else each
    return tuple(by_name.values())


def over_database(written: Database, shown: Database) -> Database:
    """A database: each key that is written, and what is shown where nothing is written."""
    merged = _over_keys(written, shown)
    update: dict[str, object] = {
        "queues": _over(written.queues, shown.queues, _over_queue),
        "services": _over(written.services, shown.services, lambda one, _: one),
        # Of a database in the file it is off where nothing says it.
        "honor_broker_priority": bool(merged.honor_broker_priority),
    }
    return merged.model_copy(update=update)


def _over_queue(written: Queue, shown: Queue) -> Queue:
    """A queue; one that is written with event notifications has no activation but its own."""
    merged = _over_keys(written, shown)
    if written.event_notification and not written.activation:
        return merged.model_copy(update={"activation": None})
    if written.activation and shown.activation:
        return merged.model_copy(update={"activation": _over_keys(written.activation, shown.activation)})
    return merged


def _over_keys(written: OneShape, shown: OneShape) -> OneShape:
    """What is shown, with the keys that are written."""
    return shown.model_copy(update={name: getattr(written, name) for name in written.model_fields_set})
