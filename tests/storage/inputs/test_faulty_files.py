"""Which files a failed read is about: broken ones, and none where a disk is full."""

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.storage.inputs.faulty_files import find_faulty_files
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.read import read_input
from schemas import CONTRACTS

CUT = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""The beginning of a gz file."""
FULL = OSError(28, "No space left on device")


def test_a_file_that_ends_too_early_is_found_and_a_full_disk_is_no_fault_of_a_file(
    session: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(CUT)
    files = [InputFile("queue_events", str(path), len(CUT), None, None)]
    opened = partial(read_input, session, CONTRACTS["queue_events"], "json")
    (line,) = find_faulty_files(files, opened, RuntimeError("unexpected end"), are_parquet=False)
    assert line.startswith(f"{path}: ")
    assert "worker" not in line
    assert find_faulty_files(files, opened, FULL, are_parquet=False) == []

    # It becomes full while files are read alone.
    def full(_: object) -> None:
        raise FULL

    with pytest.raises(OSError, match="No space left"):
        find_faulty_files(files, full, RuntimeError("something else"), are_parquet=False)  # type: ignore[arg-type]
