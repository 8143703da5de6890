"""What the tables make of several runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from dev.benchmarks import report
from dev.benchmarks.measure import DUCKDB, EMBEDDED, SPARK, Measure, Results
from dev.benchmarks.readings import gibibytes, steps_of
from dev.benchmarks.targets import HEADINGS, Row, rows
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
    spark = replace(RUN, system=SPARK, seconds=85.0)
    assert rows(Results([RUN, spark, PEER])) == [
        Row("cold, 1,000 messages: against DuckDB", EMBEDDED, "1.80 x", "3.00 x", is_met=False),
        Row("cold, 1,000 messages: start to exit", SPARK, "90.0 s", "85.0 s", is_met=True),
    ]
    large = [replace(each, messages=15_000_000, seconds=22.0) for each in (RUN, spark)]
    assert [(row.system, row.target, row.measured) for row in rows(Results([*large, PEER]))] == [
        (EMBEDDED, "2.20 x", "2.20 x"),
        (SPARK, "5.00 x", "2.20 x"),
    ]


def test_targets_of_a_backlog() -> None:
    night = replace(RUN, experiment="backlog", case="5,000,000 messages", messages=5_000_000)
    spark = replace(night, system=SPARK, spark={"jobs": 121})
    skewed = replace(night, experiment="skew", case="5,000,000 messages, half in one group", seconds=36.0)
    peer = replace(night, system=DUCKDB, seconds=12.0)
    results = Results([night, spark, peer, skewed])
    assert [row.cells()[1:] for row in rows(results)] == [
        (EMBEDDED, "2.50 x", "2.50 x", "yes"),
        (EMBEDDED, "8.0 GiB", "2.0 GiB", "yes"),
        (SPARK, "120 jobs", "121 jobs", "no"),
        (EMBEDDED, "1.30 x", "1.20 x", "yes"),
    ]
    assert [row.figure for row in rows(Results([spark]))] == [
        "backlog, 5,000,000 messages: Spark's jobs",
    ]
    small = replace(spark, case="1,000,000 messages", messages=1_000_000, seconds=75.1)
    assert rows(Results([small]))[0].cells()[1:] == (SPARK, "75.0 s", "75.1 s", "no")


def test_ratios_are_those_of_the_same_system() -> None:
    growth = [
        replace(RUN, experiment="growth", case=f"{size}", messages=size, seconds=seconds, system=system)
        for size, seconds, system in (
            (10, 10.0, EMBEDDED),
            (10, 30.0, SPARK),
            (30, 36.0, EMBEDDED),
            (30, 45.0, SPARK),
        )
    ]
    what = "growth, 30: seconds per message, against the smaller night"
    found = [row.cells() for row in rows(Results(growth))]
    assert found == [
        (what, EMBEDDED, "1.30 x", "1.20 x", "yes"),
        (what, SPARK, "1.30 x", "0.50 x", "yes"),
    ]
    assert {len(cells) for cells in found} == {len(HEADINGS)}


def test_the_last_of_many_nights_and_what_it_reads() -> None:
    nights = [
        replace(RUN, experiment="history", case=f"night {number} of 3", bytes_read=number * 10**6)
        for number in (1, 2, 3)
    ]
    last = "history, night 3 of 3"
    found = rows(Results([*nights, replace(PEER, experiment="history", case="night 3 of 3", seconds=75.0)]))
    assert found == [
        Row(f"{last}: against DuckDB over all nights", EMBEDDED, "0.50 x", "0.40 x", is_met=True),
        Row(f"{last}: bytes read, against the second night", EMBEDDED, "1.00 x", "1.50 x", is_met=False),
    ]


def test_commits_and_jobs() -> None:
    small = replace(RUN, experiment="commits", case="night 2 of 2")
    found = rows(Results([small, replace(small, system=SPARK, spark={"jobs": 140})]))
    assert [(row.system, row.measured, row.is_met) for row in found] == [
        (EMBEDDED, "9 commits", True),
        (SPARK, "9 commits", True),
        (SPARK, "140 jobs", False),
    ]


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
        "x DuckDB's": "1.0",
        "peak memory": "2.1 GB",
        "read": "0 B",
        "commits": "9",
        "jobs": "-",
    }


@needs_whole_pyspark
def test_results_of_several_calls_are_kept_and_of_another_machine_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(RUN, case="2,000 messages")
    report.keep([RUN, PEER, other], tmp_path)
    again = replace(RUN, seconds=20.0)
    as_json, as_markdown, picture = report.keep([again, PEER], tmp_path)
    assert as_json.read_text().count('"system": "embedded"') == 2
    text = as_markdown.read_text()
    assert "| cold, 1,000 messages: against DuckDB | embedded | 1.80 x | 2.00 x | no |" in text
    assert "| cold | 2,000 messages | embedded |" in text
    assert "- cold, 1,000 messages, embedded (): rules 1, fold 20" in text
    assert picture.stat().st_size > 1_000
    monkeypatch.setattr(report, "machine", lambda: "another")
    report.keep([RUN], tmp_path)
    assert "2,000 messages" not in as_json.read_text()


def test_steps_that_were_said() -> None:
    said = ["rules ...", "rules done in 4.2 s: 12 rule versions", "WARNING: no", "fold done in 10.0 s"]
    assert steps_of(said) == {"rules": 4.2, "fold": 10.0}


@pytest.mark.parametrize(("given", "expected"), [("4g", "4GiB"), ("512m", "512MiB"), ("8GiB", "8GiB")])
def test_memory_as_duckdb_writes_it(given: str, expected: str) -> None:
    assert gibibytes(given) == expected
