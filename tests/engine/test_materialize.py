"""Rows that are computed once for all that reads them."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.engine.materialize import materialized


@pytest.mark.parametrize("name", ["a b#c%20d?", "[e]{f}*", "é日本", "g\\h", "i'j\"k$l&m;n"])
def test_working_files_in_a_folder_of_any_name(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.setattr("pipelines.engine.materialize.local_scratch", lambda: folder)
    with materialized(session.range(3), str(tmp_path / "other")) as copy:
        assert copy.count() == 3
        assert len(list(folder.rglob("*.parquet"))) > 0
    assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == [folder]
