"""Tables that people have as sources: what check shows, and what nights take of them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case

CONVERSATION = "0A1B2C3D-0000-0000-0000-000000000001"
INSTANCE = {
    "name": "SQL1",
    "databases": [
        {
            "name": "Claims",
            "queues": [{"name": "Intake"}],
            "services": [{"name": "//claims/Intake", "queue": "Intake"}],
        }
    ],
}
COLUMNS = {
    "event_time": {"from": "ProcessedAt", "zone": "Europe/Berlin"},
    "event_type": {"value": "RECEIVED"},
    "instance": {"value": "SQL1"},
    "database": {"value": "Claims"},
    "conversation_id": "Conversation",
    "sent_by_initiator": {"value": True},
    "message_sequence_number": "SeqNo",
    "message_type": {"from": "MsgType", "values": {"1": "ClaimRequest"}, "other": "ClaimOther"},
}
HEADER = "ProcessedAt,Direction,Conversation,SeqNo,MsgType\n"
ROWS = [
    f"2026-11-20 10:00:00.1234567,IN,{CONVERSATION.lower()},0,1\n",
    f"2026-11-20 10:01:00.123,IN,{CONVERSATION.lower()},1,2\n",
    f"2026-11-20 10:01:00.123,OUT,{CONVERSATION.lower()},0,2\n",
]
CREATIONS = (
    "event_id,event_time,instance,database,event_type,conversation_id,is_initiator,conversation_handle,"
    "conversation_group_id,contract,local_service,remote_service,logged_priority\n"
    f"e1,2026-11-20T08:00:00Z,SQL1,Claims,DIALOG_CREATED,{CONVERSATION},false,H1,G1,C,//claims/Intake,S,5\n"
)


COUNTS = ("events", "accepted", "duplicates", "rejected", "pending")


class Server(Case):
    """A project whose audit tables are sources of message_events."""

    def set_columns(self, columns: dict[str, Any]) -> None:
        """Map both tables in this way."""
        where = [{"from": "Direction", "is": "IN"}]
        common = {"format": "csv", "columns": columns, "where": where}
        sources = [{"name": name, "path": name, **common} for name in ("audit", "other")]
        endpoints = {"path": "endpoints", "format": "csv"}
        self.configure(inputs={"endpoint_events": endpoints, "message_events": sources})

    def log(self, name: str, *rows: str) -> None:
        """Write a file of rows."""
        (self.folder / name).write_text(HEADER + "".join(rows))

    def counts(self, batch: int, source: str) -> tuple[Any, ...]:
        """What a batch counted of a source: COUNTS."""
        place = (batch, f"message_events/{source}")
        [found] = [row for row in self.table("batches") if (row["batch"], row["source"]) == place]
        return tuple(found[name] for name in COUNTS)

    def pending(self) -> list[tuple[Any, ...]]:
        """What is pending, by the number of the message."""
        rows = self.table("pending_events")
        found = [(json.loads(row["payload"]), row["reason"], row["batch"]) for row in rows]
        return sorted((told["message_sequence_number"], reason, batch) for told, reason, batch in found)


@pytest.fixture
def server(session: SparkSession, tmp_path: Path) -> Server:
    for name in ("endpoints", "audit", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "endpoints" / "1.csv").write_text(CREATIONS)
    server = Server(tmp_path)
    server.set_catalog(INSTANCE)
    server.set_columns(COLUMNS)
    return server


def messages_of(server: Server) -> set[tuple[str, str]]:
    """The ids and types of all messages."""
    return {(row["message_id"], row["message_type"]) for row in server.table("message_events")}


def test_check_shows_three_mapped_rows_and_what_nothing_gives(server: Server) -> None:
    server.log("audit/1.csv", *ROWS, "yesterday,IN,C2,0,1\n")
    found = server.job("check")
    told = [line for line in found.out.splitlines() if "message_events/" in line]
    start = "inputs    ok    message_events/audit: "
    assert told[1] == f"{start}null, as nothing gives it: size_bytes, queuing_order, transaction_id"
    assert told[2].startswith(
        f'{start}row 1: {{"event_time": "2026-11-20 09:00:00.123456", "instance": "SQL1"'
    )
    assert f'"message_id": "{CONVERSATION}/initiator/0"' in told[2]
    assert told[4].endswith("; rejected: unreadable_event_time")
    assert told[5].startswith("inputs    ok    message_events/other: no file yet")
    assert found.code == 0
    server.log("other/1.csv", ROWS[2])
    assert "message_events/other: where keeps no row of the first file\n" in server.job("check").out


@pytest.mark.slow
def test_messages_of_parquet_that_lack_an_id_have_that_of_their_number(server: Server) -> None:
    names = ("event_id", "message_id", "SeqNo", "ProcessedAt", "Conversation", "MsgType")
    same = ("2026-11-20 10:00:00", CONVERSATION, "1")
    rows = [("r1", "M1", 0, *same), ("r2", None, 1, *same), ("r3", None, None, *same)]
    columns = COLUMNS | {"event_id": "event_id", "message_id": "message_id"}
    source = {"name": "audit", "path": "audit", "format": "parquet", "columns": columns}
    endpoints = {"path": "endpoints", "format": "csv"}
    server.configure(inputs={"endpoint_events": endpoints, "message_events": [source]})
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    pq.write_table(table.slice(0, 1), server.folder / "audit" / "1.parquet")
    server.fold()
    assert messages_of(server) == {("M1", "ClaimRequest")}
    pq.write_table(table, server.folder / "audit" / "2.parquet")
    server.configure(quality={"max_rejected_share": 1})
    server.fold()
    assert messages_of(server) == {("M1", "ClaimRequest"), (f"{CONVERSATION}/initiator/1", "ClaimRequest")}
    assert server.counts(2, "audit") == (3, 1, 1, 1, 0)


@pytest.mark.long
@pytest.mark.slow
def test_nights_take_two_tables_each_row_once_and_a_handle_waits_for_31_days(server: Server) -> None:
    """The first night knows conversations; later rows have handles, so the mapping changes."""
    server.log("audit/1.csv", *ROWS, ROWS[0])
    server.log("other/1.csv", ROWS[0])
    server.configure(quality={"max_rejected_share": 0.7})
    server.fold()
    assert server.counts(1, "audit") == (3, 3, 0, 0, 0)
    assert server.counts(1, "other") == (1, 0, 1, 0, 0)
    known = {
        (f"{CONVERSATION}/initiator/0", "ClaimRequest"),
        (f"{CONVERSATION}/initiator/1", "ClaimOther"),
    }
    assert messages_of(server) == known

    columns = COLUMNS | {"conversation_handle": "Conversation"}
    del columns["conversation_id"], columns["sent_by_initiator"]
    server.set_columns(columns)
    other = "22222222-0000-0000-0000-00000000000a"
    server.log(
        "audit/2.csv",
        "2026-11-20 09:00:00Z,IN,H1,2,1\n",
        f"2026-11-20 10:00:01,IN,{other},5,1\n",
        f"2026-11-20 10:00:01,IN,{other},5,1\n",
        "2026-11-20 09:00:02Z,IN,H3,7,1\n",
        f"2026-11-20 10:00:03,IN,{other},x,1\n",
        "2026-11-20 10:00:04,IN,,8,1\n",
    )
    second = server.fold()
    assert "2 zone_ignored; message_events/audit: its mapping has changed, and 1 file" in second.err
    rejected = {(row["reason"], "H3" in row["payload"]) for row in server.table("rejected_events")}
    assert rejected == {
        ("unreadable_message_sequence_number", False),
        ("missing_message_id", False),
        ("missing_conversation_id", False),
        ("missing_sent_by_initiator", False),
    }
    waiting = [(5, "handle_unknown", 2), (5, "handle_unknown", 2), (7, "handle_unknown", 2)]
    assert (server.pending(), server.counts(2, "audit")) == (waiting, (6, 1, 0, 2, 3))

    # A file shows one endpoint; the log goes on for a month, and the other row is given up.
    header, created = CREATIONS.splitlines()
    shown = created.replace("e1,", "e2,").replace("H1", other.upper()).replace(CONVERSATION, "C2")
    late = created.replace("e1,2026-11-20T08", "e3,2026-12-21T12").replace("H1", "H9")
    lines = [header, shown, late.replace(CONVERSATION, "C3")]
    (server.folder / "endpoints" / "2.csv").write_text("\n".join(lines) + "\n")
    night = server.job("nightly", "--as-of", "2026-12-22T00:00:00Z", "--format", "json")
    # What was pending is in the events once.
    so_far = night.json["counts"]["message_events/audit"]
    assert tuple(so_far[name] for name in COUNTS) == (9, 6, 0, 3, 0)
    assert (server.pending(), server.counts(3, "audit")) == ([], (3, 2, 0, 1, 0))
    later = {(f"{CONVERSATION}/initiator/2", "ClaimRequest"), ("C2/initiator/5", "ClaimRequest")}
    assert messages_of(server) == known | later
    given_up = [row["reason"] for row in server.table("rejected_events") if "H3" in row["payload"]]
    assert given_up == ["handle_unknown"]
    sums = [row["reconciliation"] for row in server.table("runs") if row["status"] == "succeeded"]
    assert [dict(each)["pending"] for each in sums] == [3]
