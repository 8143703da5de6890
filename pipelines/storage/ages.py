"""How old the facts of each database are at an as_of, and which databases are gone from their servers."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, functions as F

from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import name_parts
from pipelines.console.wording import format_age, format_count, format_database
from pipelines.rules.tsql_script import quote_name
from pipelines.settings.load import Settings
from pipelines.storage.collect import collect_rows
from pipelines.storage.freshness import OLD, newest_events
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS
from schemas.outputs import CAPTURES, RUNS, SNAPSHOTS

Place: TypeAlias = tuple[str, str]
"""Instance and database."""
SECOND = timedelta(seconds=1)
MOST_TOLD = 5
"""Databases that are told by name."""


@dataclass(frozen=True)
class Ages:
    """The newest fact of each database at an as_of.

    Attributes:
        as_of: the instant.
        newest: of a database that snapshots show its newest snapshot, of others the newest event of their
            instance; without those that have none.
        gone: databases that the newest capture of their server does not list, and the first capture that
            did not. They are in `newest`, too.
        captured: databases that snapshots show.
    """

    as_of: datetime
    newest: Mapping[Place, datetime]
    gone: Mapping[Place, datetime] = field(default_factory=dict)
    captured: frozenset[Place] = frozenset()

    @cached_property
    def stale(self) -> list[dict[str, Any]]:
        """The databases whose newest fact is OLD, by name: instance, database, newest, age_seconds."""
        return [
            {
                "instance": place[0],
                "database": place[1],
                "newest": newest,
                "age_seconds": (self.as_of - newest) // SECOND,
            }
            for place, newest in sorted(self.newest.items())
            if place not in self.gone and self.as_of - newest > OLD
        ]

    def of(self, places: Iterable[Mapping[str, Any]]) -> "Ages":
        """The ages of the databases of places: instance and database, each null for any."""
        asked = {(place["instance"], place["database"]) for place in places}

        def among(moments: Mapping[Place, datetime]) -> dict[Place, datetime]:
            return {
                (instance, database): moment
                for (instance, database), moment in moments.items()
                if any(place[0] in (None, instance) and place[1] in (None, database) for place in asked)
            }

        return replace(self, newest=among(self.newest), gone=among(self.gone))

    def lines(self) -> Iterator[str]:
        """Yield what goes before all figures: databases that are gone, and those whose facts are old."""
        yield from self.gone_lines()
        old = [
            f"{format_database(place)}: the newest {self._kind(place)} is {format_age(self.as_of - newest)} "
            f"older than {format_instant(self.as_of)}, of {format_instant(newest.replace(microsecond=0))}"
            for newest, place in sorted(
                (row["newest"], (row["instance"], row["database"])) for row in self.stale
            )
        ]
        yield from _first(old, "as old or newer")

    def gone_lines(self) -> Iterator[str]:
        """Yield which databases are gone."""
        gone = [
            f"{format_database(place)}: gone since {format_instant(since)}, as captures of its server no "
            f"longer list it; its figures are those of {format_instant(self.newest[place])}"
            for place, since in sorted(self.gone.items())
        ]
        yield from _first(gone, "gone")

    def _kind(self, place: Place) -> str:
        return "capture" if place in self.captured else "event of its instance"

    def values(self) -> tuple[dict[str, datetime], dict[str, datetime]]:
        """`newest_facts` and `databases_gone` of `runs`."""
        return _by_text(self.newest), _by_text(self.gone)


def _first(told: Sequence[str], what: str) -> Iterator[str]:
    yield from told[:MOST_TOLD]
    if len(told) > MOST_TOLD:
        yield f"and {format_count(len(told) - MOST_TOLD, 'more database')}: {what}"


def read_ages(warehouse: Warehouse, settings: Settings, as_of: datetime) -> Ages:
    """The ages at a published as_of, as its last run found them; found anew if an older version ran.

    Args:
        warehouse: the tables.
        settings: the catalog, and where databases are.
        as_of: an as_of that was published.
    """
    runs = warehouse.read(RUNS).where((F.col("as_of") == F.lit(as_of)) & (F.col("status") == "succeeded"))
    rows = collect_rows(runs.select("run_id", "started_at", F.col("newest_facts").isNotNull().alias("knows")))
    last = max(rows, key=itemgetter("started_at"), default=None)
    if last is None or not last["knows"]:
        return find_ages(warehouse, settings, as_of)
    of_run = runs.where(F.col("run_id") == last["run_id"])
    newest, gone = (_places_of(of_run, name) for name in ("newest_facts", "databases_gone"))
    shown = collect_rows(warehouse.read(SNAPSHOTS).select("instance", "database").distinct())
    captured = frozenset(settings.places.of((row["instance"], row["database"])) for row in shown)
    return Ages(as_of, newest, gone, captured)


def find_ages(warehouse: Warehouse, settings: Settings, as_of: datetime) -> Ages:
    """Find the ages of all databases at an as_of."""
    of_place = settings.places.of
    taken = warehouse.read(SNAPSHOTS).where(F.col("taken_at") <= F.lit(as_of))
    shown = {
        (row["instance"], row["database"]): row["newest"]
        for row in collect_rows(taken.groupBy("instance", "database").agg(F.max("taken_at").alias("newest")))
        if (row["instance"], row["database"]) not in settings.places.left_out
    }
    newest: dict[Place, datetime] = {}
    gone: dict[Place, datetime] = {}
    missing = _find_missing(warehouse, shown, as_of)
    for own, moment in sorted(shown.items(), key=itemgetter(1)):
        place = of_place(own)
        newest[place] = moment
        gone.pop(place, None)
        if own in missing:
            gone[place] = missing[own]
    captured = frozenset(newest)
    existing = warehouse.read_left(ENDPOINTS, as_of).where(F.col("created_at") < F.lit(as_of))
    databases = {
        (row["instance"], row["database"])
        for row in collect_rows(existing.select("instance", "database").distinct())
    }
    # All history is read for these alone: an instance of the catalog may have no event at all.
    with_endpoints = {instance for instance, _ in databases - newest.keys()}
    databases |= {(instance, database) for instance, database, _ in settings.catalog.database_rows()}
    others = databases - newest.keys()
    events = newest_events(warehouse, with_endpoints, as_of) if others else {}
    newest |= {place: events[place[0]] for place in others if place[0] in events}
    return Ages(as_of, newest, gone, captured)


def _find_missing(
    warehouse: Warehouse, shown: Mapping[Place, datetime], as_of: datetime
) -> dict[Place, datetime]:
    """The databases that the newest capture of their server does not list, and the first that did not."""
    if not shown:
        return {}
    captures = warehouse.read(CAPTURES).where(F.col("taken_at") <= F.lit(as_of)).where("listed is not null")
    newest = {
        row["instance"]: row
        for row in collect_rows(
            captures.groupBy("instance").agg(
                F.max("taken_at").alias("taken_at"), F.max_by("listed", "taken_at").alias("listed")
            )
        )
    }
    found = {}
    for place, last in shown.items():
        capture = newest.get(place[0])
        if capture is None or capture["taken_at"] <= last or place[1] in json.loads(capture["listed"]):
            continue
        since = captures.where((F.col("instance") == place[0]) & (F.col("taken_at") > F.lit(last)))
        found[place] = min(
            row["taken_at"]
            for row in collect_rows(since.select("taken_at", "listed"))
            if place[1] not in json.loads(row["listed"])
        )
    return found


def _by_text(moments: Mapping[Place, datetime]) -> dict[str, datetime]:
    return {f"{quote_name(place[0])}.{quote_name(place[1])}": moments[place] for place in sorted(moments)}


def _places_of(run: DataFrame, name: str) -> dict[Place, datetime]:
    """A map of a row of `runs`, by instance and database."""
    rows: Iterable[Mapping[str, Any]] = collect_rows(run.select(F.explode(name).alias("text", "moment")))
    found = {}
    for row in rows:
        instance, database = name_parts(row["text"])
        found[instance, database] = row["moment"]
    return found
