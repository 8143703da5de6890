"""Which files are new: folders, names that are passed over, files that changed, and Delta versions."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError, InputError
from pipelines.config.model import EventSource
from pipelines.storage.inputs.delta_log import appended_files
from pipelines.storage.inputs.listing import InputFile, find_new_files
from pipelines.storage.inputs.paths import list_files
from pipelines.storage.inputs.read import read_input
from schemas import CONTRACTS
from tests.support.factories import message_event
from tests.support.inputs import ARROW, values

SOURCE = "message_events"
CONTRACT = CONTRACTS[SOURCE]
MOMENT = datetime(2026, 11, 20, 12, 0, 0, 123456, UTC)


def put(path: Path, text: str = "x", moment: datetime = MOMENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    nanoseconds = (int(moment.timestamp()) * 10**6 + moment.microsecond) * 1000
    os.utime(path, ns=(nanoseconds, nanoseconds))
    return path


def given(path: Path, format: str = "json") -> dict[str, EventSource]:
    return {SOURCE: EventSource.model_validate({"path": str(path), "format": format})}


def names_of(files: Iterable[InputFile]) -> list[str]:
    return [Path(file.path).name for file in files]


def test_files_are_listed_by_path_in_all_folders(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/z.jsonl", "a/deeper/y.jsonl", "a b/c[1].jsonl"):
        put(tmp_path / name)
    found = find_new_files(given(tmp_path), [])
    names = ["a b/c[1].jsonl", "a/deeper/y.jsonl", "a/z.jsonl", "b.jsonl"]
    assert found == [InputFile(SOURCE, f"{tmp_path}/{name}", 1, MOMENT) for name in names]
    assert names_of(find_new_files(given(tmp_path / "b.jsonl"), [])) == ["b.jsonl"]
    uris = [file.path for file in list_files(f"file://{tmp_path}")]
    assert sorted(uris) == [f"file://{tmp_path}/{name}" for name in names]
    with pytest.raises(ConfigError, match="dbfs:/events cannot be listed"):
        list_files("dbfs:/events")


def test_hidden_files_and_folders_are_passed_over(tmp_path: Path) -> None:
    hidden = ("_SUCCESS", ".a.jsonl.crc", "_temporary/0/a.jsonl", ".git/a", "a.jsonl._COPYING_")
    for name in (*hidden, "a_b.jsonl"):
        put(tmp_path / "_in" / name)
    assert names_of(find_new_files(given(tmp_path / "_in"), [])) == ["a_b.jsonl"]


@pytest.mark.parametrize("inside", ["_delta_log", "a.parquet"])
def test_a_folder_with_something_in_it_is_no_empty_delta_table(tmp_path: Path, inside: str) -> None:
    (tmp_path / inside).mkdir()
    with pytest.raises(InputError, match=f"cannot open {tmp_path} as delta: "):
        find_new_files(given(tmp_path, "delta"), [])


def test_what_was_taken_is_not_new_even_if_it_is_gone(tmp_path: Path) -> None:
    """What is new is told by name, never by age: a file of the future hides no later one."""
    put(tmp_path / "a.jsonl", moment=MOMENT.replace(year=2200))
    taken = find_new_files(given(tmp_path), [])
    put(tmp_path / "b.jsonl")
    put(tmp_path / "c.jsonl", moment=MOMENT.replace(year=1971))
    gone = InputFile(SOURCE, f"{tmp_path}/gone.jsonl", 5, MOMENT)
    other = InputFile("endpoint_events", f"{tmp_path}/b.jsonl", 1, MOMENT)
    assert names_of(find_new_files(given(tmp_path), [*taken, gone, other])) == ["b.jsonl", "c.jsonl"]


def test_files_that_changed_since_they_were_taken_are_all_named(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        put(tmp_path / name)
    taken = find_new_files(given(tmp_path), [])
    put(tmp_path / "a.jsonl", "longer")
    put(tmp_path / "c.jsonl", moment=MOMENT.replace(microsecond=123457))
    with pytest.raises(InputError) as caught:
        find_new_files(given(tmp_path), taken)
    then = "has changed since it was taken (1 bytes of 2026-11-20T12:00:00.123456Z then"
    again = (
        "now): move files in whole; to take this one again give it another name, as repeated events are "
        "known by their ids"
    )
    assert str(caught.value).splitlines() == [
        f"inputs.{SOURCE}: {tmp_path}/a.jsonl {then}, 6 bytes of 2026-11-20T12:00:00.123456Z {again}",
        f"inputs.{SOURCE}: {tmp_path}/c.jsonl {then}, 1 bytes of 2026-11-20T12:00:00.123457Z {again}",
    ]


@pytest.mark.parametrize("format", ["json", "delta"])
def test_an_input_may_be_an_empty_folder_but_not_missing(tmp_path: Path, format: str) -> None:
    assert find_new_files(given(tmp_path, format), []) == []
    inputs = {
        SOURCE: given(tmp_path / "missing", format)[SOURCE],
        "queue_events": given(tmp_path / "too", format)[SOURCE],
    }
    with pytest.raises(InputError) as caught:
        find_new_files(inputs, [])
    assert str(caught.value).splitlines() == [
        f"inputs.{source}: {tmp_path}/{name} is not there; make that folder, or name another"
        for source, name in zip(inputs, ("missing", "too"), strict=True)
    ]


def rows(*numbers: int, **types: pa.DataType) -> pa.Table:
    schema = pa.schema({column.name: ARROW[column.type] for column in CONTRACT.columns} | types)
    events = [message_event(event_id=f"e{number}", day=f"d{number % 2}") for number in numbers]
    return pa.Table.from_pylist(events, schema=schema)


def taken_of(session: SparkSession, path: Path, before: list[InputFile]) -> tuple[list[InputFile], list[str]]:
    files = find_new_files(given(path, "delta"), before)
    found = read_input(session, CONTRACT, "delta", files).collect() if files else []
    return files, sorted(values(found, "event_id"))


@pytest.mark.parametrize("partition_by", [None, ["day"]])
def test_delta_versions_are_taken_once(
    session: SparkSession, tmp_path: Path, partition_by: list[str] | None
) -> None:
    """Appended rows come by version; what only moves or removes rows brings none."""
    path, more = tmp_path / "t", {"day": pa.string()} if partition_by else {}
    write_deltalake(path, rows(1, 2, **more), partition_by=partition_by)
    write_deltalake(path, rows(3, **more), mode="append")
    first, found = taken_of(session, path, [])
    assert (first, found) == ([InputFile(SOURCE, str(path), version=1)], ["e1", "e2", "e3"])
    assert taken_of(session, path, first) == ([], [])

    write_deltalake(path, rows(4, **more), mode="append")
    write_deltalake(path, rows(5, 6, **more), mode="append")
    second, found = taken_of(session, path, first)
    assert (second, found) == ([InputFile(SOURCE, str(path), version=3, since=1)], ["e4", "e5", "e6"])

    DeltaTable(path).optimize.compact()
    third, found = taken_of(session, path, [*second, *first])
    assert (third, found) == ([InputFile(SOURCE, str(path), version=4, since=3)], [])


def test_rows_that_an_engine_appended_are_read(session: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    for version, number in enumerate((1, 2)):
        frame = session.createDataFrame(rows(number)).withColumnRenamed("size_bytes", "SIZE")
        frame = frame.selectExpr("*", "cast(SIZE as int) size_bytes")
        frame.write.format("delta").mode("append").save(str(path))
        files = [InputFile(SOURCE, str(path), version=version, since=version - 1 if version else None)]
        (found,) = read_input(session, CONTRACT, "delta", files).collect()
        assert (found.event_id, found.event_time) == (f"e{number}", datetime(2026, 11, 20, 12, 1))
        assert (found.size_bytes, found.broken, found.unreadable, found.raw) == (100, False, None, None)


def test_delta_differences_are_listed(session: SparkSession, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"event_id": ["e"], "event_time": [MOMENT.date()], "instance": [5]}))
    with pytest.raises(InputError) as caught:
        taken_of(session, tmp_path, [])
    lines = str(caught.value).splitlines()
    assert f"  {tmp_path}: column event_time is date; it must be timestamp" in lines
    assert f"  {tmp_path}: column instance is bigint; it must be string" in lines
    assert f"  {tmp_path}: column database is missing; it must be string" in lines
    assert len(lines) == 1 + 2 + 10


def test_delta_commits_that_change_or_remove_rows(tmp_path: Path) -> None:
    for number in range(3):
        write_deltalake(tmp_path, rows(number), mode="append")
    DeltaTable(tmp_path).delete("event_id = 'e1'")
    assert appended_files(str(tmp_path), CONTRACT.names, 2, 3) == []
    DeltaTable(tmp_path).update(updates={"size_bytes": "7"}, predicate="event_id = 'e2'")
    with pytest.raises(
        InputError, match=r"version 4 changed rows that were there; .* copy the table to a new"
    ):
        appended_files(str(tmp_path), CONTRACT.names, 3, 4)
    DeltaTable(tmp_path).create_checkpoint()
    (tmp_path / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(InputError, match="version 1 is no longer in the table's log"):
        appended_files(str(tmp_path), CONTRACT.names, 0, 2)


def test_delta_files_that_were_vacuumed_before_they_were_taken_are_named(
    session: SparkSession, tmp_path: Path
) -> None:
    for number in range(3):
        write_deltalake(tmp_path, rows(number), mode="append")
    table = DeltaTable(tmp_path)
    table.optimize.compact()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    files = [InputFile(SOURCE, str(tmp_path), version=3, since=0)]
    with pytest.raises(InputError, match=r"parquet is gone, as after VACUUM; copy the table to a new folder"):
        read_input(session, CONTRACT, "delta", files)


@pytest.mark.parametrize("inner", [".", "deeper"])
def test_a_file_of_two_inputs_is_refused(tmp_path: Path, inner: str) -> None:
    inputs = {**given(tmp_path), "endpoint_events": given(tmp_path / inner)[SOURCE]}
    (tmp_path / "deeper").mkdir()
    assert find_new_files(inputs, []) == []
    for name in ("a", "b"):
        put(tmp_path / "deeper" / f"{name}.jsonl")
    with pytest.raises(InputError) as caught:
        find_new_files(inputs, [])
    assert str(caught.value) == (
        f"inputs.{SOURCE} and inputs.endpoint_events both have {tmp_path}/deeper/a.jsonl; name a folder of "
        "its own for each input"
    )


def test_delta_table_that_was_written_anew_is_named(tmp_path: Path) -> None:
    write_deltalake(tmp_path, rows(1))
    with pytest.raises(InputError, match="is at version 0, but version 4 was taken: it is another table"):
        find_new_files(given(tmp_path, "delta"), [InputFile(SOURCE, str(tmp_path), version=4)])


def test_delta_partitions_by_a_declared_column_are_refused_from_the_first_version_on(
    session: SparkSession, tmp_path: Path
) -> None:
    write_deltalake(tmp_path, rows(1), partition_by=["instance"])
    write_deltalake(tmp_path, rows(2), mode="append")
    refusal = "instance is in no file, because the table is partitioned by it"
    for since in (None, 0):
        files = [InputFile(SOURCE, str(tmp_path), version=1, since=since)]
        with pytest.raises(InputError, match=refusal):
            read_input(session, CONTRACT, "delta", files)


def test_delta_paths_that_the_embedded_engine_cannot_open_are_named(
    embedded: SparkSession, tmp_path: Path
) -> None:
    write_deltalake(tmp_path / "a table", rows(1))
    with pytest.raises(InputError, match=r"opens no Delta table at .*/a table; rename"):
        taken_of(embedded, tmp_path / "a table", [])
