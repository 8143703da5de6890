"""Which database rows belong to: names that databases go by together, and copies that are left out."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import itemgetter
from typing import TypeVar

from pipelines.config import model
from pipelines.config.catalog import Catalog, Database, Instance
from pipelines.config.errors import ConfigError, InputError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import name_parts, queue_text
from pipelines.config.yaml_file import Loc, YamlFile
from pipelines.rules.statements import CatalogChange, HonorSetting, RuleFile, RuleStatement
from pipelines.server.captures.faults import short_path
from pipelines.server.snapshots.server import ServerSnapshot, in_order

Stated = TypeVar("Stated", RuleStatement, HonorSetting, CatalogChange)
PLACE = ("instance", "database")
OWN = ("own_instance", "own_database")
"""What the alias of a database replaced."""
Place = tuple[str, str]
"""Instance and database."""
AT_ONCE = timedelta(seconds=60)
"""Captures of one database from two servers that are closer than this show one moment."""


@dataclass(frozen=True)
class Places:
    """What the settings say of databases.

    Attributes:
        aliases: the place that a database goes by, by its own.
        left_out: databases whose rows do not count.
    """

    aliases: Mapping[Place, Place] = field(default_factory=dict)
    left_out: frozenset[Place] = frozenset()

    def of(self, place: Place) -> Place:
        """The place that a database goes by."""
        return self.aliases.get(place, place)

    def describe(self) -> list[list[tuple[str, ...]]]:
        """Both as values that JSON has, in order; empty where the settings say nothing."""
        if not self.aliases and not self.left_out:
            return []
        return [sorted((*own, *other) for own, other in self.aliases.items()), sorted(self.left_out)]


def places_of(file: YamlFile, declared: model.SettingsFile) -> Places:
    """What `aliases` and `leave_out` of the settings say.

    Raises:
        ConfigError: a database has two aliases, or an alias and is left out.
    """
    problems: list[str] = []
    aliases: dict[Place, Place] = {}
    for alias, databases in declared.aliases.items():
        for names in databases:
            places = [*map(_place, names)]
            for place in places:
                if place in aliases:
                    message = f"{queue_text(place)} has the alias {aliases[place][0]}, too; remove one"
                    problems.append(file.problem(("aliases", alias), message))
                aliases[place] = (alias, places[-1][1])
    left_out: dict[Place, Loc] = {
        _place(name): ("snapshots", number, "leave_out")
        for number, each in enumerate(declared.snapshots)
        if isinstance(each, model.Captures)
        for name in each.leave_out
    }
    for place, loc in left_out.items():
        if place in aliases:
            message = f"{queue_text(place)} has the alias {aliases[place][0]}; remove one of the two"
            problems.append(file.problem(loc, message))
    ConfigError.raise_any(problems)
    return Places({own: to for own, to in aliases.items() if own != to}, frozenset(left_out))


def _place(name: str) -> Place:
    instance, database = name_parts(name)
    return instance, database


@dataclass(frozen=True)
class PlacedSnapshots:
    """Snapshots under the names that their databases go by, each group in order.

    Attributes:
        counted: those that count.
        left_out: those of databases that are left out.
        replaced: those that do not count beside one of the writable database.
    """

    counted: tuple[ServerSnapshot, ...]
    left_out: tuple[ServerSnapshot, ...]
    replaced: tuple[ServerSnapshot, ...]


def place_snapshots(snapshots: Iterable[ServerSnapshot], places: Places) -> PlacedSnapshots:
    """Put snapshots under the names of their databases.

    Of two snapshots of one database that two servers show at once, the writable one counts. Known captures
    between two with the same catalog are left out of those that count.
    """
    placed = [replace(each, place=places.of(each.database_key)) for each in snapshots]
    writable: dict[Place, list[tuple[datetime, Place]]] = {}
    for each in placed:
        if each.is_read_only is False:
            writable.setdefault(each.database_key, []).append((each.taken_at, each.own_key))
    for moments in writable.values():
        moments.sort()
    counted, left_out, replaced = [], [], []
    for each in placed:
        if each.database_key in places.left_out:
            left_out.append(each)
        elif _is_beside_writable(each, writable.get(each.database_key, ())):
            replaced.append(each)
        else:
            counted.append(each)
    _require_different_moments(counted)
    changes = _leave_out_unchanged(in_order(counted)) if replaced else in_order(counted)
    return PlacedSnapshots(changes, in_order(left_out), in_order(replaced))


def _is_beside_writable(snapshot: ServerSnapshot, writable: Sequence[tuple[datetime, Place]]) -> bool:
    """Whether another server shows the database writable at that moment, and this one does not."""
    if snapshot.is_read_only is False:
        return False
    first = bisect_right(writable, snapshot.taken_at - AT_ONCE, key=itemgetter(0))
    last = bisect_left(writable, snapshot.taken_at + AT_ONCE, key=itemgetter(0))
    return any(own != snapshot.own_key for _, own in writable[first:last])


def _leave_out_unchanged(snapshots: Sequence[ServerSnapshot]) -> tuple[ServerSnapshot, ...]:
    """The snapshots, without those of known captures between two of the same database and catalog."""
    of_databases: dict[Place, list[ServerSnapshot]] = {}
    for each in snapshots:
        of_databases.setdefault(each.database_key, []).append(each)
    unchanged = {
        id(own)
        for several in of_databases.values()
        for before, own, after in zip(several, several[1:], several[2:], strict=False)
        if not own.files and _is_same(before, own) and _is_same(own, after)
    }
    return tuple(each for each in snapshots if id(each) not in unchanged)


def _is_same(one: ServerSnapshot, other: ServerSnapshot) -> bool:
    return (
        one.own_key == other.own_key
        # Captures that are known share the catalogs that they have in common.
        and one.small is other.small
        and one.complete == other.complete
    )


def _require_different_moments(snapshots: Iterable[ServerSnapshot]) -> None:
    """Refuse two snapshots of one database at one moment: which of them would count?

    Raises:
        InputError: there are such; one line a pair.
    """
    first: dict[tuple[Place, datetime], ServerSnapshot] = {}
    problems = []
    for each in snapshots:
        before = first.setdefault((each.database_key, each.taken_at), each)
        if before is not each:
            paths = " and ".join(short_path(one.declared.path) for one in (before, each))
            moment = format_instant(each.taken_at)
            problems.append(
                f"snapshots: {paths} show {queue_text(each.database_key)} at {moment}, and not which of the "
                "two databases is writable; leave one of the two there"
            )
    InputError.raise_any(problems)


def place_catalog(catalog: Catalog, places: Places) -> Catalog:
    """The catalog with databases under the names that they go by; of several the last one counts."""
    if not places.aliases:
        return catalog
    by_instance: dict[str, dict[str, Database]] = {}
    for instance in catalog.instances:
        by_instance.setdefault(instance.name, {})
        for database in instance.databases:
            alias, name = places.of((instance.name, database.name))
            by_instance.setdefault(alias, {})[name] = database.model_copy(update={"name": name})
    return Catalog(
        instances=tuple(
            Instance(name=name, databases=tuple(databases.values()))
            for name, databases in by_instance.items()
        )
    )


def place_rules(rule_files: Iterable[RuleFile], places: Places) -> list[RuleFile]:
    """The rule files with statements of the databases under the names that they go by."""
    if not places.aliases:
        return list(rule_files)
    return [
        replace(
            file,
            statements=tuple(_placed(each, places) for each in file.statements),
            honor_settings=tuple(_placed(each, places) for each in file.honor_settings),
            catalog_changes=tuple(_placed(each, places) for each in file.catalog_changes),
        )
        for file in rule_files
    ]


def _placed(stated: Stated, places: Places) -> Stated:
    instance, database = places.of((stated.instance, stated.database))
    return replace(stated, instance=instance, database=database)
