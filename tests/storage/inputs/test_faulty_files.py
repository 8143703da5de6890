"""Which files a failed read is about: broken ones, and none where a disk is full."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.storage.inputs.faulty_files import find_faulty_files
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.read import read_input
from schemas import CONTRACTS

CUT = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""The beginning of a gz file."""


def found(
    spark: SparkSession,
    folder: Path,
    error: Exception,
    opened: Callable[[Sequence[InputFile]], DataFrame] | None = None,
) -> list[str]:
    path = folder / "cut.jsonl.gz"
    path.write_bytes(CUT)
    file = InputFile("queue_events", str(path), len(CUT), None, None)
    opened = opened or partial(read_input, spark, CONTRACTS["queue_events"], "json")
    return find_faulty_files([file], opened, error, are_parquet=False)


def test_a_file_that_ends_too_early_is_found_where_the_error_names_none(
    session: SparkSession, tmp_path: Path
) -> None:
    (line,) = found(session, tmp_path, RuntimeError("unexpected end"))
    assert line.startswith(f"{tmp_path}/cut.jsonl.gz: ")


def test_a_full_disk_is_no_fault_of_a_file(session: SparkSession, tmp_path: Path) -> None:
    assert found(session, tmp_path, OSError(28, "No space left on device")) == []


def test_a_disk_that_becomes_full_while_files_are_read_alone_is_no_fault_of_a_file(
    session: SparkSession, tmp_path: Path
) -> None:
    def full(_: Sequence[InputFile]) -> DataFrame:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        found(session, tmp_path, RuntimeError("something else"), full)
