"""What `--verbose` says of every write."""

import logging
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.engine.frames import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import UNRESOLVED
from schemas.reading import as_of_key
from tests.support.factories import at


def test_a_write_is_told_with_its_rows(
    session: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="pipelines.storage.warehouse")
    warehouse = Warehouse(session, str(tmp_path))
    told = "endpoint_unknown", None, None, None
    rows = [(at(), as_of_key(at()), "receive", f"m{number}", *told) for number in range(3)]
    warehouse.append(UNRESOLVED, small_frame(session, rows, UNRESOLVED.struct))
    warehouse.replace(UNRESOLVED, small_frame(session, [], UNRESOLVED.struct), where="kind = 'transmission'")
    written, nothing = caplog.messages
    assert re.fullmatch(r"unresolved: 3 rows in \d files, version 1, \d+\.\d s", written)
    assert re.fullmatch(r"unresolved: 0 rows in 0 files, version \d, \d+\.\d s", nothing)
