"""Ids that are GUIDs are one id whatever their spelling."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.sql import SparkSession

from tests.factories import Row, at, message_event
from tests.field.conftest import OpenCase
from tests.field.running import Case

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_messages_with_lower_case_ids_are_of_their_conversations(open_case: OpenCase) -> None:
    case = open_case("field-19-guid-spelling")
    night = case.nightly("2026-11-20T10:00:08Z")
    assert night.code == 0
    assert "can't be placed" not in night.out
    columns = ("position", "message_id", "conversation_id", "conversation_handle", "conversation_group_id")
    rows = case.table("receive_schedule", columns)
    assert [tuple(row.values()) for row in rows] == [
        (number - 2, name, *(f"{kind}000000-0000-4000-8000-{number:012}" for kind in ("CC", "BB", "E2")))
        for number, name in ((3, "m-Report"), (4, "m-Grant"))
    ]
    assert case.table("unresolved") == []


def test_ids_are_taken_in_any_spelling_and_a_queue_in_any_form(open_case: OpenCase) -> None:
    case = open_case("field-19-guid-spelling")
    assert case.nightly("2026-11-20T10:00:08Z").code == 0
    conversation = "CC000000-0000-4000-8000-000000000003"
    for name in (conversation.lower(), f"{{{conversation}}}", "bb000000-0000-4000-8000-000000000003"):
        found = case.job("explain", "--conversation", name, "--format", "json")
        assert (found.code, found.json["conversation_id"]) == (0, conversation)
    for name in ("dbo.EtlQueue", "[MILL1].[EtlDB].[dbo].[EtlQueue]"):
        found = case.job("next", "--queue", name, "--format", "json")
        assert [row["message_id"] for row in found.json["next"]] == ["m-Report", "m-Grant"]
    unknown = case.job("next", "--queue", "EtlDB.EtlQeue")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.endswith("there is no such queue; did you mean MILL1.EtlDB.EtlQueue?\n")


LOWER = "cc000000-0000-4000-8000-00000000000a"


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_repeats_are_compared_in_one_spelling_and_rejected_rows_stay_as_written(
    session: SparkSession, tmp_path: Path, format: str
) -> None:
    sent = message_event(
        "SENT", f"{LOWER}/0", event_id="e1", event_time=at(1), message_id=f"{LOWER}/target/0"
    )
    spelled = {"conversation_id": LOWER.upper(), "message_id": f"{{{LOWER}}}/target/0"}
    other = sent | {"event_id": LOWER, "transaction_id": LOWER, "message_id": f"{LOWER}/0"}
    rows = [sent, sent | spelled, other, sent | {"event_id": "e2", "message_type": None}]
    case = Case(tmp_path)
    _write(case, rows, format)
    assert case.job("fold").code == 0
    counts = case.table("batches", ("source", "events", "accepted", "duplicates", "rejected"))
    [came] = [tuple(row.values()) for row in counts if row["source"] == "message_events"]
    assert came == ("message_events", 4, 2, 1, 1)
    columns = ("event_id", "message_id", "conversation_id", "transaction_id")
    accepted = sorted(tuple(row.values()) for row in case.table("message_events", columns))
    assert accepted == [
        (LOWER, f"{LOWER}/0", LOWER.upper(), LOWER),
        ("e1", f"{LOWER.upper()}/target/0", LOWER.upper(), None),
    ]
    [rejected] = case.table("rejected_events", ("event_id", "payload"))
    payload = json.loads(rejected["payload"])
    assert (payload["conversation_id"], payload["message_id"]) == (LOWER, f"{LOWER}/target/0")


def _write(case: Case, rows: list[Row], format: str) -> None:
    folder = case.folder / "message_events"
    folder.mkdir()
    if format == "parquet":
        types = {"event_time": pa.timestamp("us", "UTC"), "sent_by_initiator": pa.bool_()}
        numbers = ("message_sequence_number", "size_bytes", "queuing_order")
        fields = [(name, types.get(name, pa.int64() if name in numbers else pa.string())) for name in rows[0]]
        pq.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), folder / "a.parquet")
    else:
        lines = [json.dumps(row | {"event_time": row["event_time"].isoformat()}) for row in rows]
        (folder / "a.json").write_text("\n".join(lines) + "\n")
    (case.folder / "endpoint_events").mkdir()
    (case.folder / "catalog.yaml").write_text("instances: []\n")
    inputs = {name: {"path": name, "format": format} for name in ("endpoint_events", "message_events")}
    settings = {
        "warehouse": "warehouse",
        "inputs": inputs,
        "catalog": "catalog.yaml",
        "quality": {"max_rejected_share": 1.0},
    }
    Path(case.config).write_text(yaml.safe_dump(settings))
