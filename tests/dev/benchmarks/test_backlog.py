"""The log of a standing backlog: its shape, and a night of it that equals the peer's."""

from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from dev.benchmarks.backlog_log import Skew, write_backlog
from dev.benchmarks.bench import Bench
from dev.benchmarks.experiments import EXPERIMENTS
from dev.benchmarks.logs import make_backlog
from dev.benchmarks.measure import DUCKDB, EMBEDDED
from dev.benchmarks.options import LAST_MIDNIGHT, Options
from tests.support.harness import Row

pytestmark = pytest.mark.long


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
    message_events = rows_of(tmp_path, "message_events")
    assert types.count("BEGIN_DIALOG") == types.count("DIALOG_CREATED") == len(types) / 2 == 800
    messages = {row["message_id"] for row in message_events}
    assert len(messages) / MESSAGES == pytest.approx(1, abs=0.05)
    received = {row["message_id"] for row in message_events if row["event_type"] == "RECEIVED"}
    delivered = {row["message_id"] for row in message_events if row["event_type"] == "DELIVERED"}
    assert received < delivered < messages
    assert len(received) / len(messages) == pytest.approx(0.45, abs=0.05)
    assert len(delivered) / len(messages) == pytest.approx(0.85, abs=0.05)
    times = [row["event_time"] for row in message_events]
    assert min(times) >= LAST_MIDNIGHT - timedelta(days=1)
    assert LAST_MIDNIGHT < max(times) < LAST_MIDNIGHT + timedelta(minutes=4)


def test_what_is_skewed(tmp_path: Path) -> None:
    targets, groups, levels = {}, {}, {}
    skews: tuple[Skew | None, ...] = (None, "queue", "group", "level")
    for skew in skews:
        log = make_backlog(MESSAGES, skew, tmp_path)
        created = [row for row in rows_of(log, "endpoint_events") if not row["is_initiator"]]
        targets[skew] = largest_share(row["local_service"] for row in created)
        groups[skew] = largest_share(row["conversation_group_id"] for row in created)
        rules = yaml.load((log / "rules.yaml").read_bytes(), Loader=yaml.CSafeLoader)
        levels[skew] = largest_share(rule["create"]["level"] for rule in rules)
    assert targets["queue"] == pytest.approx(0.9, abs=0.05)
    assert groups["group"] == pytest.approx(0.5, abs=0.05)
    assert levels["level"] == pytest.approx(0.99, abs=0.02)
    assert targets[None] < 0.2
    assert groups[None] < 0.01
    assert levels[None] < 0.2


def test_a_log_is_made_once(tmp_path: Path) -> None:
    log = make_backlog(10, None, tmp_path)
    (log / "message_events" / "part-0.parquet").unlink()
    assert make_backlog(10, None, tmp_path) == log
    assert not (log / "message_events" / "part-0.parquet").exists()
    assert make_backlog(10, "queue", tmp_path) != log


def test_the_night_equals_the_peer(tmp_path: Path) -> None:
    """Of processes as they are measured; tables that differ raise."""
    bench = Bench(Options(tmp_path, (EMBEDDED,), messages=500, memory="1g"))
    EXPERIMENTS["backlog"](bench)
    assert [measure.system for measure in bench.measures] == [DUCKDB, EMBEDDED]
    for measure in bench.measures[1:]:
        rows = measure.rows
        assert rows["endpoints"] == 400
        assert 150 < rows["receive_schedule"] < 250
        assert 40 < rows["transmission_schedule"] < 110
        assert 100 < rows["group_priorities"] <= rows["receive_schedule"]
        assert (rows["unresolved"], rows["rejected_events"]) == (0, 0)
