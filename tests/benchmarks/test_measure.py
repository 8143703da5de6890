"""What the tables make of several runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.measure import DUCKDB, EMBEDDED, FLOOR, SPARK, Measure, Results
from benchmarks.readings import gibibytes, steps_of
from benchmarks.targets import HEADINGS, Row, rows
from tests.support.packages import needs_whole_pyspark

RUN = Measure(
    experiment="cold",
    case="1,000 messages",
    system=EMBEDDED,
    messages=1_000,
    events=6_000,
    bytes_in=10,
    seconds=30.0,
    cpu_seconds=50.0,
    peak_bytes=2**31,
    commits=9,
    steps={"rules": 1.0, "fold": 20.0},
)

PEER = replace(RUN, system=DUCKDB, seconds=10.0, steps={}, commits=0)


def test_medians_of_rounds_and_times_the_peer() -> None:
    slower = replace(RUN, seconds=40.0, steps={"rules": 3.0, "fold": 30.0})
    results = Results([RUN, PEER, slower, PEER])
    ours = results.of("cold", "1,000 messages", EMBEDDED)
    assert ours is not None
    assert (ours.seconds, ours.steps) == (35.0, {"rules": 2.0, "fold": 25.0})
    assert results.times_the_peer(ours) == 3.5
    assert results.times_the_peer(replace(ours, case="another")) is None


def test_each_target_beside_what_was_measured() -> None:
    spark = replace(RUN, system=SPARK, seconds=90.0)
    floor = replace(RUN, system=FLOOR + EMBEDDED, seconds=7.0)
    activation = replace(RUN, experiment="activation", steps={"activation": 12.0})
    assert rows(Results([RUN, spark, PEER, floor, activation])) == [
        Row(
            "1,000 messages, without activation",
            "embedded 2 x DuckDB, Spark 90 s",
            embedded="30.0 s, 3.0 x, 2.0 GiB",
            spark="90.0 s, 9.0 x, 2.0 GiB",
            duckdb="10.0 s",
            floor_embedded="7.0 s",
        ),
        Row("1,000 messages, its activation", "embedded 60 s, Spark 150 s at 15 million", embedded="12.0 s"),
    ]


def test_ratios_are_those_of_the_same_system() -> None:
    growth = [
        replace(
            RUN, experiment="growth", case=f"{messages}", messages=messages, seconds=seconds, system=system
        )
        for messages, seconds, system in (
            (10, 10.0, EMBEDDED),
            (10, 30.0, SPARK),
            (30, 36.0, EMBEDDED),
            (30, 45.0, SPARK),
        )
    ]
    (row,) = rows(Results(growth))
    assert row.cells() == (
        "growth, 10 to 30: time per message, times",
        "1.3",
        "1.20",
        "0.50",
        *["-"] * 3,
    )
    assert len(row.cells()) == len(HEADINGS)


def test_the_last_of_many_nights_and_what_it_reads() -> None:
    nights = [
        replace(RUN, experiment="history", case=f"night {number} of 3", bytes_read=number * 10**6)
        for number in (1, 2, 3)
    ]
    found = rows(Results([*nights, replace(PEER, experiment="history", case="night 3 of 3")]))
    assert [(row.what, row.embedded, row.duckdb) for row in found] == [
        ("night 2 of 3", "30.0 s, 2 MB read", "-"),
        ("night 3 of 3", "30.0 s, 3 MB read", "10.0 s"),
    ]


def test_commits_and_jobs() -> None:
    small = replace(RUN, experiment="commits", case="night 2 of 2")
    (row,) = rows(Results([small, replace(small, system=SPARK, jobs=140)]))
    assert (row.embedded, row.spark) == ("9 commits", "9 commits, 140 jobs")


def test_a_run_as_text() -> None:
    cells = report.run_cells(Results([RUN, PEER]), RUN)
    assert dict(zip(report.RUNS, cells, strict=True)) == {
        "experiment": "cold",
        "case": "1,000 messages",
        "system": "embedded",
        "events": "6,000",
        "in": "10 B",
        "out": "0 B",
        "seconds": "30.0",
        "x DuckDB": "3.0",
        "processor": "50.0",
        "peak memory": "2.1 GB",
        "read": "0 B",
        "commits": "9",
    }


@needs_whole_pyspark
def test_results_of_several_calls_are_kept_together(tmp_path: Path) -> None:
    other = replace(RUN, case="2,000 messages")
    report.keep([RUN, PEER, other], tmp_path)
    again = replace(RUN, seconds=20.0)
    as_json, as_markdown, picture = report.keep([again, PEER], tmp_path)
    assert as_json.read_text().count('"system": "embedded"') == 2
    text = as_markdown.read_text()
    assert "| 1,000 messages, without activation |" in text
    assert "| cold | 2,000 messages | embedded |" in text
    assert "- cold, 1,000 messages, embedded (): rules 1, fold 20" in text
    assert "20.0 s, 2.0 x" in text
    assert picture.stat().st_size > 1_000


@needs_whole_pyspark
def test_results_of_another_machine_are_not_mixed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report.keep([replace(RUN, case="before")], tmp_path)
    monkeypatch.setattr(report, "machine", lambda: "another")
    as_json, *_ = report.keep([RUN], tmp_path)
    assert "before" not in as_json.read_text()


def test_steps_that_were_said() -> None:
    said = ["rules ...", "rules done in 4.2 s: 12 rule versions", "WARNING: no", "fold done in 10.0 s"]
    assert steps_of(said) == {"rules": 4.2, "fold": 10.0}


@pytest.mark.parametrize(("given", "expected"), [("4g", "4GiB"), ("512m", "512MiB"), ("8GiB", "8GiB")])
def test_memory_as_duckdb_writes_it(given: str, expected: str) -> None:
    assert gibibytes(given) == expected
