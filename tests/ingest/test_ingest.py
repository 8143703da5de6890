"""What a fold takes in, night after night: against the model, its quality gate, its errors and exit codes."""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.config.errors import InputError
from pipelines.ingest.ingest import find_new_input, ingest
from pipelines.ingest.read_input import InputBatch, read_new_input as take_in_of_one
from pipelines.nightly.night import describe
from pipelines.nightly.rejections import require_good_input
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.published import require_whole
from pipelines.storage.versions import versions_of
from schemas import TABLES
from tests.field.running import run
from tests.support.factories import Events, Row, at, by_source, catalog, endpoint_event, message_event
from tests.support.harness import SOURCES, Project, difference
from tests.support.model import Accepted, accept
from tests.support.model.accept import COLUMNS
from tests.support.random_logs import drawn
from tests.support.strategies import dirty_batches

EXAMPLES = 15
NIGHTS = 2
OF_AN_AS_OF = [table.name for table in TABLES.values() if "as_of_key" in table.partition_by]
RENAMED = {"initiator_flag_contradicts_type": "is_initiator_contradicts_event_type"}


def take_in(session: SparkSession, project: Project, run_id: str = "run") -> str:
    """Fold what is new, and look whether too much of it was rejected, as the job does."""
    warehouse, settings = project.warehouse(session), project.settings()
    new = find_new_input(warehouse, settings)
    with warehouse.materializing() as materialize:
        result = ingest(
            warehouse,
            settings,
            new,
            run_id=run_id,
            started_at=datetime.now(UTC),
            materialize_state=materialize,
        )
    place = itemgetter("batch", "source")
    assert sorted(result.completed.batches, key=place) == sorted(
        read_completed_batches(warehouse).batches, key=place
    )
    require_good_input(warehouse, settings, result.completed, require_whole(warehouse))
    return result.details


def dirty_nights(number: int) -> list[Events]:
    """Many random examples as the same few nights; their event ids are apart."""
    nights: list[Events] = [{source: [] for source in SOURCES} for _ in range(NIGHTS)]
    for example, batches in enumerate(drawn(dirty_batches(), EXAMPLES, number)):
        for night, batch in zip(nights, batches, strict=False):
            for source, rows in batch.items():
                night[source] += [_marked(row, f"{example}.") for row in rows]
    return nights


def _marked(row: Row, mark: str) -> Row:
    return row if row["event_id"] is None else row | {"event_id": mark + row["event_id"]}


def expected_batches(nights: Sequence[Events]) -> list[Row]:
    """What `batches` must say: what each night added to the model's result."""
    results = [accept(list(nights[:number])) for number in range(len(nights) + 1)]
    return [
        {
            "batch": number,
            "source": source,
            "events": len(came),
            "accepted": len(after.events[source]) - len(before.events[source]),
            "duplicates": after.duplicates[source] - before.duplicates[source],
            "rejected": _rejected(after, source) - _rejected(before, source),
        }
        for number, (before, after) in enumerate(pairwise(results), start=1)
        for source, came in nights[number - 1].items()
    ]


def _rejected(result: Accepted, source: str) -> int:
    return len({id(row) for name, _, _, row in result.rejected if name == source})


@pytest.mark.slow
def test_dirty_nights_equal_the_model(session: SparkSession, tmp_path: Path) -> None:
    nights = dirty_nights(1)
    project = Project(tmp_path, catalog=catalog(), quality={"max_rejected_share": 1.0})
    for number, night in enumerate(nights, start=1):
        project.add(night)
        take_in(session, project, run_id=f"run {number}")

    expected = accept(nights)
    for source in SOURCES:
        found = project.table(source, COLUMNS[source])
        assert difference(found, expected.events[source]) == [], source
    reasons = {
        (source, event_id, RENAMED.get(reason, reason)) for source, event_id, reason, _ in expected.rejected
    }
    rejected = project.table("rejected_events")
    assert {(row["source"], row["event_id"], row["reason"]) for row in rejected} == reasons
    assert len({reason for _, _, reason in reasons}) > 5
    batches = expected_batches(nights)
    assert difference(project.table("batches", batches[0]), batches) == []
    # A row that is rejected night after night is reported by the run that met it first.
    keys = Counter((row["source"], row["event_id"], row["reason"], row["payload"]) for row in rejected)
    assert set(keys.values()) == {1}


def good(count: int, start: int = 0) -> Events:
    return by_source(*[endpoint_event(conversation=f"c{number}") for number in range(start, start + count)])


def allow(project: Project, share: float) -> None:
    written = yaml.safe_load(Path(project.config).read_text())
    Path(project.config).write_text(yaml.safe_dump(written | {"quality": {"max_rejected_share": share}}))


@pytest.mark.slow
def test_quality_gate_stays_shut_until_more_good_rows_come_or_more_is_allowed(
    session: SparkSession, tmp_path: Path
) -> None:
    project = Project(tmp_path, catalog=catalog(), quality={"max_rejected_share": 0.1})
    project.add(by_source(*good(8)["endpoint_events"], endpoint_event(instance=None), message_event()))
    assert take_in(session, project) == "10 events, 9 accepted, 0 duplicates, 1 rejected"

    project.add(by_source(message_event(event_type="OTHER"), message_event(message="c1/1")))
    refused = (
        r"^2 of 12 rows were rejected \(endpoint_events 1 of 9, message_events 1 of 3\), more than .* 0\.1 "
    )
    # The rows were taken in by the first of these; then there is nothing new.
    for share in (0.1, 2 / 12, 0.1):
        allow(project, share)
        with nullcontext() if share > 0.1 else pytest.raises(InputError, match=refused):
            take_in(session, project)
    project.add(good(16))
    assert take_in(session, project) == "16 events, 8 accepted, 8 duplicates, 0 rejected"
    assert len(project.table("rejected_events")) == 2
    assert {(row["batch"], row["newest"]) for row in project.table("batches")} == {
        (number, at(1)) for number in (1, 2, 3)
    }


@pytest.mark.slow
def test_too_many_rejected_rows_are_exit_code_3_and_what_is_published_stays(
    session: SparkSession, tmp_path: Path
) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.add(good(1))
    project.run(session, at(60))
    published = versions_of(project.settings().warehouse)
    project.add(by_source(*good(1, start=1)["endpoint_events"], endpoint_event(event_type="OTHER")))
    ended = run("nightly", "--config", project.config, "--as-of", at(61).isoformat())
    assert ended.code == 3
    error = ended.err.splitlines()[-1]
    assert error.startswith("error: 1 of 2 rows were rejected (endpoint_events 1 of 2), more than quality.")
    before = versions_of(project.settings().warehouse)
    with pytest.raises(InputError, match="1 of 2 rows were rejected"):
        describe(project.warehouse(session), project.settings(), at(61))
    assert before is not None
    assert versions_of(project.settings().warehouse) == before | {"runs": before["runs"] + 1}
    assert published is not None
    assert {name: before[name] for name in OF_AN_AS_OF} == {name: published[name] for name in OF_AN_AS_OF}
    runs = sorted(project.table("runs"), key=itemgetter("started_at"))
    assert [(row["status"], row["as_of"]) for row in runs] == [
        ("succeeded", at(60)),
        ("failed", at(61)),
        ("failed", at(61)),
    ]
    assert (runs[1]["last_batch"], f"error: {runs[1]['error']}") == (None, error)


@pytest.mark.slow
def test_files_that_broke_the_contract_are_taken_in_once_they_are_mended(
    session: SparkSession, tmp_path: Path
) -> None:
    """One ends too early and is mended in place; another is written elsewhere, and a whole one goes away."""
    project = Project(tmp_path, catalog=catalog())
    project.add(by_source(endpoint_event(), message_event(size_bytes="big", sent_by_initiator=1)))
    bad, other = (tmp_path / source / "001.jsonl" for source in ("message_events", "endpoint_events"))
    lines = "".join(json.dumps(row, default=str) + "\n" for row in good(200, start=2)["endpoint_events"])
    packed = gzip.compress(lines.encode())
    cut = tmp_path / "endpoint_events" / "002.jsonl.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError) as caught:
        take_in(session, project)
    first, of_the_cut, *rest = str(caught.value).splitlines()
    assert first == "endpoint_events breaks its contract; write these again:"
    assert of_the_cut.startswith(f"  {cut}: ")
    assert rest == [
        "message_events breaks its contract; write these again:",
        f"  {bad}: field sent_by_initiator is a JSON integer; it must be boolean",
        f"  {bad}: field size_bytes is a JSON string; it must be bigint",
    ]
    cut.write_bytes(packed)
    bad.unlink()
    other.unlink()
    project.add({"message_events": [message_event()]})
    assert take_in(session, project) == "201 events, 201 accepted, 0 duplicates, 0 rejected"
    assert project.table("message_events", ["event_id"]) == [{"event_id": "SENT c1/0 True"}]
    assert len(project.table("endpoint_events")) == 200


def test_wrong_settings_are_exit_code_2(tmp_path: Path) -> None:
    ended = run("fold", "--config", str(tmp_path / "missing.yaml"))
    assert (ended.code, ended.err.startswith("error: "), ended.err.count("\n")) == (2, True, 1)


def test_a_missing_input_is_named(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    (tmp_path / "message_events").rmdir()
    with pytest.raises(InputError, match=rf"^inputs\.message_events: {tmp_path}/message_events is not there"):
        take_in(session, project)


def test_rejected_rows_of_typed_files_keep_their_times_to_the_microsecond(
    session: SparkSession, tmp_path: Path
) -> None:
    """Two of them differ in nothing but a microsecond, and one is of the year 10000."""
    project = Project(tmp_path, catalog=catalog(), format="parquet", quality={"max_rejected_share": 1.0})
    far = 253_402_300_800_000_000
    micros = [1_795_203_473_805_440, 1_795_203_473_805_441, far]
    rows = [endpoint_event(event_id="a event", event_type="OTHER") for _ in micros]
    times = pa.array(micros, pa.timestamp("us", "UTC"))
    write_parquet(tmp_path / "endpoint_events" / "1.parquet", rows, event_time=times)
    take_in(session, project)
    rejected = project.table("rejected_events", ["reason", "payload"])
    times = {(row["reason"], json.loads(row["payload"])["event_time"]) for row in rejected}
    assert times == {
        ("unknown_event_type", "2026-11-20T19:37:53.80544Z"),
        ("unknown_event_type", "2026-11-20T19:37:53.805441Z"),
        ("unknown_event_type", "+10000-01-01T00:00:00Z"),
        ("event_time_out_of_range", "+10000-01-01T00:00:00Z"),
    }


def write_parquet(file: Path, rows: list[Row], **changes: pa.Array) -> None:
    """Endpoint events without a logged level."""
    columns = {name: pa.array([row[name] for row in rows]) for name in rows[0]}
    columns["logged_priority"] = pa.nulls(len(rows), pa.int32())
    pq.write_table(pa.table(columns | changes), file)


@pytest.mark.parametrize(
    ("is_bad", "is_written"),
    [
        pytest.param(True, False, id="where it is read"),
        pytest.param(True, True, id="where it is written"),
        pytest.param(False, True, id="another error"),
    ],
)
def test_a_parquet_file_with_bad_text_is_named_among_others(
    embedded: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_bad: bool, is_written: bool
) -> None:
    """Typed files are read again where they are written. Other errors stay what they are.

    A bad file alone shows nothing: a column with one value is taken from the statistics in the footer.
    """
    project = Project(tmp_path, catalog=catalog(), format="parquet")
    files = [tmp_path / "endpoint_events" / f"{name}.parquet" for name in ("a", "b")]
    for file in files:
        write_parquet(file, [endpoint_event(conversation=file.stem, event_id=f"{file.stem} event")])

    def spoil(*_: object) -> None:
        if is_bad:
            files[1].write_bytes(files[1].read_bytes().replace(b"Contract", b"Contr\xffct", 1))
        if is_written:
            raise RuntimeError("Parquet error: a page that is none")

    if is_written:
        monkeypatch.setattr("pipelines.ingest.ingest.write_ledger", spoil)
    else:
        spoil()
    with pytest.raises(InputError if is_bad else RuntimeError) as caught:
        take_in(embedded, project)
    said = str(caught.value)
    assert ("/b.parquet: " in said, "a.parquet" in said) == (is_bad, False)
    assert ("a page that is none" in said) is not is_bad


@pytest.mark.slow
def test_a_file_that_changes_while_it_is_read_is_not_taken(session: SparkSession, tmp_path: Path) -> None:
    """To go on would be to call its rows taken: nobody would ever look for them again."""
    project = Project(tmp_path, catalog=catalog())
    whole = [message_event("SENT", f"c{number}/0") for number in range(4)]
    project.add(by_source(*whole[:2]))
    file = tmp_path / "message_events" / "001.jsonl"
    text = file.read_text()
    changed, gone = "changed while it was read", "went away before it was read; put it back"
    told = {"goes away": gone, "grows before it is read": changed, "grows afterwards": changed}
    for what, words in told.items():

        def changing(*given: Any, what: str = what) -> InputBatch:
            change = given[2] == "message_events"
            if change and what == "goes away":
                file.unlink()
            elif change and what == "grows before it is read":
                file.write_text(f"{text}{text[:40]}")
            found = take_in_of_one(*given)
            if change and what == "grows afterwards":
                file.write_text(f"{text}{text[:40]}")
            return found

        file.write_text(text)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("pipelines.ingest.ingest.read_new_input", changing)
            with pytest.raises(InputError, match=f"(?s){file}.*{words}"):
                take_in(session, project)
    # What was cut off is no row, and the whole file is a new one.
    project.nights -= 1
    project.add(by_source(*whole))
    assert take_in(session, project) == "4 events, 4 accepted, 0 duplicates, 0 rejected"
    assert project.table("batches", ["batch"]) == [{"batch": 1}] * 3
    assert not (tmp_path / "warehouse" / "rejected_events").exists()
