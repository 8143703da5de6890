"""What delta-rs, Arrow and the engine get for a path of Windows, as far as another system can tell."""

import os
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pipelines.config.paths import local_folder
from pipelines.engine.files import engine_path, literal_paths
from pipelines.storage.inputs.paths import file_system, local_path


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("config.paths", "engine.files", "storage.inputs.paths"):
        monkeypatch.setattr(f"pipelines.{module}.os", SimpleNamespace(name="nt", sep="\\", path=os.path))


@pytest.mark.usefixtures("windows")
def test_an_engine_gets_a_uri_without_a_pattern(embedded: SparkSession) -> None:
    uris = {
        "C:/data/a b": "file:///C:/data/a%20b",
        "//server/share/x": "file://server/share/x",
        "s3a://bucket/events": "s3a://bucket/events",
        "file:///C:/data": "file:///C:/data",
    }
    assert {path: engine_path(path) for path in uris} == uris
    assert literal_paths(embedded, ["C:/data/[a]*.json"]) == ["file:///C:/data/%5Ba%5D%2A.json"]
    assert local_folder("file:/C:/warehouse") == local_folder("C:/warehouse") == "C:/warehouse"


def test_elsewhere_an_engine_gets_the_path() -> None:
    for path in ("/data/a b", "C:/data", "s3a://bucket/x"):
        assert engine_path(path) == path


def test_a_drive_is_no_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("C:/data/x", "//server/share/x"):
        assert local_path(path) == path
        assert file_system(path)[1:] == (path, "")
    monkeypatch.chdir(tmp_path)
    write_deltalake("C:/warehouse/runs", pa.table({"a": [1]}))
    assert DeltaTable("C:/warehouse/runs").version() == 0
    assert (tmp_path / "C:" / "warehouse" / "runs" / "_delta_log").is_dir()
