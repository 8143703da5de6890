"""The capture of the benchmarks is one, and has the rows of the CSV files."""

import csv
from datetime import UTC, datetime
from pathlib import Path

from dev.benchmarks.server_captures import make_capture
from dev.benchmarks.server_views import make_views
from tests.support.read_captures import read_file, rows_of

TAKEN_AT = datetime(2026, 11, 21, tzinfo=UTC)


def test_the_capture_has_the_rows_of_the_views(tmp_path: Path) -> None:
    views = make_views(50, 20, tmp_path / "views", "csv")
    [file] = make_capture(50, 20, TAKEN_AT, tmp_path / "capture").iterdir()
    content = read_file(file)
    assert content["header"][1:] == ("SQL01", None, TAKEN_AT)
    for path in sorted(views.iterdir()):
        with path.open(newline="") as rows:
            written = [{name: row[name] for name in row} for row in csv.DictReader(rows)]
        view = path.stem if "." not in path.stem else f"queue {path.stem}"
        found = rows_of(content, view, "Orders")
        assert len(found) == len(written), path.name
    [endpoint, *_] = rows_of(content, "conversation_endpoints", "Orders")
    assert endpoint["lifetime"] == datetime(2094, 12, 9, 3, 14, 7, tzinfo=UTC)
    assert endpoint["is_initiator"] in (True, False)
