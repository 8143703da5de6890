"""Rows of views that are rejected: the gate names view, file, line and value; nothing stores a body."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from tests.field.running import Case

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Row = dict[str, Any]
BODY = 'S3CRET <body>, of a "customer"'
VIEW = "dbo.TargetQueue"
AS_OF = "2026-11-21T00:00:01Z"


def snapshot(folder: Path, format: str, taken_at: str, bad: Row) -> Case:
    """The sample's target database; one message more, which has `bad`, and all messages have a body."""
    views = folder / "TargetDB"
    shutil.copytree(Path(__file__).parent / "views" / "TargetDB", views)
    file = views / f"{VIEW}.csv"
    rows = list(csv.DictReader(file.open()))
    rows = [{"message_body": BODY, **row} for row in [*rows, {**rows[-1], "queuing_order": "9", **bad}]]
    if format == "csv":
        with file.open("w", newline="") as out:
            written = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
            written.writeheader()
            written.writerows(rows)
    else:
        file.unlink()
        table = pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})
        if format == "parquet":
            pq.write_table(table, views / f"{VIEW}.parquet")
        else:
            write_deltalake(str(views / f"{VIEW}.delta"), table)
        for other in views.glob("*.csv"):
            given = list(csv.DictReader(other.open()))
            columns = next(csv.reader(other.open()))
            cells = {name: pa.array([row[name] or None for row in given], pa.string()) for name in columns}
            if format == "parquet":
                pq.write_table(pa.table(cells), other.with_suffix(".parquet"))
            else:
                write_deltalake(str(other.with_suffix(".delta")), pa.table(cells))
            other.unlink()
    settings = {
        "warehouse": "warehouse",
        "snapshots": [
            {
                "path": "TargetDB",
                "instance": "DOC1",
                "database": "TargetDB",
                "taken_at": taken_at,
                "format": format,
            }
        ],
    }
    (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
    return Case(folder)


def all_rows(case: Case) -> str:
    """All that the tables of the warehouse hold."""
    tables = [log.parent for log in (case.folder / "warehouse").glob("*/_delta_log")]
    return str([DeltaTable(str(table)).to_pyarrow_table().to_pylist() for table in tables])


@pytest.mark.parametrize("taken_at", ["2026-11-21T00:00:00Z", "2026-11-21T00:00:00.250Z"])
@pytest.mark.parametrize("format", ["csv", "parquet", "delta"])
def test_the_gate_names_view_file_and_value(
    session: SparkSession, tmp_path: Path, format: str, taken_at: str
) -> None:
    case = snapshot(tmp_path / "p", format, taken_at, {"message_sequence_number": "first"})
    done = case.nightly(AS_OF)
    assert done.code == 3
    reason = "unreadable_message_sequence_number"
    place = f"{tmp_path}/p/TargetDB/{VIEW}.{format}{':6' if format == 'csv' else ''}"
    said = f"; most often {reason}, as in {place}: message_sequence_number is 'first'. Correct"
    assert said in done.err
    [row] = case.table("rejected_events")
    assert (row["source"], row["reason"]) == ("snapshots", reason)
    payload = json.loads(row["payload"])
    assert (payload["queuing_order"], "message_body" in payload) == ("9", False)
    assert "S3CRET" not in all_rows(case) + done.err
    [found] = case.job("rejected", "--format", "json").json
    assert [found["reason"], found["events"], len(found["samples"])] == [reason, 1, 1]


def test_a_row_of_a_view_that_is_broken(session: SparkSession, tmp_path: Path) -> None:
    case = snapshot(tmp_path / "p", "csv", "2026-11-21T00:00:00Z", {"message_type_name": "a"})
    file = tmp_path / "p" / "TargetDB" / f"{VIEW}.csv"
    file.write_text(file.read_text() + f"{BODY}\n")
    done = case.nightly(AS_OF)
    assert done.code == 3
    assert f"; most often broken_row, as in {file}:7. Correct" in done.err
    assert "S3CRET" not in all_rows(case) + done.err
