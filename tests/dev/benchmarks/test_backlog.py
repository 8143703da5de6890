"""The log of a standing backlog: half of its messages are open, and what is skewed."""

from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from dev.benchmarks.backlog_log import Skew, write_backlog
from dev.benchmarks.logs import make_backlog
from dev.benchmarks.options import LAST_MIDNIGHT
from tests.support.harness import Row

MESSAGES = 2_000


def rows_of(folder: Path, source: str) -> list[Row]:
    return pq.read_table(folder / source).to_pylist()


def largest_share(values: Iterable[Hashable]) -> float:
    """Of all values, the share of the one that occurs most often."""
    counted = Counter(values)
    return max(counted.values()) / counted.total()


def test_half_of_the_messages_are_open(tmp_path: Path) -> None:
    write_backlog(MESSAGES, tmp_path, LAST_MIDNIGHT)
    types = [row["event_type"] for row in rows_of(tmp_path, "endpoint_events")]
    events = rows_of(tmp_path, "message_events")
    assert types.count("BEGIN_DIALOG") == types.count("DIALOG_CREATED") == len(types) / 2 == 800
    messages, delivered, received = (
        {row["message_id"] for row in events if row["event_type"] in types}
        for types in (("SENT", "DELIVERED", "RECEIVED"), ("DELIVERED",), ("RECEIVED",))
    )
    assert received < delivered < messages == {row["message_id"] for row in events}
    assert len(messages) / MESSAGES == pytest.approx(1, abs=0.05)
    assert len(received) / len(messages) == pytest.approx(0.45, abs=0.05)
    assert len(delivered) / len(messages) == pytest.approx(0.85, abs=0.05)
    times = [row["event_time"] for row in events]
    assert min(times) >= LAST_MIDNIGHT - timedelta(days=1)
    assert LAST_MIDNIGHT < max(times) < LAST_MIDNIGHT + timedelta(minutes=4)


@pytest.mark.parametrize(
    ("skew", "queue", "group", "level"),
    [(None, 0.1, 0.0, 0.1), ("queue", 0.9, 0.0, 0.1), ("group", None, 0.5, 0.1), ("level", 0.1, 0.0, 0.99)],
)
def test_what_is_skewed(
    tmp_path: Path, skew: Skew | None, queue: float | None, group: float, level: float
) -> None:
    """The share of the most frequent queue, group and level."""
    log = make_backlog(MESSAGES, skew, tmp_path)
    created = [row for row in rows_of(log, "endpoint_events") if not row["is_initiator"]]
    rules = yaml.load((log / "rules.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    if queue is not None:
        assert largest_share(row["local_service"] for row in created) == pytest.approx(queue, abs=0.1)
    groups = largest_share(row["conversation_group_id"] for row in created)
    assert groups == pytest.approx(group, abs=0.05)
    assert largest_share(rule["create"]["level"] for rule in rules) == pytest.approx(level, abs=0.1)


def test_a_log_is_made_once(tmp_path: Path) -> None:
    log = make_backlog(10, None, tmp_path)
    (log / "message_events" / "part-0.parquet").unlink()
    assert make_backlog(10, None, tmp_path) == log
    assert not (log / "message_events" / "part-0.parquet").exists()
    assert make_backlog(10, "queue", tmp_path) != log
