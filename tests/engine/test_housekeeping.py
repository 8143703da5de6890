"""Housekeeping of a table; `tests/engines/test_contract.py` does the same on Apache Spark."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.engine.housekeeping import HousekeptTable, housekept_table

pytestmark = pytest.mark.slow

DAY = date(2026, 11, 20)
PARTITIONS = ["day", "fold"]


def test_a_table_is_compacted_rewritten_deleted_from_and_vacuumed(
    session: SparkSession, tmp_path: Path
) -> None:
    require_housekept(session, tmp_path)


def require_housekept(session: SparkSession, folder: Path) -> None:
    """Keep house in a table, on each engine by its own way."""
    path = str(folder / "table")
    assert housekept_table(path, session) is None
    for fold in (1, 1, 2):
        rows = session.range(0, 3, 1, 1).selectExpr(f"DATE'{DAY}' AS day", f"{fold}L AS fold", "id")
        rows.write.format("delta").mode("append").partitionBy("day", "fold").save(path)
    assert opened(path, session).version() == 2
    assert opened(path, session).files(PARTITIONS)[DAY, 1][0] > 100
    assert files_of(path, session) == {(DAY, 1): 2, (DAY, 2): 1}
    opened(path, session).compact()
    assert files_of(path, session) == {(DAY, 1): 1, (DAY, 2): 1}
    where = f"day IN (DATE '{DAY}') AND fold <= 2"
    opened(path, session).set_column("fold", 2, where=where, partition_by=PARTITIONS)
    assert files_of(path, session) == {(DAY, 2): 1}

    opened(path, session).delete("id > 1")
    table = opened(path, session)
    expected = [{"fold": 2, "id": id} for id in (0, 0, 0, 1, 1, 1)]
    assert sorted(table.rows(["fold", "id"]), key=str) == expected
    unused = len(list(Path(path).rglob("*.parquet"))) - 1 - len(list(Path(path).glob("_delta_log/*.parquet")))
    assert table.unused(1000) == 0
    assert table.unused(0) == unused > 3
    table.vacuum(0)
    table = opened(path, session)
    assert table.unused(0) == 0
    assert len(table.rows()) == 6


def opened(path: str, session: SparkSession) -> HousekeptTable:
    table = housekept_table(path, session)
    assert table is not None
    return table


def files_of(path: str, session: SparkSession) -> dict[tuple[Any, ...], int]:
    """How many files each partition has."""
    return {partition: len(sizes) for partition, sizes in opened(path, session).files(PARTITIONS).items()}
