"""After pruning, later as_ofs have the tables of a warehouse that was never pruned, also with late events."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.ingest import ingest as fold
from pipelines.ingest.late_events import SMALL_HISTORY
from pipelines.nightly.night import describe
from pipelines.storage.maintain import maintain
from schemas.events import CREATIONS
from schemas.ledger import ENDPOINTS
from tests.support.factories import Events
from tests.support.harness import SOURCES, Project, Row, difference, one_log
from tests.support.nights import stretched
from tests.support.random_logs import PUBLIC, project_of, random_logs
from tests.support.strategies import Log
from tests.support.strategies.base import START

pytestmark = pytest.mark.long

LOGS = 8
DAY = timedelta(days=1)
FIRST_LEFT = START.date() + 2 * DAY
"""Of a log of four days, of which a batch each was ingested; the day before the newest one."""
LEDGER = ENDPOINTS.name, "endpoint_events", "message_events", "queue_events"
AS_OFS = (START + timedelta(hours=34), START + timedelta(hours=80))
"""Moments of days that are left, from the first one on."""


def days_of(log: Log, share_of_late: float, random: Random) -> tuple[list[Events], Events]:
    """The events by their UTC day, and some of days that are left, which come late."""
    by_day: dict[date, Events] = {}
    late: Events = {source: [] for source in SOURCES}
    for source, rows in log.events.items():
        for row in rows:
            day = row["event_time"].date()
            is_late = day >= FIRST_LEFT and random.random() < share_of_late
            batch = by_day.setdefault(day, {source: [] for source in SOURCES})
            (late if is_late else batch)[source].append(row)
    return [by_day[day] for day in sorted(by_day)], late


def with_ends(log: Log, random: Random) -> Log:
    """The log with an end of both endpoints of most conversations, as random ones seldom end."""
    ends = []
    chosen = {
        id for id in sorted({row["conversation_id"] for row in log.endpoint_events}) if random.random() < 0.7
    }
    for row in log.endpoint_events:
        if row["event_type"] in CREATIONS and row["conversation_id"] in chosen:
            moment = row["event_time"] + timedelta(hours=random.randrange(30))
            for is_initiator in (True, False):
                ends.append(
                    row
                    | {
                        "event_id": f"end {is_initiator} {row['event_id']}",
                        "event_time": moment,
                        "event_type": "END_CONVERSATION",
                        "is_initiator": is_initiator,
                    }
                )
    return replace(log, endpoint_events=[*log.endpoint_events, *ends])


class Pruned(Project):
    """The same inputs and settings with a copy of the warehouse beside it, pruned."""

    def __init__(self, whole: Project, session: SparkSession) -> None:
        """Copy, and keep the newest day of the log and the day before."""
        self.folder, self.nights = whole.folder, whole.nights
        settings = Path(whole.config).read_text()
        Path(self.config).write_text(settings.replace("warehouse: warehouse", "warehouse: pruned"))
        root = self.folder / "pruned"
        shutil.copytree(self.folder / "warehouse", root)
        self.lines = maintain(str(root), keep_event_days=1, keep_hours=0, spark=session)

    @property
    def config(self) -> str:
        return str(self.folder / "pruned.yaml")

    def table(self, name: str, columns: Iterable[str] | None = None) -> list[Row]:
        rows = DeltaTable(str(self.folder / "pruned" / name)).to_pyarrow_table().to_pylist()
        return rows if columns is None else [{column: row[column] for column in columns} for row in rows]


def left(rows: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """The rows of the ledger's tables that are open or were closed on a day that is left."""
    return {
        table: [row for row in rows[table] if row["closed_on"] is None or row["closed_on"] >= FIRST_LEFT]
        for table in LEDGER
    }


def rows_of(project: Project, tables: Iterable[str]) -> dict[str, list[Row]]:
    """The rows of tables by their names."""
    return {table: project.table(table) for table in tables}


def require_same(found: Mapping[str, Sequence[Row]], expected: Mapping[str, Sequence[Row]]) -> None:
    for table, rows in expected.items():
        assert difference(found[table], rows) == [], table


def run_all(project: Project, session: SparkSession) -> dict[str, list[Row]]:
    """Take in what is new, and describe AS_OFS."""
    project.run(session, AS_OFS[-1])
    for as_of in AS_OFS[:-1]:
        describe(project.warehouse(session), project.settings(), as_of)
    return rows_of(project, {*LEDGER, *PUBLIC})


HISTORIES = {"large": 0, "small": SMALL_HISTORY}
"""Accepted events up to which a late event searches all closed rows."""


def of_rows_left(late: Events, before: Mapping[str, Sequence[Row]]) -> Events:
    """The late events that refer to no row that was closed on a pruned day."""
    pruned = [
        row for rows in before.values() for row in rows if row["closed_on"] and row["closed_on"] < FIRST_LEFT
    ]
    names = ("message_id", "conversation_id", "transaction_id")
    ids = {(name, row[name]) for row in pruned for name in names if row.get(name) is not None}
    return {
        source: [row for row in rows if not ids & {(name, row.get(name)) for name in names}]
        for source, rows in late.items()
    }


class Days(NamedTuple):
    """Four days of random logs, a batch each, in a whole and a pruned warehouse; late events are to come."""

    project: Project
    pruned: Pruned
    late: Events


@pytest.fixture(scope="module")
def both(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Days:
    log = with_ends(stretched(one_log(random_logs(LOGS, 51)), 4), Random(52))
    by_day, late = days_of(log, 0.15, Random(51))
    project = project_of(tmp_path_factory.mktemp("days"), log, activation=None)
    for events in by_day:
        project.add(events)
        project.take_in(session)
    return Days(project, Pruned(project, session), late)


@pytest.fixture
def days(both: Days, tmp_path: Path) -> Days:
    """A copy without the files of events, which it has ingested under other names."""
    project, pruned = both.project.copied(tmp_path), copy(both.pruned)
    pruned.folder = tmp_path
    for file in tmp_path.glob("*_events/*.jsonl"):
        file.unlink()
    return Days(project, pruned, both.late)


@pytest.mark.parametrize("history", HISTORIES)
def test_later_as_ofs_are_those_of_a_whole_ledger(
    session: SparkSession, days: Days, monkeypatch: pytest.MonkeyPatch, history: str
) -> None:
    """In a large history no late event finds rows closed before its own day, so nothing differs.

    In a small one late events find all rows; those that refer to pruned rows are left out.
    """
    monkeypatch.setattr(fold, "SMALL_HISTORY", HISTORIES[history])
    project, pruned, late = days
    assert [line.partition(": delete ")[0] for line in pruned.lines[:4]] == list(LEDGER)
    before = rows_of(project, LEDGER)
    require_same(rows_of(pruned, LEDGER), left(before))

    project.add(late if history == "large" else of_rows_left(late, before))
    expected, found = run_all(project, session), run_all(pruned, session)
    require_same(found, expected | left(expected))
    assert pruned.table("rejected_events") == []
    moved = [row for row in found["message_events"] if row["closed_on"] and row["batch"] < row["fold"] == 5]
    assert moved
    assert {row["as_of"] for row in found["receive_schedule"]} == set(AS_OFS)
