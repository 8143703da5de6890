"""Many small files are told from few or large ones, of folders and of Delta inputs, where it matters."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from pipelines.engine.files import is_slow_to_open_files
from pipelines.storage.inputs import listing
from pipelines.storage.inputs.listing import MANY_FILES, SMALL_FILE, InputFile, has_many_small_files


@pytest.mark.parametrize(
    ("count", "length", "expected"),
    [
        (MANY_FILES, 10, False),
        (MANY_FILES + 1, 10, True),
        (MANY_FILES + 1, SMALL_FILE, False),
        (10 * MANY_FILES, SMALL_FILE - 1, True),
    ],
)
def test_files_are_many_and_small(count: int, length: int, expected: bool) -> None:
    files = [InputFile("message_events", f"p{number}", length=length) for number in range(count)]
    assert has_many_small_files(files) is expected


def test_the_new_versions_of_a_delta_input_count_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MANY_FILES", 4)
    path = str(tmp_path / "events")
    for number in range(6):
        write_deltalake(path, pa.table({"event_id": [f"e{number}"]}), mode="append")

    def taken(since: int | None, version: int) -> bool:
        return has_many_small_files([InputFile("message_events", path, version=version, since=since)])

    assert not taken(None, 3)  # four files, one a version from 0 on
    assert taken(None, 4)
    assert taken(0, 5)
    assert not taken(1, 5)


def test_the_embedded_engine_is_slow_to_open_files(embedded: SparkSession) -> None:
    assert is_slow_to_open_files(embedded)
