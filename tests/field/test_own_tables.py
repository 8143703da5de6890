"""Tables that people have as sources: what check shows, and what nights take of them."""

import json
from pathlib import Path
from typing import Any

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

    def batches(self) -> list[tuple[Any, ...]]:
        """The counts of message_events."""
        names = ("batch", "source", "events", "accepted", "duplicates", "rejected")
        found = [tuple(row[name] for name in names) for row in self.table("batches")]
        return sorted(row for row in found if row[1].startswith("message_events"))


@pytest.fixture
def server(session: SparkSession, tmp_path: Path) -> Server:
    for name in ("endpoints", "audit", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "endpoints" / "1.csv").write_text(CREATIONS)
    server = Server(tmp_path)
    server.set_catalog(INSTANCE)
    server.set_columns(COLUMNS)
    return server


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


def test_nights_take_two_tables_each_row_once_and_say_that_a_mapping_changed(server: Server) -> None:
    server.log("audit/1.csv", *ROWS, ROWS[0])
    server.log("other/1.csv", ROWS[0])
    first = server.nightly("2026-11-20T12:00:00Z")
    assert first.code == 0, first.err
    assert server.batches() == [
        (1, "message_events/audit", 3, 3, 0, 0),
        (1, "message_events/other", 1, 0, 1, 0),
    ]
    assert {(row["message_id"], row["message_type"]) for row in server.table("message_events")} == {
        (f"{CONVERSATION}/initiator/0", "ClaimRequest"),
        (f"{CONVERSATION}/initiator/1", "ClaimOther"),
    }
    server.set_columns(COLUMNS | {"size_bytes": {"value": 8}})
    server.log("audit/2.csv", "2026-11-20 10:02:00Z,IN,C2,0,1\n")
    second = server.nightly("2026-11-20T12:00:00Z")
    assert second.code == 0, second.err
    assert "1 zone_ignored; message_events/audit: its mapping has changed, and 1 file" in second.err
    assert server.batches()[2:] == [
        (2, "message_events/audit", 1, 1, 0, 0),
        (2, "message_events/other", 0, 0, 0, 0),
    ]


def test_a_column_that_a_file_lacks_is_exit_code_3(server: Server) -> None:
    (server.folder / "audit" / "1.csv").write_text(HEADER.replace("SeqNo", "SeqNr") + ROWS[0])
    found = server.nightly("latest")
    assert found.code == 3
    assert (
        f"{server.folder}/audit/1.csv:1: column SeqNo of the mapping is not there; did you mean 'SeqNr'?"
        in (found.err)
    )


def handles(server: Server, *rows: str) -> None:
    """Log rows with the handle of their endpoint in place of its conversation."""
    columns = COLUMNS | {"conversation_handle": "Conversation"}
    del columns["conversation_id"], columns["sent_by_initiator"]
    server.set_columns(columns)
    number = len(list((server.folder / "audit").iterdir()))
    server.log(f"audit/{number}.csv", *rows)


def pending(server: Server) -> list[tuple[Any, ...]]:
    """What is pending, by the number of the message."""
    rows = server.table("pending_events")
    found = [(json.loads(row["payload"]), row["reason"], row["batch"]) for row in rows]
    return sorted((told["message_sequence_number"], reason, batch) for told, reason, batch in found)


def test_a_handle_waits_for_its_endpoint_for_31_days(server: Server) -> None:
    known, other = "H1", "22222222-0000-0000-0000-00000000000a"
    handles(
        server,
        f"2026-11-20 10:00:00,IN,{known},0,1\n",
        f"2026-11-20 10:00:01,IN,{other},5,1\n",
        f"2026-11-20 10:00:01,IN,{other},5,1\n",
        "2026-11-20 10:00:02,IN,H3,7,1\n",
        f"2026-11-20 10:00:03,IN,{other},x,1\n",
        "2026-11-20 10:00:04,IN,,8,1\n",
    )
    server.configure(quality={"max_rejected_share": 0.5})
    assert counts_so_far(server, "2026-11-20T12:00:00Z") == (6, 1, 0, 2, 3)
    rejected = {(row["reason"], "H3" in row["payload"]) for row in server.table("rejected_events")}
    assert rejected == {
        ("unreadable_message_sequence_number", False),
        ("missing_message_id", False),
        ("missing_conversation_id", False),
        ("missing_sent_by_initiator", False),
    }
    assert pending(server) == [(5, "handle_unknown", 1), (5, "handle_unknown", 1), (7, "handle_unknown", 1)]
    assert counts(server, 1) == (6, 1, 0, 2, 3)

    # A file shows one endpoint; the log goes on for a month, and the other row is given up.
    shown = CREATIONS.splitlines()[1].replace("e1,", "e2,").replace("H1", other.upper())
    late = CREATIONS.splitlines()[1].replace("e1,2026-11-20T08", "e3,2026-12-21T12").replace("H1", "H9")
    lines = [CREATIONS.splitlines()[0], shown.replace(CONVERSATION, "C2"), late.replace(CONVERSATION, "C3")]
    (server.folder / "endpoints" / "2.csv").write_text("\n".join(lines) + "\n")
    # What was pending is in the events once.
    assert counts_so_far(server, "2026-12-22T00:00:00Z") == (6, 3, 0, 3, 0)
    assert pending(server) == []
    assert counts(server, 2) == (3, 2, 0, 1, 0)
    messages = {(row["message_id"], row["sent_by_initiator"]) for row in server.table("message_events")}
    assert messages == {(f"{CONVERSATION}/initiator/0", True), ("C2/initiator/5", True)}
    assert [row["reason"] for row in server.table("rejected_events") if "H3" in row["payload"]] == [
        "handle_unknown"
    ]
    sums = [row["reconciliation"] for row in server.table("runs") if row["status"] == "succeeded"]
    assert ("pending", 3) in sums[-1]


COUNTS = ("events", "accepted", "duplicates", "rejected", "pending")


def counts_so_far(server: Server, as_of: str) -> tuple[Any, ...]:
    """COUNTS of the audit table, as a night says it."""
    night = server.job("nightly", "--as-of", as_of, "--format", "json")
    assert night.code == 0
    return tuple(night.json["counts"]["message_events/audit"][name] for name in COUNTS)


def counts(server: Server, batch: int) -> tuple[Any, ...]:
    """COUNTS of the audit table in a batch."""
    [found] = [
        tuple(row[name] for name in COUNTS)
        for row in server.table("batches")
        if row["batch"] == batch and row["source"] == "message_events/audit"
    ]
    return found
