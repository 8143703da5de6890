"""What the reader of captures makes of a file, as plain Python."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.server.captures.capture import read_capture
from pipelines.server.captures.captured import Capture, CapturedView
from pipelines.server.captures.faults import CaptureError
from pipelines.server.captures.rows import CapturedRows
from tests.support.captures import capture_lines, write_capture
from tests.support.factories import NOON, Row, at
from tests.support.snapshot_views import ready, shown, views
from tests.support.view_rows import priority


def small_lines(**more: Any) -> list[str]:
    """A capture of SQL1 with two databases: B has three conversations with messages, A was not read.

    Its lines: 1 header, 2 and 3 databases, 4 transmission_queue, 5 to 7 the queue, 8 about it, 9 to 14
    endpoints, 15 about them, and so on.
    """
    endpoints = [
        shown(number, side, lifetime=at(-60 * number).replace(year=2094), state="CO")
        for number in (1, 2, 3)
        for side in (True, False)
    ]
    messages = [ready(number, False, 0, queuing_order=number) for number in (1, 2, 3)]
    given = views(
        conversation_endpoints=endpoints,
        dbo_TargetQueue=messages,
        conversation_priorities=[priority("Gold", 9, service_contract_id=7, local_service_id=2)],
        databases=[{"name": "B", "is_honor_broker_priority_on": True}],
    )
    return capture_lines({"B": given}, taken_at=NOON, **more)


def read_lines(folder: Path, lines: Sequence[str], name: str = "c.jsonl") -> dict[str, Any]:
    """What the reader makes of lines."""
    return read_file(write_capture(folder / name, lines))


def read_file(path: Path) -> dict[str, Any]:
    """What the reader makes of a file; see `content_of`."""
    with tempfile.TemporaryDirectory() as folder:
        written = CapturedRows(Path(folder))
        capture = read_capture(str(path), written)
        written.close()
        return content_of(capture, written)


def content_of(capture: Capture, written: CapturedRows) -> dict[str, Any]:
    """Header, databases and views of a capture, without its path, lines and hash; rows are sorted."""
    return {
        "header": (capture.id, capture.server, capture.product_version, capture.taken_at),
        "databases": {
            name: {
                "is_read": each.is_read,
                "reason": each.reason,
                "view_definition": each.view_definition,
                "views": {
                    str(key): _view(view, each.number, written) for key, view in sorted(each.views.items())
                },
            }
            for name, each in capture.databases.items()
        },
    }


def _view(view: CapturedView, number: int | None, written: CapturedRows) -> Row:
    rows = [row for _, row in view.small]
    for file in written.files().get(view.key.view, ()):
        for row in pq.ParquetFile(file.path).read().to_pylist():
            if (row.pop("snapshot"), row.pop("view")) == (number, view.key.name):
                rows.append(row)
    return {
        "count": view.count,
        "complete": view.complete,
        "error": view.error,
        "rows": sorted(rows, key=repr),
    }


def rows_of(content: dict[str, Any], view: str, database: str = "B") -> list[Row]:
    """The rows of a view, named as in `TargetQueue` (`queue dbo.TargetQueue of B`)."""
    rows: list[Row] = content["databases"][database]["views"][f"{view} of {database}"]["rows"]
    return rows


def fault_of(path: Path) -> str:
    """What the reader says of a file that is none: one line, without the folder."""
    with tempfile.TemporaryDirectory() as folder, pytest.raises(CaptureError) as caught:
        read_capture(str(path), CapturedRows(Path(folder)))
    [line] = caught.value.problems
    assert "\n" not in line
    return line.removeprefix(f"{path.parent}/")
