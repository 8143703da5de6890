"""The pictures over time, from a warehouse with a few rows of `waits`."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.report import over_time
from pipelines.report.cells import NO_VALUE
from pipelines.report.charts import Chart, make_charts
from pipelines.report.over_time import read_over_time
from pipelines.report.tables import PageData
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import RUNS, WAITS
from schemas.reading import as_of_key
from tests.support.factories import Row, at
from tests.support.written import ended_run, write

AS_OFS = [at(60, day=day) for day in (-4, -3, -2, -1, 0)]
PRUNED, QUIET, EARLY, OLDER_VERSION, LAST = AS_OFS


def wait(as_of: datetime, queue: str | None, level: int, ready: int, held: int, oldest: int) -> Row:
    return {
        "as_of": as_of,
        "as_of_key": as_of_key(as_of),
        "kind": "receive" if queue else "transmission",
        "instance": "SQL1",
        "database": "Claims" if queue else None,
        "queue": queue,
        "level": level,
        "ready": ready,
        "held": held,
        "oldest_seconds": oldest,
        "p95_seconds": float(oldest),
    }


def published(as_of: datetime, waits: int | None) -> Row:
    counts = {"findings": 0} if waits is None else {"findings": 0, "waits": waits}
    return ended_run(f"r{as_of}", as_of, started_at=as_of, row_counts=counts)


@pytest.fixture(scope="module")
def warehouse(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    made = Warehouse(session, str(tmp_path_factory.mktemp("over_time")))
    counts = {PRUNED: 3, QUIET: 0, EARLY: 3, OLDER_VERSION: None, LAST: 3}
    failed = ended_run("failed", at(60, day=1), "failed", started_at=at(61, day=1), row_counts={"waits": 1})
    write(made, RUNS, [*(published(as_of, rows) for as_of, rows in counts.items()), failed])
    rows = [
        wait(EARLY, "Orders", 9, 30, 10, 600),
        wait(EARLY, "Orders", 5, 10, 0, 7200),
        wait(EARLY, None, 5, 20, 0, 60),
        wait(LAST, "Orders", 5, 5, 0, 3600),
        wait(LAST, "Letters", 5, 1, 0, 1800),
        wait(LAST, None, 1, 2, 0, 30),
        wait(at(60, day=1), "Orders", 5, 1000, 0, 90000),
    ]
    write(made, WAITS, rows)
    return made


def charts(warehouse: Warehouse, as_of: datetime) -> list[Chart]:
    return make_charts(PageData(as_of, read_over_time(warehouse, as_of)))


def test_messages_by_queue_and_the_oldest_wait_by_level(warehouse: Warehouse) -> None:
    messages, waits = charts(warehouse, LAST)
    when = "at 3 as_ofs from 2026-11-17 13:00:00 to 2026-11-20 13:00:00"
    assert messages.title == f"Messages by queue {when}"
    # QUIET, EARLY after a day, LAST after two: 0, 50 and 5 of 50 messages; 24 is the ground.
    assert [(bar.label, bar.figure, bar.line) for bar in messages.bars] == [
        ("SQL1.Claims.Orders", "5 · most 50", "M0.0 24.0h.5L120.0 0.0L360.0 21.6"),
        ("SQL1, to send", "2 · most 20", "M0.0 24.0h.5L120.0 14.4L360.0 23.0"),
        ("SQL1.Claims.Letters", "1 · most 1", "M0.0 24.0h.5L120.0 24.0L360.0 23.5"),
    ]
    assert waits.title == f"Oldest wait by level {when}"
    assert [(bar.label, bar.figure, bar.line) for bar in waits.bars] == [
        ("level 9", f"{NO_VALUE} · most 10 min", "M120.0 22.0h.5"),
        ("level 5", "1 h · most 2 h", "M120.0 0.0h.5L360.0 12.0"),
        ("level 1", "30 s · most 30 s", "M360.0 23.9h.5"),
    ]


def test_places_beyond_the_largest_are_one_line(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_time, "LINES", 1)
    messages, _ = charts(warehouse, LAST)
    assert [(bar.label, bar.figure) for bar in messages.bars] == [
        ("SQL1.Claims.Orders", "5 · most 50"),
        ("2 more places", "3 · most 20"),
    ]


def test_the_newest_as_ofs_are_shown_and_one_is_no_picture(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert charts(warehouse, LAST - timedelta(days=2)) != []
    assert charts(warehouse, QUIET) == []
    monkeypatch.setattr(over_time, "POINTS", 2)
    messages, _ = charts(warehouse, LAST)
    assert messages.bars[0].line == "M0.0 0.0h.5L360.0 21.6"


def test_a_warehouse_of_an_older_version_has_no_pictures(session: SparkSession, tmp_path: Path) -> None:
    old = Warehouse(session, str(tmp_path))
    write(old, RUNS, [published(OLDER_VERSION, None)])
    assert charts(old, LAST) == []
