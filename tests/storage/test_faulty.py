"""Which files a failed read is about: broken ones, and none where a disk is full."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.model import Format
from schemas import CONTRACTS, EventContract
from storage.inputs import faulty
from storage.inputs.faulty import faulty_files
from storage.inputs.listing import InputFile

pytestmark = pytest.mark.spark

CUT = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""The beginning of a gz file."""


def found(spark: SparkSession, folder: Path, error: Exception) -> list[str]:
    path = folder / "cut.jsonl.gz"
    path.write_bytes(CUT)
    file = InputFile("queue_events", str(path), len(CUT), None, None)
    return faulty_files(spark, CONTRACTS["queue_events"], "json", [file], error)


def test_a_file_that_ends_too_early_is_found_where_the_error_names_none(
    session: SparkSession, tmp_path: Path
) -> None:
    (line,) = found(session, tmp_path, RuntimeError("unexpected end"))
    assert line.startswith(f"{tmp_path}/cut.jsonl.gz: ")


def test_a_full_disk_is_no_fault_of_a_file(session: SparkSession, tmp_path: Path) -> None:
    assert found(session, tmp_path, OSError(28, "No space left on device")) == []


def test_a_disk_that_becomes_full_while_files_are_read_alone_is_no_fault_of_a_file(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(spark: SparkSession, contract: EventContract, format: Format, files: list[InputFile]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(faulty, "read_input", full)
    with pytest.raises(OSError, match="No space left"):
        found(session, tmp_path, RuntimeError("something else"))
