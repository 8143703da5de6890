"""Days that were counted once for the coverage of rules: they count until what they hold changes."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs import coverage, ingest, ledger, rules
from pipelines.settings.load import Settings, load_settings
from tests.factories import (
    Events,
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    short_talk,
)
from tests.harness import Project

Row = dict[str, Any]
FIRST, SECOND, THIRD = date(2026, 11, 20), date(2026, 11, 21), date(2026, 11, 22)


def altered(effective_from: datetime, level: int) -> Row:
    """A statement that gives R another level."""
    statement = create_rule("R", level, effective_from=effective_from)
    del statement["create"]
    return statement | {"alter": {"name": "R", "level": level}}


class Nights:
    """A warehouse that grows, and what the coverage says of it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.project = Project(folder, catalog=catalog(), rules=[create_rule("R", 7)])
        rules.run(spark, self.settings)

    @property
    def settings(self) -> Settings:
        return load_settings(self.project.config)

    def fold(self, events: Events) -> None:
        self.project.add(events)
        ingest.run(self.spark, self.settings, run_id="r", started_at=datetime(2026, 12, 1, tzinfo=UTC))
        ledger.run(self.spark, self.settings)

    def edit(self, *statements: Row) -> None:
        self.project.set_rules(statements)
        rules.run(self.spark, self.settings)

    def cover(self, as_of: datetime) -> dict[Any, tuple[int, int]]:
        """Endpoints and conversations by level; that of the default is 5."""
        coverage.run(self.spark, self.settings, as_of)
        rows = [row for row in self.project.table("rule_coverage") if row["as_of"] == as_of]
        return {row["level"]: (row["endpoints"], row["conversations"]) for row in rows if row["endpoints"]}

    @property
    def kept(self) -> dict[date, list[tuple[str | None, int]]]:
        """What is kept by day: endpoints by rule."""
        days: dict[date, list[tuple[str | None, int]]] = {}
        for row in self.project.table("rule_uses"):
            days.setdefault(row["closed_on"], []).append((row["rule_name"], row["endpoints"]))
        return {day: sorted(rows, key=str) for day, rows in days.items()}

    def add_to_kept(self, endpoints: int) -> None:
        """Falsify what is kept of R, which tells what is counted anew."""
        added = {"endpoints": f"endpoints + {endpoints}"}
        self.table().update(updates=added, predicate="rule_name = 'R'")

    def table(self) -> DeltaTable:
        return DeltaTable(str(self.project.folder / "warehouse" / "rule_uses"))


@pytest.mark.slow
def test_a_closed_day_is_counted_once_and_anew_where_it_changed(spark: SparkSession, tmp_path: Path) -> None:
    nights = Nights(spark, tmp_path)
    talks = [short_talk(f"c{day}", day, ends=day < 3) for day in range(5)]
    nights.fold({source: [row for talk in talks for row in talk[source]] for source in talks[0]})
    # What a conversation's end closes is closed by the fold after it.
    nights.fold(short_talk("c5", 4, ends=False))
    now = at(10, day=4)

    assert nights.cover(now) == {7: (6, 6), 5: (6, 6)}
    assert nights.kept == {day: [("R", 1), (None, 1)] for day in (FIRST, SECOND, THIRD)}

    # Again: nothing is counted, and what is kept is what counts.
    nights.add_to_kept(100)
    version = nights.table().version()
    assert nights.cover(now) == {7: (306, 6), 5: (6, 6)}
    assert nights.table().version() == version

    # An earlier moment: no day lies far enough behind it.
    assert nights.cover(at(5, day=1)) == {7: (2, 2), 5: (2, 2)}

    # Late news of the second day: the first conversation was over a day later. Nothing is left of its day.
    nights.fold(by_source(endpoint_event("END_CONVERSATION", "c0", event_id="late", event_time=at(day=1))))
    assert nights.cover(now) == {7: (106, 6), 5: (6, 6)}
    assert nights.kept[SECOND] == [("R", 2), (None, 2)]

    # A rule that was another one from before the third day, and is again from now on: of what is kept
    # only the third day is counted anew.
    nights.add_to_kept(1000)
    nights.edit(create_rule("R", 7), altered(at(-30, day=2), 9), altered(now, 1))
    assert nights.cover(now) == {7: (1002, 2), 9: (4, 4), 5: (6, 6)}
