"""Rows of views that are rejected: the gate names view, file, line and value; nothing stores a body."""

import json
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.field.running import Case, Row
from tests.field.servers import convert, read_csv, text_of

pytestmark = pytest.mark.slow

BODY = 'S3CRET <body>, of a "customer"'
VIEW = "dbo.TargetQueue"
AS_OF = "2026-11-21T00:00:01Z"


def snapshot(folder: Path, format: str, taken_at: str, bad: Row) -> Case:
    """The sample's target database; one message more, which has `bad`, and all messages have a body."""
    views = folder / "TargetDB"
    shutil.copytree(Path(__file__).parent / "views" / "TargetDB", views)
    header, *rows = read_csv(views / f"{VIEW}.csv")
    changed = dict(zip(header, rows[-1], strict=True)) | {"queuing_order": "9", **bad}
    table = [["message_body", *header], *[[BODY, *row] for row in [*rows, [*changed.values()]]]]
    (views / f"{VIEW}.csv").write_text(text_of(table, line_end="\n"))
    if format != "csv":
        for path in views.glob("*.csv"):
            convert(path, format)
    case = Case(folder)
    place = {"path": "TargetDB", "instance": "DOC1", "database": "TargetDB"}
    case.configure(snapshots=[{**place, "taken_at": taken_at, "format": format}])
    return case


def all_rows(case: Case) -> str:
    """All that the tables of the warehouse hold."""
    tables = [log.parent for log in (case.folder / "warehouse").glob("*/_delta_log")]
    return str([DeltaTable(str(table)).to_pyarrow_table().to_pylist() for table in tables])


@pytest.mark.parametrize("format", ["csv", "parquet", "delta"])
def test_the_gate_names_view_file_and_value(session: object, tmp_path: Path, format: str) -> None:
    bad = {"message_sequence_number": "first"}
    case = snapshot(tmp_path / "p", format, "2026-11-21T00:00:00.250Z", bad)
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
    [found] = case.ask("rejected")
    assert [found["reason"], found["events"], len(found["samples"])] == [reason, 1, 1]


def test_a_row_of_a_view_that_is_broken(session: object, tmp_path: Path) -> None:
    case = snapshot(tmp_path / "p", "csv", "2026-11-21T00:00:00Z", {"message_type_name": "a"})
    file = tmp_path / "p" / "TargetDB" / f"{VIEW}.csv"
    file.write_text(file.read_text() + f"{BODY}\n")
    done = case.nightly(AS_OF)
    assert done.code == 3
    assert f"; most often broken_row, as in {file}:7. Correct" in done.err
    assert "S3CRET" not in all_rows(case) + done.err
