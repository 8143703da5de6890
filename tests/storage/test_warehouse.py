"""Warehouses that are not as a run left them: of an older version, or with a table half created."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from config.errors import ConfigError
from schemas.outputs import FILES, RECEIVE_SCHEDULE
from storage.small_frame import small_frame
from storage.warehouse import Warehouse


def test_an_old_warehouse_is_refused(session: SparkSession, tmp_path: Path) -> None:
    Warehouse(session, f"{tmp_path}/new").require_this_shape()
    write_deltalake(f"{tmp_path}/old/ledger_batches", pa.table({"batch": [1]}))
    said = (
        f"warehouse: {tmp_path}/old was written by an older version, whose tables are not read; move the "
        "folder away (or name another one) and run jobs/nightly.py again: it makes all tables anew from the "
        "event files (docs/operations.md, Old warehouses)"
    )
    with pytest.raises(ConfigError, match=f"^{re.escape(said)}$"):
        Warehouse(session, f"{tmp_path}/old").require_this_shape()


@pytest.mark.spark
def test_a_table_that_lacks_a_column_is_of_an_older_version(session: SparkSession, tmp_path: Path) -> None:
    older = [name for name in RECEIVE_SCHEDULE.names if name != "queuing_order"]
    write_deltalake(f"{tmp_path}/receive_schedule", pa.table({name: ["x"] for name in older}))
    with pytest.raises(ConfigError, match="was written by an older version"):
        Warehouse(session, str(tmp_path)).read(RECEIVE_SCHEDULE)


@pytest.mark.spark
def test_a_table_whose_creation_broke_off_is_none(session: SparkSession, tmp_path: Path) -> None:
    """A kill may leave a log without a commit: it reads as empty, and the first write creates the table."""
    (tmp_path / FILES.name / "_delta_log" / "_staged_commits").mkdir(parents=True)
    warehouse = Warehouse(session, str(tmp_path))
    assert not warehouse.exists(FILES)
    assert warehouse.read(FILES).count() == 0
    row = (1, "queue_events", "a.jsonl", 5, datetime(2026, 11, 20, tzinfo=UTC), None)
    warehouse.append(FILES, small_frame(session, [row], FILES.struct))
    assert [each.path for each in Warehouse(session, str(tmp_path)).read(FILES).collect()] == ["a.jsonl"]
