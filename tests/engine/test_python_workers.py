"""Work of Python's: the same rows in a process of its own as in that of the engine."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.engine.python_workers import FEW_ROWS, Work, _apart, run_in_python

COLUMNS = "rows bigint, total bigint, process bigint"
FEW, MANY = 1_000, FEW_ROWS + 50_000
"""Rows of a partition."""


def counting() -> Work:
    """A row a batch: how many rows it has, their sum, and which process looks at it."""

    # A function of this module would be looked for by its name, which workers do not know.
    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            row = {"rows": batch.num_rows, "total": pc.sum(batch[0]).as_py(), "process": os.getpid()}
            yield pa.RecordBatch.from_pylist([row])

    return counted


def nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Look at everything and give nothing back."""
    for batch in batches:
        if batch.num_rows < 0:
            yield batch


def failing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give one batch back, then fail."""
    yield next(batches)
    raise ValueError("no such level: 11")


def batches_of(rows: int) -> Iterator[pa.RecordBatch]:
    """Whole numbers in batches of 8,192."""
    yield from pa.table({"id": range(rows)}).to_batches(8_192)


def children() -> list[str]:
    """Processes that this one has started and that are still there."""
    found = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if "python_workers" in line]


def numbers(session: SparkSession, rows: int) -> DataFrame:
    """Whole numbers in two partitions."""
    return session.range(0, 2 * rows, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, FEW, MANY])
def test_every_row_is_seen_once(session: SparkSession, rows: int) -> None:
    found = run_in_python(numbers(session, rows), counting(), COLUMNS).collect()
    assert sum(row["rows"] for row in found) == 2 * rows
    assert sum(row["total"] for row in found) == rows * (2 * rows - 1)


@pytest.mark.slow
def test_the_engine_gives_many_rows_a_process_a_task_and_few_rows_none(embedded: SparkSession) -> None:
    few, many = (
        {row["process"] for row in run_in_python(numbers(embedded, rows), counting(), COLUMNS).collect()}
        for rows in (FEW, MANY)
    )
    assert few == {os.getpid()}
    assert len(many) == 2
    assert os.getpid() not in many


@pytest.mark.slow
@pytest.mark.parametrize("rows", [FEW, MANY])
def test_batches_come_back_in_their_order_or_not_at_all(rows: int) -> None:
    expected = [(batch.num_rows, pc.sum(batch[0]).as_py()) for batch in batches_of(rows)]
    found = [batch.to_pylist()[0] for batch in _apart(counting())(batches_of(rows))]
    assert [(row["rows"], row["total"]) for row in found] == expected
    assert list(_apart(nothing)(batches_of(rows))) == []


@pytest.mark.parametrize(("rows", "error"), [(FEW, ValueError), (MANY, RuntimeError)])
def test_what_fails_says_why_in_its_last_line(rows: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"no such level: 11$"):
        list(_apart(failing)(batches_of(rows)))
    assert children() == []


def test_a_process_that_is_killed_is_an_error() -> None:
    def killed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield next(batches)
        os.kill(os.getpid(), 9)

    with pytest.raises(RuntimeError, match=r"a Python worker ended with -9"):
        list(_apart(killed)(batches_of(MANY)))


@pytest.mark.parametrize("taken", [0, 5])
def test_no_process_is_left_of_work_that_is_broken_off(taken: int) -> None:
    results: Any = _apart(counting())(batches_of(MANY))
    with closing(results):
        for _ in range(taken):
            next(results)
    assert children() == []
