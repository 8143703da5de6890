"""Extended Events, flat and as XML: both give the same events."""

import json
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Row
from tests.field.test_own_tables import CREATIONS, INSTANCE

CONVERSATION, OTHER = "{:08}-0000-0000-0000-000000000001", "{:08}-0000-0000-0000-000000000002"
FORMS = ("flat-parquet", "xml-json", "xml-csv")
"""The mapping of a log, and the format of its files; each is of an instance of this name."""


def events(number: int) -> list[Row]:
    """Events of a form, a second apart; the form's number is in the ids of its conversations."""
    place = {"server_instance_name": FORMS[number].upper(), "database_id": "5", "database_name": "Claims"}
    conversation = {"conversation_id": CONVERSATION.format(number).lower(), "is_initiator": "false"}
    other = {"conversation_id": OTHER.format(number), "is_initiator": "true"}
    ended = {"conversation_handle": f"h{number}", "conversation_action": "END CONVERSATION"}
    started = {"activation_state": "Started", "queue_id": "77", "active_task_count": "2"}
    found: list[tuple[str, Row]] = [
        ("broker_conversation", conversation | ended),
        ("broker_activation", started),
        ("broker_forwarded_message_sent", other | {"message_sequence": "3", "message_type_name": "//a<b>&c"}),
        # A conversation that nothing shows has no services; a queue without a name lacks one.
        ("broker_conversation", other | {"conversation_action": "BEGIN DIALOG"}),
        ("broker_activation", {"activation_state": "3", "queue_id": "7"}),
        ("broker_remote_message_acknowledgement", {}),
        ("sql_batch_completed", {}),
    ]
    return [
        {"name": name, "timestamp": f"2026-11-20T09:00:0{second}.1230000Z", **event, **place}
        for second, (name, event) in enumerate(found)
    ]


def as_xml(event: Row) -> str:
    """The event as a file target stores it."""
    inner = ""
    for name, value in event.items():
        if name in ("name", "timestamp"):
            continue
        kind = "action" if name.startswith(("server_", "database_")) else "data"
        said = f"<value>{escape(value)}</value>"
        if name.endswith("_action"):
            said = f"<value>1</value><text>{value}</text>"
        inner += f'<{kind} name="{name}">{said}</{kind}>'
    head = f'<event name="{event["name"]}" package="sqlserver" timestamp="{event["timestamp"]}">'
    return f"{head}{inner}</event>"


def write(folder: Path, form: str, rows: list[Row]) -> None:
    """Write the events in a form."""
    folder.mkdir()
    names = list(dict.fromkeys(name for event in rows for name in event))
    xml = [{"object_name": event["name"], "event_data": as_xml(event)} for event in rows]
    match form:
        case "flat-parquet":
            whole = [{name: event.get(name) for name in names} for event in rows]
            pq.write_table(pa.Table.from_pylist(whole), folder / "1.parquet")
        case "xml-json":
            # Of one event more there is the beginning alone.
            cut = {"event_data": xml[0]["event_data"][:200]}
            (folder / "1.json").write_text("".join(json.dumps(row) + "\n" for row in [*xml, cut]))
        case "xml-csv":
            quoted = ['"' + row["event_data"].replace('"', '""') + '"' for row in xml]
            (folder / "1.csv").write_text("\n".join(["whatever", *quoted]) + "\n")


@pytest.fixture(scope="module")
def server(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A ledger with a log of each form."""
    server = Case(tmp_path_factory.mktemp("extended-events"))
    (server.folder / "endpoints").mkdir()
    (server.folder / "endpoints" / "1.csv").write_text(CREATIONS)
    logs = []
    for number, form in enumerate(FORMS):
        write(server.folder / form, form, events(number))
        mapping, _, format = form.partition("-")
        log = {"name": form, "path": form, "format": format, "mapping": f"xe-{mapping}"}
        logs.append(log | {"queues": {77: "Intake"}})
    server.set_catalog(INSTANCE, *({**INSTANCE, "name": form.upper()} for form in FORMS))
    server.configure(
        inputs={"endpoint_events": {"path": "endpoints", "format": "csv"}, "logs": logs},
        quality={"max_rejected_share": 0.5},
    )
    server.fold()
    return server


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_every_form_gives_the_same_events(server: Case, number: int) -> None:
    instance = FORMS[number].upper()

    def of_form(table: str) -> Row:
        [row] = [row for row in server.table(table) if row["instance"] == instance]
        return row

    end = of_form("endpoint_events")
    assert end["event_time"].isoformat() == "2026-11-20T09:00:00.123000+00:00"
    assert (end["event_type"], end["database"], end["is_initiator"]) == ("END_CONVERSATION", "Claims", False)
    assert (end["conversation_id"], end["conversation_handle"]) == (CONVERSATION.format(number), f"h{number}")
    task = of_form("queue_events")
    assert (task["event_type"], task["queue"], task["running_tasks"]) == ("TASK_STARTED", "Intake", 2)
    sent = of_form("message_events")
    assert (sent["event_type"], sent["message_id"]) == ("FORWARDED", f"{OTHER.format(number)}/initiator/3")
    assert sent["message_type"] == "//a<b>&c"
    [batch] = [row for row in server.table("batches") if row["source"] == f"logs/{FORMS[number]}"]
    is_cut = FORMS[number] == "xml-json"
    assert (batch["events"], batch["accepted"], batch["rejected"]) == (3 + is_cut, 3, int(is_cut))
    assert dict(batch["counts"]) == {
        "acknowledgements": 1,
        "incomplete_broker_activation_3": 1,
        "incomplete_broker_conversation_11": 1,
        "other_events": 1,
    }


def test_an_event_that_is_cut_is_rejected(server: Case) -> None:
    rejected = [(row["source"], row["reason"]) for row in server.table("rejected_events")]
    assert rejected == [("logs/xml-json", "broken_row")]
