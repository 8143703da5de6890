"""What the tables make of several runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from dev.benchmarks import report
from dev.benchmarks.measure import DUCKDB, EMBEDDED, SPARK, Measure, Results
from dev.benchmarks.readings import gibibytes, steps_of
from dev.benchmarks.targets import Row, rows
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
ON_SPARK = replace(RUN, system=SPARK, seconds=85.0)
BACKLOG = replace(RUN, experiment="backlog", case="5,000,000 messages", messages=5_000_000)
LAST = replace(RUN, experiment="history", case="night 3 of 3")


def test_medians_of_rounds_and_times_the_peer() -> None:
    slower = replace(RUN, seconds=40.0, steps={"rules": 3.0, "fold": 30.0})
    results = Results([RUN, PEER, slower, PEER])
    ours = results.of("cold", "1,000 messages", EMBEDDED)
    assert ours is not None
    assert (ours.seconds, ours.steps) == (35.0, {"rules": 2.0, "fold": 25.0})
    assert results.times_the_peer(ours) == 3.5
    assert results.times_the_peer(replace(ours, case="another")) is None


@pytest.mark.parametrize(
    ("measures", "expected"),
    [
        pytest.param(
            [RUN, ON_SPARK, PEER],
            [
                "cold, 1,000 messages: against DuckDB | embedded | 1.70 x | 3.00 x | no",
                "cold, 1,000 messages: start to exit | Spark | 90.0 s | 85.0 s | yes",
            ],
            id="a night",
        ),
        pytest.param(
            [*(replace(run, messages=15_000_000, seconds=18.0) for run in (RUN, ON_SPARK)), PEER],
            [
                "cold, 1,000 messages: against DuckDB | embedded | 1.80 x | 1.80 x | yes",
                "cold, 1,000 messages: against DuckDB | Spark | 5.00 x | 1.80 x | yes",
            ],
            id="a large night",
        ),
        pytest.param(
            [
                BACKLOG,
                replace(BACKLOG, system=SPARK, spark={"jobs": 101}),
                replace(BACKLOG, system=DUCKDB, seconds=18.75),
                replace(BACKLOG, experiment="skew", case="half", seconds=36.0),
            ],
            [
                "backlog, 5,000,000 messages: against DuckDB | embedded | 1.60 x | 1.60 x | yes",
                "backlog, 5,000,000 messages: peak memory | embedded | 8.0 GiB | 2.0 GiB | yes",
                "backlog, 5,000,000 messages: Spark's jobs | Spark | 100 jobs | 101 jobs | no",
                "skew, half: seconds per event, against the even log | embedded | 1.30 x | 1.20 x | yes",
            ],
            id="a backlog and its skew",
        ),
        pytest.param(
            [replace(ON_SPARK, experiment="commits", case="night 2 of 2", spark={"jobs": 140})],
            [
                "commits, night 2 of 2: Delta commits | Spark | 15 commits | 9 commits | yes",
                "commits, night 2 of 2: Spark's jobs | Spark | 100 jobs | 140 jobs | no",
            ],
            id="commits and jobs",
        ),
    ],
)
def test_each_target_beside_what_was_measured(measures: list[Measure], expected: list[str]) -> None:
    assert [" | ".join(row.cells()) for row in rows(Results(measures))] == expected


def test_ratios_of_nights_of_the_same_system() -> None:
    """Of what the last of many nights reads to the second."""
    nights = [replace(LAST, case=f"night {number} of 3", bytes_read=number * 10**6) for number in (1, 2, 3)]
    last = "history, night 3 of 3"
    assert rows(Results([*nights, replace(LAST, system=DUCKDB, seconds=75.0)])) == [
        Row(f"{last}: against DuckDB over all nights", EMBEDDED, "0.40 x", "0.40 x", is_met=True),
        Row(f"{last}: bytes read, against the second night", EMBEDDED, "1.00 x", "1.50 x", is_met=False),
    ]


@needs_whole_pyspark
def test_results_of_several_calls_are_kept_and_of_another_machine_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(RUN, case="2,000 messages")
    report.keep([RUN, PEER, other], tmp_path)
    again = replace(RUN, seconds=20.0)
    as_json, as_markdown = report.keep([again, PEER], tmp_path)
    assert as_json.read_text().count('"system": "embedded"') == 2
    text = as_markdown.read_text()
    assert "| cold, 1,000 messages: against DuckDB | embedded | 1.70 x | 2.00 x | no |" in text
    assert "| cold | 2,000 messages | embedded | 6,000 | 10 B | 0 B | 30.0 | " in text
    assert "- cold, 1,000 messages, embedded (): rules 1, fold 20" in text
    monkeypatch.setattr(report, "machine", lambda: "another")
    report.keep([RUN], tmp_path)
    assert "2,000 messages" not in as_json.read_text()


def test_steps_that_were_said_and_memory_as_duckdb_writes_it() -> None:
    said = ["rules ...", "rules done in 4.2 s: 12 rule versions", "WARNING: no", "fold done in 10.0 s"]
    assert steps_of(said) == {"rules": 4.2, "fold": 10.0}
    assert [gibibytes(each) for each in ("4g", "512m", "8GiB")] == ["4GiB", "512MiB", "8GiB"]
