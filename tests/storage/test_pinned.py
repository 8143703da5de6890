"""Rows that are read as they are now."""

from pathlib import Path

from pyspark.sql import SparkSession

from schemas.ledger import LEDGER_BATCHES
from storage.small_frame import small_frame
from storage.warehouse import Warehouse


def test_what_is_kept_of_a_table_stays_what_it_was(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = Warehouse(spark, str(tmp_path))

    def write(*batches: int) -> None:
        rows = [(batch, batch, "", False) for batch in batches]
        warehouse.replace(LEDGER_BATCHES, small_frame(spark, rows, LEDGER_BATCHES.struct))

    write(1, 2)
    kept = warehouse.read_pinned(LEDGER_BATCHES).select("ledger_batch").persist()
    try:
        assert sorted(kept.collect()) == [(1,), (2,)]
        write(3)
        assert sorted(kept.where("ledger_batch > 0").collect()) == [(1,), (2,)]
    finally:
        kept.unpersist()
    assert warehouse.read(LEDGER_BATCHES).select("ledger_batch").collect() == [(3,)]


def test_a_table_that_was_never_written_is_empty(spark: SparkSession, tmp_path: Path) -> None:
    assert Warehouse(spark, str(tmp_path)).read_pinned(LEDGER_BATCHES).collect() == []
