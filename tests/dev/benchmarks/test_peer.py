"""The peer's SQL against the naive model: a third opinion is only worth something if it is sound."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dev.benchmarks import peer
from pipelines.config.errors import ConfigError
from pipelines.settings.load import load_settings
from schemas.events import CONTRACTS
from tests.support.factories import NOON, catalog
from tests.support.harness import Project, Row, difference, one_log
from tests.support.inputs import ARROW
from tests.support.model import simulate
from tests.support.random_logs import random_logs
from tests.support.strategies import Log

pytestmark = pytest.mark.slow

TABLES = ("endpoints", "group_priorities", "receive_schedule", "transmission_schedule", "unresolved")


def require_equal(folder: Path, log: Log, clean: Log) -> list[Row]:
    """Require that the peer's tables are what the model makes of the clean log; what the peer rejects."""
    has_queues = log.queue_events is not None
    project = Project(folder, catalog=log.catalog, rules=log.rules, queue_events=has_queues, format="parquet")
    for source, rows in log.events.items():
        fields = [pa.field(column.name, ARROW[column.type]) for column in CONTRACTS[source].columns]
        pq.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), folder / source / "events.parquet")
    out = folder / "peer"
    peer.run(load_settings(project.config), log.as_of, out, threads=2, memory="1GiB")
    found = {table: pq.read_table(out / f"{table}.parquet").to_pylist() for table in peer.WRITTEN}
    expected = simulate(clean.events, **clean.settings)
    for table in TABLES:
        columns = expected[table][0].keys() if expected[table] else ()
        rows = [
            {name: row.get(name, log.as_of if name == "as_of" else None) for name in columns}
            for row in found[table]
        ]
        assert difference(rows, expected[table]) == [], table
    return found["rejected_events"]


def random_log(number: int) -> Log:
    """Some random logs as one, without the options that the peer leaves out."""
    return replace(one_log(random_logs(8, number)), top=None, starvation=None, blocks=None)


def without_initiators(log: Log) -> Log:
    """An arrival creates a target whose initiator is unknown."""
    events = [
        row | {"event_time": row["event_time"] + timedelta(days=1)}
        if row["event_type"] == "DIALOG_CREATED"
        else row
        for row in log.endpoint_events
        if row["event_type"] != "BEGIN_DIALOG"
    ]
    return replace(log, endpoint_events=events)


@pytest.mark.parametrize(
    ("number", "change"),
    [
        pytest.param(11, lambda log: log, id="as it is"),
        pytest.param(14, lambda log: replace(log, queue_events=None), id="every receive counts"),
        pytest.param(16, without_initiators, id="without initiators"),
    ],
)
def test_the_peer_equals_the_model(tmp_path: Path, number: int, change: Callable[[Log], Log]) -> None:
    log = change(random_log(number))
    require_equal(tmp_path, log, log)


def test_duplicates_are_counted_once_and_conflicts_rejected(tmp_path: Path) -> None:
    log = random_log(13)
    twice, contradicted = log.message_events[0], log.message_events[1]
    changed = {**contradicted, "message_type": contradicted["message_type"] + "?"}
    no_type = {**twice, "event_id": "untyped", "event_type": "LOST"}
    dirty = replace(log, message_events=[*log.message_events, twice, changed, no_type])
    clean = replace(log, message_events=[row for row in log.message_events if row is not contradicted])
    found = require_equal(tmp_path, dirty, clean)
    conflict = (contradicted["event_id"], "conflicting_duplicate")
    reasons = sorted((row["event_id"], row["reason"]) for row in found)
    assert reasons == sorted([conflict, conflict, ("untyped", "unknown_event_type")])


def test_what_the_peer_leaves_out_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog(), format="parquet", receive={"top": 2})
    with pytest.raises(ConfigError, match=r"receive\.top"):
        peer.run(load_settings(project.config), NOON, tmp_path / "peer", threads=1, memory="1GiB")
