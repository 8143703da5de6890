"""A warehouse of an older version is refused with what to do; one of this version is not."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from config.errors import ConfigError
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
