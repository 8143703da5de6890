"""Ids that are GUIDs are one id whatever their spelling; names that are printed paste back."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.config.load import load_settings
from pipelines.console.wording import format_queue
from pipelines.replay.request import find_queues
from schemas.keys import QUEUE
from tests.field.running import EVENTS, Case, OpenCase, Row, instance_of
from tests.support.factories import at, message_event

pytestmark = pytest.mark.slow

AS_OF = "2026-11-20T10:00:08Z"
GUIDS = "field-19-guid-spelling"
NAMES = ("Q", "my.queue", "a b", "x]y", "[z]", "-Q", "it's", 'q"q', "été", " lead", "sales.Q")
PLACES = [("srv.dom", database, name) for database in ("My Db", "B") for name in NAMES]
"""Two databases have the same queues; names of instance and database need brackets, too."""


@pytest.fixture(scope="module")
def case(open_case: OpenCase) -> Case:
    """Messages with ids in lower case, and a message in each of the queues."""
    case = open_case(GUIDS)
    events = {
        source: [json.loads(line) for line in (case.folder / "log" / source / "a.jsonl").open()]
        for source in EVENTS
    }
    for number, (instance, database, queue) in enumerate(PLACES):
        common = {"event_time": "2026-11-20T09:00:00Z", "instance": instance, "database": database}
        common |= {"conversation_id": f"C{number}"}
        names = {"contract": "C", "local_service": f"to {queue}", "remote_service": "far"}
        group = {"is_initiator": False, "conversation_group_id": f"G{number}"}
        events["endpoint_events"].append({**common, **names, **group, "event_type": "DIALOG_CREATED"})
        what = {"message_id": f"M{number}", "message_sequence_number": 0, "message_type": "T"}
        sent = {"sent_by_initiator": True, "event_type": "DELIVERED"}
        events["message_events"].append({**common, **what, **sent})
    case.set_log(events)
    of_database = {
        "queues": [{"name": name, "activation": {"procedure": "p"}} for name in NAMES],
        "services": [{"name": f"to {name}", "queue": name} for name in NAMES],
    }
    databases = [{"name": name, **of_database} for name in ("My Db", "B")]
    case.set_catalog(instance_of(GUIDS, "MILL1"), {"name": "srv.dom", "databases": databases})
    case.publish(AS_OF)
    return case


def test_ids_are_taken_in_any_spelling_and_a_queue_in_any_form(case: Case) -> None:
    """Messages with ids in lower case are of their conversations."""
    assert case.table("unresolved") == []
    columns = ("position", "message_id", "conversation_id", "conversation_handle", "conversation_group_id")
    rows = [
        {name: row[name] for name in columns}
        for row in case.table("receive_schedule")
        if row["instance"] == "MILL1"
    ]
    assert [tuple(row.values()) for row in rows] == [
        (number - 2, name, *(f"{kind}000000-0000-4000-8000-{number:012}" for kind in ("CC", "BB", "E2")))
        for number, name in ((3, "m-Report"), (4, "m-Grant"))
    ]
    conversation = "CC000000-0000-4000-8000-000000000003"
    for name in (conversation.lower(), f"{{{conversation}}}", "bb000000-0000-4000-8000-000000000003"):
        assert case.ask("explain", "--conversation", name)["conversation_id"] == conversation
    for name in ("dbo.EtlQueue", "[MILL1].[EtlDB].[dbo].[EtlQueue]"):
        found = case.ask("next", "--queue", name)
        assert [row["message_id"] for row in found["next"]] == ["m-Report", "m-Grant"]
    unknown = case.job("next", "--queue", "EtlDB.EtlQeue")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err.endswith("there is no such queue; did you mean MILL1.EtlDB.EtlQueue?\n")


def test_printed_names_paste_back_into_every_option(case: Case) -> None:
    printed = [format_queue(dict(zip(QUEUE, place, strict=True))) for place in PLACES]
    assert printed[:3] == ["[srv.dom].[My Db].Q", "[srv.dom].[My Db].[my.queue]", "[srv.dom].[My Db].[a b]"]
    settings = load_settings(case.config)
    assert [find_queues(settings, [name]) for name in printed] == [[place] for place in PLACES]
    for number in (1, 3, len(PLACES) - 1):
        columns = dict(zip(QUEUE, PLACES[number], strict=True))
        found = case.ask("next", "--queue", printed[number])
        assert (columns.items() <= found.items(), found["next"][0]["message_id"]) == (True, f"M{number}")
    told = case.ask("activation", "--as-of", AS_OF, "--queue", printed[3])
    assert told["queue"] == "x]y"
    period = ("--from", "2026-11-20T09:00:00Z", "--to", "2026-11-20T09:30:00Z")
    several = case.ask("replay", *period, "--queue", *printed[1:3], "--queue", printed[-1])
    assert [row["queue"] for row in several["queues"]] == ["sales.Q", "a b", "my.queue"]


# --- Repeats ---

LOWER = "cc000000-0000-4000-8000-00000000000a"


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_repeats_are_compared_in_one_spelling_and_rejected_rows_stay_as_written(
    session: object, tmp_path: Path, format: str
) -> None:
    names = {"message_id": f"{LOWER}/target/0", "conversation_id": LOWER}
    sent = message_event("SENT", f"{LOWER}/0", event_id="e1", event_time=at(1), **names)
    spelled = {"conversation_id": LOWER.upper(), "message_id": f"{{{LOWER}}}/target/0"}
    other = sent | {"event_id": LOWER, "transaction_id": LOWER, "message_id": f"{LOWER}/0"}
    rows = [sent, sent | spelled, other, sent | {"event_id": "e2", "message_type": None}]
    case = Case(tmp_path)
    write(case.folder, rows, format)
    inputs = {name: {"path": name, "format": format} for name in ("endpoint_events", "message_events")}
    case.configure(inputs=inputs, catalog="catalog.yaml", quality={"max_rejected_share": 1.0})
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


def write(folder: Path, rows: list[Row], format: str) -> None:
    (folder / "catalog.yaml").write_text("instances: []\n")
    for name in ("endpoint_events", "message_events"):
        (folder / name).mkdir()
    if format == "json":
        lines = [json.dumps(row | {"event_time": row["event_time"].isoformat()}) for row in rows]
        (folder / "message_events" / "a.json").write_text("\n".join(lines) + "\n")
        return
    types = {"event_time": pa.timestamp("us", "UTC"), "sent_by_initiator": pa.bool_()}
    types |= dict.fromkeys(("message_sequence_number", "size_bytes", "queuing_order"), pa.int64())
    schema = pa.schema([(name, types.get(name, pa.string())) for name in rows[0]])
    pq.write_table(pa.Table.from_pylist(rows, schema), folder / "message_events" / "a.parquet")
