"""The ingest job on whole nights: against the model, its quality gate, its errors and its exit codes."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from jobs import ingest, nightly
from jobs.launch import launch
from pipelines.errors import InputError
from pipelines.settings.load import load_settings
from tests.factories import Events, Row, at, by_source, catalog, endpoint_event, message_event
from tests.harness import SOURCES, Project, difference
from tests.model import Accepted, accept
from tests.model.accept import COLUMNS
from tests.strategies import dirty_batches

EXAMPLES = 80
NIGHTS = 3
RENAMED = {"initiator_flag_contradicts_type": "is_initiator_contradicts_event_type"}


def ingest_night(spark: SparkSession, project: Project, run_id: str = "run") -> str:
    return ingest.run(spark, load_settings(project.config), run_id=run_id, started_at=datetime.now(UTC))


def dirty_nights(number: int) -> list[Events]:
    """Many random examples as the same few nights; their event ids are apart."""
    found: list[list[Events]] = []

    @seed(number)
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(dirty_batches())
    def collect(batches: list[Events]) -> None:
        found.append(batches)

    collect()
    nights: list[Events] = [{source: [] for source in SOURCES} for _ in range(NIGHTS)]
    for example, batches in enumerate(found):
        for night, batch in zip(nights, batches, strict=False):
            for source, rows in batch.items():
                night[source] += [_marked(row, f"{example}.") for row in rows]
    return nights


def _marked(row: Row, mark: str) -> Row:
    return row if row["event_id"] is None else row | {"event_id": mark + row["event_id"]}


def expected_batches(nights: Sequence[Events]) -> list[Row]:
    """What `ingest_batches` must say: what each night added to the model's result."""
    rows, before = [], accept([])
    for number in range(1, len(nights) + 1):
        after = accept(list(nights[:number]))
        for source, came in nights[number - 1].items():
            rows.append(
                {
                    "ingest_batch": number,
                    "source": source,
                    "events": len(came),
                    "accepted": len(after.events[source]) - len(before.events[source]),
                    "duplicates": after.duplicates[source] - before.duplicates[source],
                    "rejected": _rejected(after, source) - _rejected(before, source),
                }
            )
        before = after
    return rows


def _rejected(result: Accepted, source: str) -> int:
    return len({id(row) for name, _, _, row in result.rejected if name == source})


@pytest.mark.slow
def test_dirty_nights_equal_the_model(spark: SparkSession, tmp_path: Path) -> None:
    nights = dirty_nights(1)
    project = Project(tmp_path, catalog=catalog(), quality={"max_rejected_share": 1.0})
    for number, night in enumerate(nights, start=1):
        project.add(night)
        ingest_night(spark, project, run_id=f"run {number}")

    expected = accept(nights)
    for source in SOURCES:
        found = project.table(f"accepted_{source}", COLUMNS[source])
        assert difference(found, expected.events[source]) == [], source
    reasons = {
        (source, event_id, RENAMED.get(reason, reason)) for source, event_id, reason, _ in expected.rejected
    }
    rejected = project.table("rejected_events")
    assert {(row["source"], row["event_id"], row["reason"]) for row in rejected} == reasons
    assert len({reason for _, _, reason in reasons}) > 6
    batches = project.table("ingest_batches", expected_batches(nights)[0])
    assert difference(batches, expected_batches(nights)) == []
    # A row that is rejected night after night is reported by the run that met it first.
    keys = Counter((row["source"], row["event_id"], row["reason"], row["payload"]) for row in rejected)
    assert set(keys.values()) == {1}


def good(count: int, start: int = 0) -> Events:
    return by_source(*[endpoint_event(conversation=f"c{number}") for number in range(start, start + count)])


def allow(project: Project, share: float) -> None:
    written = yaml.safe_load(Path(project.config).read_text())
    Path(project.config).write_text(yaml.safe_dump(written | {"quality": {"max_rejected_share": share}}))


@pytest.mark.slow
def test_a_night_with_nothing_to_accept_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """The first night's files come again under other names, then rows that are no events."""
    project = Project(tmp_path, catalog=catalog(), quality={"max_rejected_share": 1.0})
    night = by_source(*good(3)["endpoint_events"], message_event(), message_event(message="c1/1"))
    bad = by_source(endpoint_event(instance=None), message_event(event_type="OTHER"))
    said = []
    for events in (night, night, bad):
        project.add(events)
        said.append(ingest_night(spark, project))

    assert said == [
        "5 events, 5 accepted, 0 duplicates, 0 rejected",
        "5 events, 0 accepted, 5 duplicates, 0 rejected",
        "2 events, 0 accepted, 0 duplicates, 2 rejected",
    ]
    firsts = {
        (row["ingest_batch"], row["source"]): row["first_event_date"]
        for row in project.table("ingest_batches")
    }
    assert firsts[1, "message_events"] == at().date()
    assert firsts[2, "message_events"] is firsts[3, "endpoint_events"] is None


@pytest.mark.slow
def test_quality_gate_stays_shut_until_more_good_rows_come_or_more_is_allowed(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(tmp_path, catalog=catalog(), quality={"max_rejected_share": 0.1})
    project.add(by_source(*good(8)["endpoint_events"], endpoint_event(instance=None), message_event()))
    assert "10 events, 9 accepted, 0 duplicates, 1 rejected" in ingest_night(spark, project)

    project.add(by_source(message_event(event_type="OTHER"), message_event(message="c1/1")))
    refused = (
        r"^2 of 12 rows were rejected \(endpoint_events 1 of 9, message_events 1 of 3\), more than .* 0\.1 "
    )
    for _ in range(2):
        with pytest.raises(InputError, match=refused):
            ingest_night(spark, project)
    allow(project, 2 / 12)
    ingest_night(spark, project)
    allow(project, 0.1)
    with pytest.raises(InputError, match=refused):
        ingest_night(spark, project)
    project.add(good(8, start=8))
    assert "8 events, 8 accepted, 0 duplicates, 0 rejected" in ingest_night(spark, project)
    assert len(project.table("rejected_events")) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "mended",
    [
        "in place",
        "elsewhere",
        "without the other input",
    ],
)
def test_a_night_that_broke_the_contract_is_taken_in_once_it_is_mended(
    spark: SparkSession, tmp_path: Path, mended: str
) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.add(by_source(endpoint_event(), message_event(size_bytes="big", sent_by_initiator=1)))
    with pytest.raises(InputError) as caught:
        ingest_night(spark, project)
    file = f"file:{tmp_path}/message_events/001.jsonl"
    assert str(caught.value).splitlines() == [
        "message_events breaks its contract; write these anew:",
        f"  {file}: field sent_by_initiator is a JSON bigint; it must be boolean",
        f"  {file}: field size_bytes is a JSON string; it must be bigint",
    ]
    if mended == "elsewhere":
        (tmp_path / "message_events" / "001.jsonl").unlink()
        project.add(by_source(message_event()))
    else:
        rewritten = Project(tmp_path, catalog=catalog())
        rewritten.add({"message_events": [message_event()]})
    if mended == "without the other input":
        (tmp_path / "endpoint_events" / "001.jsonl").unlink()
    ingest_night(spark, project)
    assert project.table("accepted_message_events", ["event_id"]) == [{"event_id": "SENT c1/0 True"}]
    counted = sum(row["accepted"] for row in project.table("ingest_batches") if row["source"] == SOURCES[0])
    was_written = (tmp_path / "warehouse" / "accepted_endpoint_events").exists()
    begun = project.table("accepted_endpoint_events", ["event_id"]) if was_written else []
    assert begun == ([] if mended == "without the other input" else [{"event_id": "BEGIN_DIALOG c1 True"}])
    assert len(begun) == counted


def exit_code(main: Callable[[Sequence[str]], int], monkeypatch: pytest.MonkeyPatch, *options: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["job.py", *options])
    with pytest.raises(SystemExit) as caught:
        launch(main)
    return caught.value.code


@pytest.mark.slow
def test_too_many_rejected_rows_are_exit_code_3(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.add(by_source(endpoint_event(), endpoint_event(event_type="OTHER")))
    options = ("--config", project.config, "--as-of", at(60).isoformat())
    assert exit_code(nightly.main, monkeypatch, *options) == 3
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: 1 of 2 rows were rejected (endpoint_events 1 of 2), more than quality.")
    (run,) = project.table("runs")
    assert (run["status"], run["as_of"], run["last_ingest_batch"]) == ("failed", at(60), None)
    assert f"error: {run['error']}" == error


def test_wrong_settings_are_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "missing.yaml")
    assert exit_code(ingest.main, monkeypatch, "--config", missing) == 2
    assert exit_code(ingest.main, monkeypatch, "--confg", missing) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("error: ") for line in lines)


def test_a_missing_input_is_named(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    (tmp_path / "message_events").rmdir()
    with pytest.raises(InputError, match=rf"^inputs\.message_events: cannot open {tmp_path}/message_events"):
        ingest_night(spark, project)
