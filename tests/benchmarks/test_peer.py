"""The peer's SQL against the naive model: a third opinion is only worth something if it is sound."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import peer
from pipelines.config.errors import ConfigError
from pipelines.config.load import load_settings
from schemas.events import CONTRACTS
from tests.support.harness import Project, Row, difference, one_log
from tests.support.model import simulate
from tests.support.random_logs import random_logs
from tests.support.strategies import Log

TABLES = ("endpoints", "group_priorities", "receive_schedule", "transmission_schedule", "unresolved")
OFF = {"top": None, "starvation": None, "blocks": None}
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


def peer_tables(project: Project, log: Log) -> dict[str, list[Row]]:
    out = project.folder / "peer"
    peer.run(load_settings(project.config), log.as_of, out, threads=2, memory="1GiB")
    return {table: pq.read_table(out / f"{table}.parquet").to_pylist() for table in peer.WRITTEN}


def require_equal(project: Project, log: Log) -> None:
    expected = simulate(log.events, **log.settings)
    found = peer_tables(project, log)
    for table in TABLES:
        columns = expected[table][0].keys() if expected[table] else ()
        rows = [
            {name: row.get(name, log.as_of if name == "as_of" else None) for name in columns}
            for row in found[table]
        ]
        assert difference(rows, expected[table]) == [], table


@pytest.mark.parametrize("number", [11, 12, 15])
def test_the_peer_equals_the_model(tmp_path: Path, number: int) -> None:
    log = replace(one_log(random_logs(30, number)), **OFF)
    require_equal(project_of(tmp_path, log), log)


def test_without_queue_events_every_receive_counts(tmp_path: Path) -> None:
    log = replace(one_log(random_logs(30, 14)), queue_events=None, **OFF)
    require_equal(project_of(tmp_path, log), log)


def test_an_arrival_creates_a_target_whose_initiator_is_unknown(tmp_path: Path) -> None:
    log = replace(one_log(random_logs(30, 16)), **OFF)
    events = [
        {**row, "event_time": row["event_time"] + timedelta(days=1)}
        if row["event_type"] == "DIALOG_CREATED"
        else row
        for row in log.endpoint_events
        if row["event_type"] != "BEGIN_DIALOG"
    ]
    one_sided = replace(log, endpoint_events=events)
    project = project_of(tmp_path, one_sided)
    require_equal(project, one_sided)
    created = {
        (row["conversation_id"], row["created_at"]) for row in peer_tables(project, one_sided)["endpoints"]
    }
    assert created - {(row["conversation_id"], row["event_time"]) for row in events}


def test_duplicates_are_counted_once_and_conflicts_rejected(tmp_path: Path) -> None:
    log = replace(one_log(random_logs(30, 13)), **OFF)
    twice, contradicted = log.message_events[0], log.message_events[1]
    changed = {**contradicted, "message_type": contradicted["message_type"] + "?"}
    no_type = {**twice, "event_id": "untyped", "event_type": "LOST"}
    dirty = replace(log, message_events=[*log.message_events, twice, changed, no_type])
    project = project_of(tmp_path, dirty)
    clean = replace(log, message_events=[row for row in log.message_events if row is not contradicted])
    require_equal(project, clean)
    rejected = peer_tables(project, clean)["rejected_events"]
    source = {"source": "message_events"}
    conflict = {**source, "event_id": contradicted["event_id"], "reason": "conflicting_duplicate"}
    unknown = {**source, "event_id": "untyped", "reason": "unknown_event_type"}
    assert difference(rejected, [conflict, conflict, unknown]) == []


def test_what_the_peer_leaves_out_is_refused(tmp_path: Path) -> None:
    log = replace(one_log(random_logs(1, 16)), **OFF)
    project = Project(tmp_path, catalog=log.catalog, format="parquet", receive={"top": 2})
    with pytest.raises(ConfigError, match=r"receive\.top"):
        peer.run(load_settings(project.config), log.as_of, tmp_path / "peer", threads=1, memory="1GiB")
