"""What each row of a trace and of Extended Events means, as docs/exporting.md says it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from pyspark.sql import DataFrame

from pipelines.config.model import LogSource
from pipelines.ingest.logs import count_classes, map_log
from pipelines.settings.log_names import LogNames
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.log_rows import LogReading, read_log
from pipelines.storage.inputs.text import compute_once
from schemas.events import OF_LOGS
from tests.support.drawn import Draw
from tests.support.inputs import write_rows

NAMES = {"databases": {5: "Claims"}, "queues": {77: "Intake"}}


class Log:
    """Rows of a log, in which each table has its events."""

    def __init__(self, draw: Draw, folder: Path, mapping: str, rows: list[dict[str, Any]]) -> None:
        given = {"path": str(folder), "format": "json", "mapping": mapping, **NAMES}
        if mapping == "sql-trace":
            given["offset"] = "+01:00"
        file = InputFile("logs/log", str(write_rows(folder / "1.json", rows)))
        self.draw = draw
        self.reading = LogReading("logs/log", LogSource.model_validate(given), LogNames())
        raw = read_log(draw.session, self.reading, [file], max_line_bytes=10_000)
        self.raw = compute_once(raw, raw.columns)

    def rows(self, table: str) -> DataFrame:
        """The rows of a table."""
        return map_log(self.raw, self.reading, table, has_broken=False)

    def require(self, table: str) -> Callable[[str], None]:
        """Require the drawn rows of a table; of its columns the drawn ones count."""
        types = ", ".join(f"{column.name} {column.type}" for column in OF_LOGS[table].columns)
        return self.draw.require(self.rows(table), types)

    def counts(self) -> dict[str, int]:
        """What is counted of rows that are no events."""
        return dict(count_classes(self.raw, self.reading))


def log_of(draw: Draw, folder: Path, mapping: str, **others: Any) -> Callable[[str], Log]:
    """A log of drawn texts, with the minute in which each row was written; an empty field is not there."""
    clock = "StartTime" if mapping == "sql-trace" else "timestamp"

    def log(drawing: str) -> Log:
        header, *lines = [line.split("|") for line in drawing.splitlines() if line.strip()]
        names = [clock if name.strip() == "at" else name.strip() for name in header]
        rows = []
        for line in lines:
            row = {name: cell.strip() for name, cell in zip(names, line, strict=True) if cell.strip()}
            rows.append({**others, **row, clock: f"2026-11-20 {row[clock]}:00"})
        return Log(draw, folder, mapping, rows if mapping != "xe-xml" else [*map(as_xml, rows)])

    return log


def as_xml(row: dict[str, Any]) -> dict[str, str]:
    """The row as a file target has it: an action has a number and a text, which counts."""
    said = dict(row)
    head = f'name="{said.pop("name")}" package="sqlserver" timestamp="{said.pop("timestamp")}"'
    elements = ""
    for name, text in said.items():
        kind = "action" if name.startswith(("server_", "database_")) else "data"
        value = f"<value>{escape(str(text))}</value>"
        if name.endswith("_action"):
            value = f"<value>1</value><text>{escape(str(text))}</text>"
        elements += f'<{kind} name="{name}">{value}</{kind}>'
    return {"event_data": f"<event {head}>{elements}</event>"}


SERVER = {"ServerName": "sql1", "DatabaseID": 5}


def test_endpoints_of_a_trace(draw: Draw, tmp_path: Path) -> None:
    """Classes by number, by name or by both; a creation of the side that has none is no event."""
    of_conversation = {"GUID": "c1", "ObjectName": "h1", "MethodName": "g1", "LineNumber": 7}
    log = log_of(draw, tmp_path, "sql-trace", **SERVER, **of_conversation)("""
        at    | EventClass          | EventSubClass                 | RoleName  | TargetLoginName | TargetUserName | FileName
        10:01 | 124                 | 11                            | initiator | Contract        | from           | to
        10:02 | Broker:Conversation | Dialog Created                | Target    | Contract        | from           | to
        10:03 | 124                 | 12                            | initiator | Contract        | from           | to
        10:04 | 124                 | 2 - END CONVERSATION          | target    |                 |                |
        10:05 | 124                 | END CONVERSATION WITH ERROR   | initiator |                 |                |
        10:06 | 124                 | 5                             | initiator |                 |                |
        10:07 | 124                 | END CONVERSATION WITH CLEANUP | initiator |                 |                |
        10:08 | 124                 | 10                            | initiator |                 |                |
        10:09 | 124                 |                               | initiator |                 |                |
    """)  # noqa: E501
    log.require("endpoint_events")("""
        event_time | event_type                    | is_initiator | contract | local_service | remote_service
        09:01      | BEGIN_DIALOG                  | true         | Contract | from          | to
        09:02      | DIALOG_CREATED                | false        | Contract | to            | from
        09:04      | END_CONVERSATION              | false        | -        | -             | -
        09:05      | END_CONVERSATION_WITH_ERROR   | true         | -        | -             | -
        09:06      | END_CONVERSATION_WITH_ERROR   | true         | -        | -             | -
        09:07      | END_CONVERSATION_WITH_CLEANUP | true         | -        | -             | -
    """)
    rows = log.rows("endpoint_events")
    shared = ("instance", "database", "conversation_id", "conversation_handle", "conversation_group_id")
    [row] = rows.select(*shared, "logged_priority").distinct().collect()
    assert tuple(row) == ("sql1", "Claims", "c1", "h1", "g1", 7)
    assert log.counts() == {"other_events": 3}


def test_messages_of_a_trace(draw: Draw, tmp_path: Path) -> None:
    """An arrival is at the other side than its sender; rows of forwarded messages have numbers."""
    log = log_of(draw, tmp_path, "sql-trace", **SERVER, GUID="c1")("""
        at    | EventClass                      | EventSubClass             | RoleName  | BigintData1 | MethodName
        10:01 | 124                             | SEND Message              | initiator |             |
        10:02 | 124                             | 6                         | initiator |             |
        10:03 | 124                             | Received Sequenced Message| target    |             |
        10:04 | Broker:Forwarded Message Sent   |                           | target    | 4           | Order
        10:05 | 139                             |                           | initiator |             |
        10:06 | Broker:Forwarded Message Dropped|                           | initiator | 5           |
        10:07 | 124                             | 7                         | target    |             |
    """)  # noqa: E501
    log.require("message_events")("""
        event_time | event_type | sent_by_initiator | message_sequence_number | message_type
        09:01      | SENT       | true              | -                       | -
        09:02      | DELIVERED  | false             | -                       | -
        09:03      | DELIVERED  | true              | -                       | -
        09:04      | FORWARDED  | false             | 4                       | Order
        09:05      | FORWARDED  | true              | -                       | -
    """)
    assert log.counts() == {"forwarding_dropped": 1, "other_events": 1}


def test_queues_of_a_trace(draw: Draw, tmp_path: Path) -> None:
    """A queue whose number nothing names has no name."""
    log = log_of(draw, tmp_path, "sql-trace", **SERVER)("""
        at    | EventClass            | EventSubClass | ObjectID | IntegerData
        10:01 | Broker:Queue Disabled |               | 77       |
        10:02 | 163                   | 1 - Started   | 77       | 4
        10:03 | Broker:Activation     | Ended         | 77       | 0
        10:04 | 163                   | 3             | 99       |
        10:05 | 163                   | 4             | 77       | 1
    """)
    log.require("queue_events")("""
        event_time | event_type    | queue  | queue_status | running_tasks
        09:01      | QUEUE_ALTERED | Intake | OFF          | -
        09:02      | TASK_STARTED  | Intake | -            | 4
        09:03      | TASK_EXITED   | Intake | -            | 0
        09:04      | TASK_EXITED   | -      | -            | -
    """)
    assert log.counts() == {"other_events": 1}


def test_acknowledgements_of_a_trace(draw: Draw, tmp_path: Path) -> None:
    """One that goes out with a message says that it was sent; one that comes in is of this side's message."""
    log = log_of(draw, tmp_path, "sql-trace", **SERVER, GUID="c1", EventClass=149)("""
        at    | EventSubClass                         | RoleName  | BigintData1 | BigintData2 | LineNumber | Mode | Handle | IntegerData
        10:01 | Message with Acknowledgement Sent     | initiator | 3           |             | 10         | 1    | 0      | 1
        10:02 | 1                                     | target    | 0           |             |            | 0    | 4      |
        10:03 | 1                                     | target    | 1           | 8           |            |      |        |
        10:04 | Acknowledgement Sent                  | target    |             | 2           |            |      |        |
        10:05 | Message with Acknowledgement Received | target    | 9           | 3           |            |      |        |
        10:06 | 4 - Acknowledgement Received          | initiator |             | 0           |            |      |        |
    """)  # noqa: E501
    log.require("sends")("""
        event_time | event_type   | sent_by_initiator | message_sequence_number | fragment | level | honor | elevated
        09:01      | SENT         | true              | 3                       | 1        | 10    | true  | false
        09:02      | SENT         | false             | 0                       | -        | -     | false | true
        09:03      | SENT         | false             | 1                       | -        | -     | -     | -
        09:05      | ACKNOWLEDGED | true              | 3                       | -        | -     | -     | -
        09:06      | ACKNOWLEDGED | false             | 0                       | -        | -     | -     | -
    """)  # noqa: E501
    assert log.counts() == {"other_events": 1}


@pytest.mark.parametrize("mapping", ["xe-flat", "xe-xml"])
def test_extended_events(draw: Draw, tmp_path: Path, mapping: str) -> None:
    """Times are UTC; the same fields as columns and as XML."""
    server = {"server_instance_name": "sql1", "database_id": 5}

    def read(folder: str, **others: Any) -> Callable[[str], Log]:
        return log_of(draw, tmp_path / folder, mapping, conversation_id="c1", **server, **others)

    log = read("conversations", name="broker_conversation")("""
        at    | conversation_action           | is_initiator | service_contract_name
        10:01 | BEGIN DIALOG                  | true         | <C>&
        10:02 | Dialog Created                | 0            |
        10:03 | DIALOG_CREATED                | 1            |
        10:04 | END_CONVERSATION              | false        |
        10:05 | 3                             | 1            |
        10:06 | TERMINATE_DIALOG              | true         |
        10:07 | END CONVERSATION WITH CLEANUP | true         |
        10:08 | Broker Initiated Error        | true         |
        10:09 | SEND                          | true         |
    """)
    log.require("endpoint_events")("""
        event_time | instance | database | event_type                    | is_initiator | contract
        10:01      | sql1     | Claims   | BEGIN_DIALOG                  | true         | <C>&
        10:02      | sql1     | Claims   | DIALOG_CREATED                | false        | -
        10:04      | sql1     | Claims   | END_CONVERSATION              | false        | -
        10:05      | sql1     | Claims   | END_CONVERSATION_WITH_ERROR   | true         | -
        10:06      | sql1     | Claims   | END_CONVERSATION_WITH_ERROR   | true         | -
        10:07      | sql1     | Claims   | END_CONVERSATION_WITH_CLEANUP | true         | -
    """)
    assert log.counts() == {"other_events": 3}
    read("messages", name="broker_forwarded_message_sent")("""
        at    | is_initiator | message_sequence | message_type_name
        10:01 | true         | 12               | <a>&b
    """).require("message_events")("""
        event_time | event_type | sent_by_initiator | message_sequence_number | message_type
        10:01      | FORWARDED  | true              | 12                      | <a>&b
    """)
    log = read("queues", name="broker_activation")("""
        at    | activation_state | queue_id | active_task_count
        10:01 | Started          | 77       | 3
        10:02 | Abort            | 99       | 0
        10:03 | Notified         | 77       |
    """)
    log.require("queue_events")("""
        event_time | event_type   | queue  | running_tasks
        10:01      | TASK_STARTED | Intake | 3
        10:02      | TASK_EXITED  | -      | 0
    """)
    assert log.counts() == {"other_events": 1}
    log = read(
        "sends",
        name="broker_remote_message_acknowledgement",
        is_initiator="0",
        acknowledgement_fragment_number=2,
    )("""
        at    | acknowledgement_type              | message_sequence | acknowlegment_message_sequence
        10:01 | Message with Acknowledgement Sent | 5                | 1
        10:02 | 2                                 | 6                |
        10:03 | 3                                 | 7                |
        10:04 | ACKNOWLEDGEMENT_RECEIVED          | 8                |
    """)
    log.require("sends")("""
        event_time | event_type   | sent_by_initiator | message_sequence_number | fragment
        10:01      | SENT         | false             | 1                       | 2
        10:03      | ACKNOWLEDGED | true              | 7                       | -
        10:04      | ACKNOWLEDGED | true              | 8                       | -
    """)
    assert log.counts() == {"acknowledgements": 1}
    log = read("others")("""
        at    | name
        10:01 | broker_conversation_group
        10:02 | broker_forwarded_message_dropped
        10:03 | broker_message_undeliverable
        10:04 | sql_batch_completed
    """)
    counts = log.counts()
    assert counts == dict.fromkeys(
        ("conversation_groups", "forwarding_dropped", "undeliverable", "other_events"), 1
    )
