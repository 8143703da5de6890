"""Names of files are no patterns, whatever stands in them."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.engine.files import literal_paths


@pytest.mark.parametrize(
    "name",
    ["night[1].txt", "{a,b}.txt", "a*%20.txt", "a?%5B[.txt", "day=[1]", "b\\*.txt", "\u00e9 [1]{2}.txt"],
)
def test_a_file_is_read_and_no_other(session: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("this one")
    for other in ("night1.txt", "a.txt", "a 20.txt", "day=1"):
        (tmp_path / other).write_text("another")
    rows = session.read.text(literal_paths(session, [str(tmp_path / name)])).collect()
    assert [row.value for row in rows] == ["this one"]
