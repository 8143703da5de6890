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
from schemas.outputs import FILES


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


@pytest.mark.parametrize("is_on_this_machine", [True, False])
def test_known_rows_are_written_alike(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_on_this_machine: bool
) -> None:
    """By delta-rs, and by the engine where the table is elsewhere."""
    if not is_on_this_machine:
        monkeypatch.setattr(table_log, "folder_on_this_machine", lambda *_: None)
    warehouse = Warehouse(session, str(tmp_path))

    def row(batch: int, path: str) -> tuple[Any, ...]:
        file = {"batch": batch, "source": "s", "path": path, "length": 5}
        return tuple(file.get(name) for name in FILES.names)

    warehouse.replace(FILES, [row(1, "a"), row(2, "b")])
    warehouse.append(FILES, [row(3, "c")])
    warehouse.replace(FILES, [row(2, "d")], where="batch >= 2")
    warehouse.replace(FILES, [], where="batch >= 9")
    with pytest.raises(Exception, match=r"batch|null|NULL"):
        warehouse.append(FILES, [(None, *row(4, "e")[1:])])
    rows = warehouse.read(FILES).orderBy("batch").collect()
    assert [tuple(each) for each in rows] == [row(1, "a"), row(2, "d")]


def test_the_folder_of_a_schema_may_have_a_space() -> None:
    """Spark's catalog gives it as a URI, and `folder_of` takes away its escapes."""
    assert local_path("file:/data/it's a folder/runs") == "/data/it's a folder/runs"
    assert local_path("/data/it's a folder/runs") == "/data/it's a folder/runs"
    assert local_path("s3://bucket/runs") is None
