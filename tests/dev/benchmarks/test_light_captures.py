"""A day of light captures: the queue stays full, and a light capture has new endpoints alone."""

from datetime import UTC, datetime
from pathlib import Path

from dev.benchmarks.light_captures import DATABASE, MESSAGES, QUEUE, write_captures
from pipelines.server.captures.capture import read_capture
from tests.support.read_captures import read_file, rows_of


def test_captures_follow_a_queue(tmp_path: Path) -> None:
    write_captures(3, 30, tmp_path)
    files = sorted(tmp_path.glob("2026-11-27/*.jsonl.gz"))
    read = [read_file(file) for file in files]
    assert [content["header"][3] for content in read] == [
        datetime(2026, 11, 27, hour, minute, tzinfo=UTC) for hour, minute in ((0, 0), (0, 30), (1, 0))
    ]
    assert [read_capture(str(file)).is_light for file in files] == [False, True, False]
    queues = [rows_of(content, f"queue {QUEUE}", DATABASE) for content in read]
    assert {len(rows) for rows in queues} == {MESSAGES}
    orders = [{row["queuing_order"] for row in rows} for rows in queues]
    assert len(orders[0] - orders[1]) >= 2400
    ends = [rows_of(content, "conversation_endpoints", DATABASE) for content in read]
    handles = [{row["conversation_handle"] for row in rows} for rows in ends]
    assert len(handles[0]) == len(handles[2]) == 2000
    assert 0 < len(handles[1]) <= 480
    assert handles[1] & handles[0] == set()
