"""The peer's SQL against the naive model: a third opinion is only worth something if it is sound."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dev.benchmarks import peer
from pipelines.config.errors import ConfigError
from pipelines.config.load import load_settings
from schemas.events import CONTRACTS
from tests.support.factories import NOON, catalog
from tests.support.harness import Project, Row, difference, one_log
from tests.support.model import simulate
from tests.support.random_logs import random_logs
from tests.support.strategies import Log

pytestmark = pytest.mark.long


TABLES = ("endpoints", "group_priorities", "receive_schedule", "transmission_schedule", "unresolved")
ARROW = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "boolean": pa.bool_(),
    "bigint": pa.int64(),
    "int": pa.int32(),
}


def project_of(folder: Path, log: Log) -> Project:
    project = Project(
        folder,
        catalog=log.catalog,
        rules=log.rules,
        queue_events=log.queue_events is not None,
        format="parquet",
    )
    for source, rows in log.events.items():
        fields = [pa.field(column.name, ARROW[column.type]) for column in CONTRACTS[source].columns]
        pq.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), folder / source / "events.parquet")
    return project


def require_equal(project: Project, log: Log) -> dict[str, list[Row]]:
    """Require that the peer's tables are the model's, and give them."""
    expected = simulate(log.events, **log.settings)
    out = project.folder / "peer"
    peer.run(load_settings(project.config), log.as_of, out, threads=2, memory="1GiB")
    found = {table: pq.read_table(out / f"{table}.parquet").to_pylist() for table in peer.WRITTEN}
    for table in TABLES:
        columns = expected[table][0].keys() if expected[table] else ()
        rows = [
            {name: row.get(name, log.as_of if name == "as_of" else None) for name in columns}
            for row in found[table]
        ]
        assert difference(rows, expected[table]) == [], table
    return found


def random_log(number: int, **changes: Any) -> Log:
    """Some random logs as one, without the options that the peer leaves out."""
    return replace(one_log(random_logs(20, number)), top=None, starvation=None, blocks=None, **changes)


@pytest.mark.parametrize(("number", "changes"), [(11, {}), (12, {}), (14, {"queue_events": None})])
def test_the_peer_equals_the_model(tmp_path: Path, number: int, changes: dict[str, Any]) -> None:
    """Without queue events every receive counts."""
    log = random_log(number, **changes)
    require_equal(project_of(tmp_path, log), log)


def test_an_arrival_creates_a_target_whose_initiator_is_unknown(tmp_path: Path) -> None:
    log = random_log(16)
    events = [
        {**row, "event_time": row["event_time"] + timedelta(days=1)}
        if row["event_type"] == "DIALOG_CREATED"
        else row
        for row in log.endpoint_events
        if row["event_type"] != "BEGIN_DIALOG"
    ]
    one_sided = replace(log, endpoint_events=events)
    found = require_equal(project_of(tmp_path, one_sided), one_sided)
    created = {(row["conversation_id"], row["created_at"]) for row in found["endpoints"]}
    assert created - {(row["conversation_id"], row["event_time"]) for row in events}


def test_duplicates_are_counted_once_and_conflicts_rejected(tmp_path: Path) -> None:
    log = random_log(13)
    twice, contradicted = log.message_events[0], log.message_events[1]
    changed = {**contradicted, "message_type": contradicted["message_type"] + "?"}
    no_type = {**twice, "event_id": "untyped", "event_type": "LOST"}
    dirty = replace(log, message_events=[*log.message_events, twice, changed, no_type])
    clean = replace(log, message_events=[row for row in log.message_events if row is not contradicted])
    rejected = require_equal(project_of(tmp_path, dirty), clean)["rejected_events"]
    source = {"source": "message_events"}
    conflict = {**source, "event_id": contradicted["event_id"], "reason": "conflicting_duplicate"}
    unknown = {**source, "event_id": "untyped", "reason": "unknown_event_type"}
    assert difference(rejected, [conflict, conflict, unknown]) == []


def test_what_the_peer_leaves_out_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog(), format="parquet", receive={"top": 2})
    with pytest.raises(ConfigError, match=r"receive\.top"):
        peer.run(load_settings(project.config), NOON, tmp_path / "peer", threads=1, memory="1GiB")
