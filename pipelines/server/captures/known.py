"""The captures that a warehouse has taken: no file of theirs is opened again."""

import hashlib
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeAlias

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from pipelines.config.errors import PipelineError, foreign_value
from pipelines.config.paths import URI
from pipelines.server.snapshots.places import AT_ONCE, Place
from pipelines.server.snapshots.server import CapturedSnapshot, ServerSnapshot
from pipelines.server.snapshots.views import CATALOG_VIEWS, columns_in_files
from schemas.outputs import BATCHES, CAPTURES

Moment: TypeAlias = tuple[str, str, datetime]
"""Instance and database as the server names them, and the taken_at of a capture."""
AS_JSON = ("databases", "catalogs", "listed")
"""The columns of the table that are JSON."""


@dataclass(frozen=True)
class KnownDatabase:
    """A database of a capture.

    Attributes:
        name: its name.
        catalog: the hash of its catalog.
        rule_lines: the lines of its rules.
        complete: the views of the catalog that show all rows; an older version took all for such.
    """

    name: str
    catalog: str
    rule_lines: tuple[int, ...]
    complete: tuple[str, ...] = ()

    @classmethod
    def of(cls, snapshot: ServerSnapshot) -> "KnownDatabase":
        """What is to be known of a snapshot."""
        complete = sorted(snapshot.complete & snapshot.small.keys())
        return cls(
            snapshot.declared.database,
            hash_catalog(snapshot.small),
            tuple(snapshot.rule_lines),
            tuple(complete),
        )

    @property
    def shown(self) -> tuple[str, tuple[str, ...]]:
        """What it shows of the catalog; captures with the same show the same."""
        return self.catalog, self.complete


@dataclass(frozen=True)
class KnownCapture:
    """A file of a capture that was taken: a row of the table `captures`.

    Attributes:
        id: of the capture.
        path: the file.
        length: its bytes.
        modified_at: when it was last changed, UTC.
        sha256: of the capture's lines.
        server: the server's own name.
        instance: what the server was called.
        taken_at: the moment that it shows, UTC.
        first_seen: when the run began that took it, UTC.
        databases: those that it shows.
        catalogs: catalogs by hash that no capture before it had: rows by view.
        listed: the names of all databases that it lists, read or not; None where an older version took it.
        utc_offset_minutes: of the server's clock; None if it is not known.
    """

    id: str
    path: str
    length: int
    modified_at: datetime
    sha256: str
    server: str
    instance: str
    taken_at: datetime
    first_seen: datetime | None
    databases: tuple[KnownDatabase, ...]
    catalogs: Mapping[str, Mapping[str, list[dict[str, Any]]]]
    listed: tuple[str, ...] | None = None
    utc_offset_minutes: int | None = None

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> "KnownCapture":
        """The capture of a row of the table."""
        databases = [
            KnownDatabase(
                each["name"],
                each["catalog"],
                tuple(each["rule_lines"]),
                tuple(each.get("complete", CATALOG_VIEWS)),
            )
            for each in json.loads(row["databases"])
        ]
        read: dict[str, Any] = {each.name: row.get(each.name) for each in fields(cls)}
        read |= {
            "id": row["capture_id"],
            "databases": tuple(databases),
            "catalogs": {key: dict(views) for key, views in json.loads(row["catalogs"]).items()},
            "listed": None if row.get("listed") is None else tuple(json.loads(row["listed"])),
        }
        return cls(**read)

    def row(self) -> tuple[Any, ...]:
        """The values of the columns of the table behind `batch`."""
        values = [(each.name, getattr(self, each.name)) for each in fields(self)]
        return tuple(
            json.dumps(value, default=asdict) if name in AS_JSON and value is not None else value
            for name, value in values
        )


def read_known(root: str) -> list[KnownCapture]:
    """The captures that completed batches of a warehouse took.

    Args:
        root: the warehouse's folder or URI. Where only an engine can open it, no capture is known here; their
            ids tell them later.

    Raises:
        PipelineError: a table in a folder is damaged, or is not to be read.
    """
    name = BATCHES.name
    try:
        batches = DeltaTable(f"{root}/{name}").to_pyarrow_table(columns=["batch"]).to_pylist()
        name = CAPTURES.name
        rows = DeltaTable(f"{root}/{name}").to_pyarrow_table().to_pylist()
    except TableNotFoundError:
        return []
    except (DeltaError, OSError) as error:
        if URI.match(root):
            return []
        fault = str(error).partition(chr(10))[0][:200]
        raise PipelineError(
            f"{root}/{name}: the table can't be read ({fault}); restore it from a copy, or give the right to "
            "read it"
        ) from error
    last = max((row["batch"] for row in batches), default=0)
    try:
        return [KnownCapture.of_row(row) for row in rows if row["batch"] <= last]
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise foreign_value(f"{root}/{name}", "databases, catalogs or listed", error) from error


def hash_catalog(small: Mapping[str, list[dict[str, Any]]]) -> str:
    """A hash of the rows of the views that say what catalog and rules are."""
    return hashlib.sha256(json.dumps(small, sort_keys=True).encode()).hexdigest()


def snapshots_of_known(
    known: Iterable[KnownCapture], needed: Container[Moment] = frozenset()
) -> list[ServerSnapshot]:
    """What captures show of catalog and rules, as snapshots without files.

    Of captures of one database that follow each other with the same catalog, the first and the last are
    enough: a change lies between the last of one catalog and the first of the next.

    Args:
        known: the captures.
        needed: what to show beside these.
    """
    files = sorted(known, key=lambda each: (each.id, each.path))
    by_id = {each.id: each for each in files}
    # Of the files that have a capture, one has its catalogs.
    catalogs = {
        hash: {view: _with_nulls(view, rows) for view, rows in catalog.items()}
        for each in files
        for hash, catalog in each.catalogs.items()
    }
    of_database: dict[tuple[str, str], list[tuple[KnownCapture, KnownDatabase]]] = {}
    for capture in sorted(by_id.values(), key=lambda each: (each.taken_at, each.id)):
        for database in capture.databases:
            of_database.setdefault((capture.instance, database.name), []).append((capture, database))
    return [
        ServerSnapshot(
            CapturedSnapshot(capture.path, capture.instance, database.name, capture.taken_at, capture.id),
            {},
            catalogs[database.catalog],
            frozenset(database.complete),
            rule_lines=database.rule_lines,
        )
        for captures in of_database.values()
        for capture, database in _changes(captures, needed)
        if database.catalog in catalogs
    ]


def _with_nulls(view: str, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a catalog with the columns that an older version did not read."""
    nothing: dict[str, Any] = dict.fromkeys(column.name for column in columns_in_files(view))
    return [{**nothing, **row} for row in rows]


def _changes(
    captures: Sequence[tuple[KnownCapture, KnownDatabase]], needed: Container[Moment]
) -> list[tuple[KnownCapture, KnownDatabase]]:
    """The captures of a database, without those between two with the same catalog that are not needed."""
    shown = [None, *(database.shown for _, database in captures), None]
    around = zip(shown, shown[1:], shown[2:], strict=False)
    return [
        each
        for each, (before, own, after) in zip(captures, around, strict=True)
        if not before == own == after or (each[0].instance, each[1].name, each[0].taken_at) in needed
    ]


def find_moments_of_partners(
    captures: Iterable[KnownCapture], aliases: Mapping[Place, Place]
) -> frozenset[Moment]:
    """Find the databases of captures that another server shows at once, under one alias.

    Args:
        captures: all of them, new ones and known ones.
        aliases: `Places.aliases`.
    """
    shared = {*aliases.values()}
    of_places: dict[Place, list[Moment]] = {}
    for capture in captures if shared else ():
        for database in capture.databases:
            own = (capture.instance, database.name)
            if (place := aliases.get(own, own)) in shared:
                of_places.setdefault(place, []).append((*own, capture.taken_at))
    found = set[Moment]()
    for moments in of_places.values():
        in_order = sorted(moments, key=itemgetter(2))
        for at, one in enumerate(in_order):
            for other in in_order[at + 1 :]:
                if other[2] - one[2] >= AT_ONCE:
                    break
                if other[:2] != one[:2]:
                    found |= {one, other}
    return frozenset(found)
