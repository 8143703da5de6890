"""The first commit of a table that is written as a file says what CREATE TABLE says."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.storage import table_log
from pipelines.storage.inputs.paths import local_path
from pipelines.storage.versions import versions_of
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES


def first_commits(session: SparkSession, folder: Path) -> dict[str, dict[str, Any]]:
    """Protocol and description in the first commit of each declared table."""
    warehouse, found = Warehouse(session, str(folder)), {}
    for name, table in TABLES.items():
        warehouse.create_missing(table)
        lines = (folder / name / "_delta_log" / f"{0:020}.json").read_text().splitlines()
        actions = {name: action for line in lines for name, action in json.loads(line).items()}
        described = actions["metaData"] | {"id": None, "createdTime": None}
        described["schemaString"] = json.loads(described["schemaString"])
        found[name] = {"protocol": actions["protocol"], "name": None, **described}
    again = Warehouse(session, str(folder))
    assert all(again.exists(table) for table in TABLES.values())
    assert versions_of(str(folder)) == dict.fromkeys(TABLES, 0)
    return found


def test_a_written_first_commit_is_that_of_the_engine(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = first_commits(session, tmp_path / "written")
    monkeypatch.setattr(table_log, "folder_on_this_machine", lambda *_: None)
    assert written == first_commits(session, tmp_path / "by_engine")
    left = {each.name for each in (tmp_path / "written" / "runs" / "_delta_log").iterdir()}
    assert left == {f"{0:020}.json", f"{0:020}.crc"}


def test_the_folder_of_a_schema_may_have_a_space() -> None:
    """Spark's catalog gives it as a URI, and `folder_of` takes away its escapes."""
    assert local_path("file:/data/it's a folder/runs") == "/data/it's a folder/runs"
    assert local_path("/data/it's a folder/runs") == "/data/it's a folder/runs"
    assert local_path("s3://bucket/runs") is None
