"""Extended Events, flat and as XML: both give the same events."""

import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Row
from tests.field.test_own_tables import CREATIONS, INSTANCE

AS_OF = "2026-11-20T12:00:00Z"
CONVERSATION = "0A1B2C3D-0000-0000-0000-000000000001"
OTHER = "0A1B2C3D-0000-0000-0000-000000000002"
SQL1 = {"server_instance_name": "sql1", "database_id": "5", "database_name": "Claims"}
OF_CONVERSATION = {
    "conversation_id": CONVERSATION.lower(),
    "conversation_handle": "h1",
    "is_initiator": "false",
}
EVENTS: list[Row] = [
    {
        "name": "broker_conversation",
        "timestamp": "2026-11-20T09:00:00.1230000Z",
        **OF_CONVERSATION,
        "conversation_action": "END CONVERSATION",
        **SQL1,
    },
    {
        "name": "broker_activation",
        "timestamp": "2026-11-20T09:00:01Z",
        "activation_state": "Started",
        "queue_id": "77",
        "active_task_count": "2",
        **SQL1,
    },
    {
        "name": "broker_forwarded_message_sent",
        "timestamp": "2026-11-20T09:00:02Z",
        "conversation_id": OTHER,
        "is_initiator": "true",
        "message_sequence": "3",
        "message_type_name": "//a<b>&c",
        **SQL1,
    },
    # A conversation that nothing shows has no services; a queue without a name lacks one.
    {
        "name": "broker_conversation",
        "timestamp": "2026-11-20T09:00:03Z",
        "conversation_id": OTHER,
        "conversation_action": "BEGIN DIALOG",
        **SQL1,
    },
    {
        "name": "broker_activation",
        "timestamp": "2026-11-20T09:00:04Z",
        "activation_state": "3",
        "queue_id": "7",
        **SQL1,
    },
    {"name": "broker_remote_message_acknowledgement", "timestamp": "2026-11-20T09:00:05Z", **SQL1},
    {"name": "sql_batch_completed", "timestamp": "2026-11-20T09:00:06Z", **SQL1},
]


def as_xml(event: Row) -> str:
    """The event as a file target stores it."""
    inner = ""
    for name, value in event.items():
        if name in ("name", "timestamp"):
            continue
        kind = "action" if name in SQL1 else "data"
        said = f"<value>{escape(value)}</value>"
        if name.endswith("_action"):
            said = f"<value>1</value><text>{value}</text>"
        inner += f'<{kind} name="{name}">{said}</{kind}>'
    head = f'<event name="{event["name"]}" package="sqlserver" timestamp="{event["timestamp"]}">'
    return f"{head}{inner}</event>"


def write(folder: Path, form: str) -> dict[str, Any]:
    """Write the events in a form; gives its format and mapping."""
    names = list(dict.fromkeys(name for event in EVENTS for name in event))
    xml = [{"object_name": event["name"], "event_data": as_xml(event)} for event in EVENTS]
    match form:
        case "flat-csv":
            lines = [",".join(event.get(name, "") for name in names) for event in EVENTS]
            (folder / "1.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
        case "flat-parquet":
            rows = [{name: event.get(name) for name in names} for event in EVENTS]
            pq.write_table(pa.Table.from_pylist(rows), folder / "1.parquet")
        case "xml-json":
            (folder / "1.json").write_text("".join(json.dumps(row) + "\n" for row in xml))
        case "xml-csv":
            quoted = ['"' + row["event_data"].replace('"', '""') + '"' for row in xml]
            (folder / "1.csv").write_text("\n".join(["whatever", *quoted]) + "\n")
    kind, _, format = form.partition("-")
    return {"format": format, "mapping": f"xe-{kind}"}


def server_with(folder: Path, **log: Any) -> Case:
    (folder / "endpoints").mkdir()
    (folder / "endpoints" / "1.csv").write_text(CREATIONS)
    server = Case(folder)
    server.set_catalog(INSTANCE)
    logs = [{"name": "xe", "path": "xe", "queues": {77: "Intake"}, **log}]
    server.configure(inputs={"endpoint_events": {"path": "endpoints", "format": "csv"}, "logs": logs})
    return server


@pytest.mark.parametrize("form", ["flat-csv", "flat-parquet", "xml-json", "xml-csv"])
def test_every_form_gives_the_same_events(session: SparkSession, tmp_path: Path, form: str) -> None:
    (tmp_path / "xe").mkdir()
    server = server_with(tmp_path, **write(tmp_path / "xe", form))
    server.publish(AS_OF)
    [end] = [row for row in server.table("endpoint_events") if row["event_type"] == "END_CONVERSATION"]
    assert end["event_time"].isoformat() == "2026-11-20T09:00:00.123000+00:00"
    assert (end["instance"], end["database"], end["is_initiator"]) == ("SQL1", "Claims", False)
    assert (end["conversation_id"], end["conversation_handle"]) == (CONVERSATION, "h1")
    [task] = server.table("queue_events")
    assert (task["event_type"], task["queue"], task["running_tasks"]) == ("TASK_STARTED", "Intake", 2)
    [sent] = server.table("message_events")
    assert (sent["event_type"], sent["message_id"]) == ("FORWARDED", f"{OTHER}/initiator/3")
    assert sent["message_type"] == "//a<b>&c"
    [batch] = [row for row in server.table("batches") if row["source"] == "logs/xe"]
    assert (batch["events"], batch["accepted"], batch["rejected"]) == (3, 3, 0)
    assert dict(batch["counts"]) == {
        "acknowledgements": 1,
        "incomplete_broker_activation_3": 1,
        "incomplete_broker_conversation_11": 1,
        "other_events": 1,
    }


def test_an_event_that_is_cut_is_rejected(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "xe").mkdir()
    lines = [json.dumps({"event_data": text}) + "\n" for text in (as_xml(EVENTS[0]), as_xml(EVENTS[0])[:200])]
    (tmp_path / "xe" / "1.json").write_text("".join(lines))
    server = server_with(tmp_path, format="json", mapping="xe-xml")
    server.configure(quality={"max_rejected_share": 0.5})
    server.publish(AS_OF)
    [batch] = [row for row in server.table("batches") if row["source"] == "logs/xe"]
    assert (batch["events"], batch["accepted"], batch["rejected"]) == (2, 1, 1)
    assert [(row["source"], row["reason"]) for row in server.table("rejected_events")] == [
        ("logs/xe", "broken_row")
    ]
