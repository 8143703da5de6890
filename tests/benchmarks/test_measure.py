"""What a line of the table makes of several runs."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.bench import gibibytes, steps_of
from benchmarks.event_log import work_of
from benchmarks.measure import FLOOR, PEER, PIPELINE, Measure, lines

RUN = Measure(
    experiment="cold",
    case="1",
    system=PIPELINE,
    events=6_000,
    bytes_in=10,
    seconds=30.0,
    cpu_seconds=50.0,
    peak_bytes=2_000_000_000,
    cores=2,
    steps={"rules": 1.0, "ingest": 20.0},
    work={"bytes_shuffled": 7, "heaviest_share": None},
)
PEER_RUN = replace(RUN, system=PEER, seconds=10.0, cpu_seconds=5.0, steps={}, work={})


def test_medians_and_ratios() -> None:
    slower = replace(RUN, seconds=40.0, steps={"rules": 3.0, "ingest": 30.0}, work={"bytes_shuffled": 9})
    floor = replace(PEER_RUN, system=FLOOR, seconds=7.0, cpu_seconds=10.0)
    (line,) = lines([RUN, PEER_RUN, floor, slower, PEER_RUN, floor])
    assert (line.rounds, line.seconds, line.cpu_seconds) == (2, 35.0, 50.0)
    assert line.rate == pytest.approx(6_000 / 35 / 2)
    assert (line.to_peer, line.to_floor) == (3.5, 5.0)
    assert (line.cpu_to_peer, line.cpu_to_floor) == (10.0, 5.0)
    assert line.steps == {"rules": 2.0, "ingest": 25.0}
    assert line.work == {"bytes_shuffled": 8, "heaviest_share": None}


def test_cases_stay_apart_and_a_peer_alone_makes_no_line() -> None:
    other = replace(RUN, case="2", seconds=3.0)
    first, second = lines([RUN, other, replace(PEER_RUN, case="3")])
    assert (first.case, first.seconds, first.to_peer) == ("1", 30.0, None)
    assert (second.case, second.seconds) == ("2", 3.0)


def test_the_table_as_text() -> None:
    (line,) = lines([RUN, PEER_RUN])
    assert dict(zip(report.COLUMNS, report.row(line), strict=True)) == {
        "experiment": "cold",
        "case": "1",
        "events": "6,000",
        "in": "10 B",
        "out": "0 B",
        "seconds": "30.0",
        "processor": "50.0",
        "events/s/core": "100",
        "peak memory": "2.0 GB",
        "shuffled": "7 B",
        "spilled": "-",
        "peer": "10.0",
        "x peer": "3.0",
        "floor": "-",
        "x floor": "-",
    }


def test_kept_results(tmp_path: Path) -> None:
    run = replace(RUN, work=asdict(work_of([{"Event": "SparkListenerJobStart"}])), notes={"answer": "42"})
    as_json, as_markdown, picture = report.keep([run, PEER_RUN], tmp_path)
    assert '"system": "peer"' in as_json.read_text()
    assert "| cold | 1 | 6,000 |" in as_markdown.read_text()
    assert "- cold, 1: rules 1.0, ingest 20.0" in as_markdown.read_text()
    assert "- cold, 1: 1 jobs, 0 stages" in as_markdown.read_text()
    assert "cold, 1: answer: 42" in as_markdown.read_text()
    assert picture.stat().st_size > 1_000


def test_steps_that_were_said() -> None:
    said = ["rules ...", "rules done in 4.2 s: 12 rule versions", "WARNING: no", "ledger done in 10.0 s"]
    assert steps_of(said) == {"rules": 4.2, "ledger": 10.0}


@pytest.mark.parametrize(("given", "expected"), [("4g", "4GiB"), ("512m", "512MiB"), ("8GiB", "8GiB")])
def test_memory_as_duckdb_writes_it(given: str, expected: str) -> None:
    assert gibibytes(given) == expected
