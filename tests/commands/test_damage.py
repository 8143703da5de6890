"""A damaged data file is named, whatever the engine says of it, with what to do."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.commands import launch
from pipelines.config.errors import ConfigError, WarehouseError
from pipelines.console.invocation import name_command
from pipelines.server.captures.known import read_known
from pipelines.storage.damage import MOST_TOLD, find_damage
from schemas.outputs import CAPTURES
from tests.field.running import Case
from tests.support.harness import difference

pytestmark = pytest.mark.slow


def data_file(case: Case, table: str) -> tuple[str, Path]:
    """The path of its data file of open rows in the table's log, and where it is."""
    folder = case.folder / "warehouse" / table
    file = Path(max(DeltaTable(str(folder)).file_uris()).removeprefix("file://"))
    return str(file.relative_to(folder)), file


@contextmanager
def spoilt_log(case: Case) -> Iterator[Path]:
    """The first commit of a table, of which only the first bytes are left for a while."""
    log = case.folder / "warehouse" / "endpoints" / "_delta_log" / f"{0:020}.json"
    whole = log.read_bytes()
    log.write_bytes(whole[:100])
    try:
        yield log
    finally:
        log.write_bytes(whole)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        pytest.param(None, "is gone", id="gone"),
        pytest.param(lambda whole: whole[:50], "has 50 bytes in place of {size:,}", id="cut"),
        pytest.param(
            lambda whole: whole[:-200] + bytes(100) + whole[-100:],
            "is no Parquet file any more (",
            id="zeros in the footer",
        ),
    ],
)
def test_a_job_names_the_damaged_file(copied: Case, left: Callable[[bytes], bytes] | None, said: str) -> None:
    """The engine of this process knows no file of the copy yet."""
    path, file = data_file(copied, "message_events")
    whole = file.read_bytes()
    file.write_bytes(left(whole)) if left else file.unlink()
    done = copied.job("explain", "--message", "c3/4")
    assert done.code == 1
    last = done.err.splitlines()[-1]
    begin = f"error: warehouse: {copied.folder}/warehouse/message_events: its data file {path} "
    assert last.startswith(begin + said.format(size=len(whole)))
    assert last.endswith(". Put it back, or rebuild the warehouse (docs/operations.md, Rebuild a warehouse)")


@pytest.mark.slow
def test_what_an_as_of_had_is_made_again(copied: Case, tmp_path: Path) -> None:
    warehouse = f"{copied.folder}/warehouse"
    for whole in (warehouse, f"file:{warehouse}", str(tmp_path)):
        assert find_damage(whole) == []
    before = copied.table("receive_schedule")
    path, file = data_file(copied, "receive_schedule")
    file.unlink()
    assert find_damage(warehouse) == [
        f"warehouse: {warehouse}/receive_schedule: its data file {path} is gone. Put it back, or run "
        f"{name_command('nightly')} --as-of 2026-11-20T13:00:00Z again, which writes it again"
    ]
    assert copied.job("schedules", "--as-of", "2026-11-20T13:00:00Z").code == 0
    assert find_damage(warehouse) == []
    assert difference(copied.table("receive_schedule"), before) == []


def test_a_damaged_log_is_said_in_place_of_files_and_ten_files_at_most(published: Case) -> None:
    warehouse = published.folder / "warehouse"
    with spoilt_log(published):
        [line] = find_damage(str(warehouse))
    assert line.startswith(f"warehouse: {warehouse}/endpoints: its log is damaged (")

    tables = ["message_events", "endpoint_events", "queue_events", "endpoints", "batches", "files"]
    files = [
        Path(path.removeprefix("file://"))
        for name in tables
        for path in DeltaTable(str(warehouse / name)).file_uris()
    ]
    moved = [file.rename(file.with_suffix(".away")) for file in files]
    try:
        lines = find_damage(str(warehouse))
    finally:
        for file in moved:
            file.rename(file.with_suffix(".parquet"))
    assert len(files) > MOST_TOLD
    assert len(lines) == MOST_TOLD + 1
    assert lines[-1] == f"warehouse: and {len(files) - MOST_TOLD} more files"


def test_a_word_of_thousands_of_characters_is_cut() -> None:
    line = f"--queue {'q' * 5000} there is no such queue"
    assert launch.cut_words(line) == f"--queue {'q' * 200}... (5,000 characters) there is no such queue"
    assert launch.cut_words("q" * 1000) == "q" * 1000


def test_what_may_not_be_read_is_not_damaged(published: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests run as root, who may read everything: the system's answer is replaced."""
    may = os.access
    with spoilt_log(published) as log:
        monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != str(log) and may(path, mode))
        said = rf"warehouse: {log} can't be read \(Permission denied\); give this user the right to read it$"
        with pytest.raises(ConfigError, match=f"^{said}"):
            find_damage(f"{published.folder}/warehouse")
        done = published.job("explain", "--message", "c3/4")
    assert done.code == 2
    assert re.search(f"error: {said}", done.err, re.MULTILINE)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("databases", '[{"name": "B'),
        ("databases", '[{"name": "B"}]'),
        ("catalogs", '{"a": 5}'),
        ("listed", "17"),
    ],
)
def test_a_text_that_no_run_wrote(tmp_path: Path, column: str, text: str) -> None:
    given = {"databases": "[]", "catalogs": "{}", "listed": "[]", column: text}
    row = {column.name: None for column in CAPTURES.columns} | {"batch": 1, "length": 1} | given
    types = {"batch": pa.int64(), "length": pa.int64(), **dict.fromkeys(given, pa.string())}
    fields = [pa.field(name, types.get(name, pa.string())) for name in row]
    write_deltalake(str(tmp_path / "captures"), pa.Table.from_pylist([row], pa.schema(fields)))
    write_deltalake(str(tmp_path / "batches"), pa.table({"batch": [1]}))
    said = rf"^warehouse: {tmp_path}/captures: column databases, catalogs or listed has a text"
    with pytest.raises(WarehouseError, match=said):
        read_known(str(tmp_path))
