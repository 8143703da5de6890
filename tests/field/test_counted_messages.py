"""A trace beside captures: messages of the trace get numbers by counting, and types from captures."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.field.test_logs import trace
from tests.support.capture_project import CaptureProject
from tests.support.captures import Captured, capture_lines
from tests.support.factories import NOON, Row
from tests.support.snapshot_views import views
from tests.support.view_rows import conversation, ready, shown, waiting

pytestmark = [pytest.mark.slow, pytest.mark.long]

LATER = NOON + timedelta(hours=1)
TO_INITIATOR, TO_TARGET = {"RoleName": "initiator"}, {"RoleName": "target"}
SEND, DELIVER, END, BEGIN = 1, 6, 2, 11
ROLLED_BACK, UNDECIDED, COMMITTED = 900, 901, 902
Message = tuple[str, int, int, str]
"""Event type, conversation, number and time of day."""


class Trace:
    """Rows of a trace in their order."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, at: str, subclass: int, number: int, **changes: Any) -> None:
        """A row of a conversation, of the initiator unless a message arrives."""
        role = "target" if subclass == DELIVER else "initiator"
        row = {"EventClass": 124, "EventSubClass": subclass, "GUID": conversation(number), "RoleName": role}
        self._add(at, row | changes)

    def end(self, at: str, transaction: int, *, rolls_back: bool = False) -> None:
        """COMMIT or ROLLBACK."""
        self._add(at, {"EventClass": 50, "EventSubClass": 1 + rolls_back, "TransactionID": transaction})

    def _add(self, at: str, row: dict[str, Any]) -> None:
        place = {"StartTime": f"{NOON:%Y-%m-%d} {at}", "EventSequence": 100 + len(self.rows)}
        self.rows.append({"ServerName": "SQL1", "DatabaseID": 9} | place | row)


def capture(
    taken_at: datetime, endpoints: Sequence[Row], queued: Sequence[Row], unsent: Sequence[Row]
) -> list[str]:
    given = views(
        databases=[{"name": "B", "is_honor_broker_priority_on": True, "database_id": 9}],
        conversation_endpoints=list(endpoints),
        transmission_queue=list(unsent),
        dbo_TargetQueue=list(queued),
        dbo_InitiatorQueue=[],
    )
    return capture_lines({"B": Captured(given)}, taken_at=taken_at, id=f"{taken_at}", utc_offset_minutes=0)


def endpoint(number: int, side: bool, sent: int | None, arrived: int | None) -> Row:
    return shown(number, side, send_sequence=sent, receive_sequence=arrived)


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """Captures of noon and of 13:00, taken in one by one, the second with a trace of the hour between."""
    given = {"name": "trace", "path": "trace", "format": "csv", "mapping": "sql-trace"}
    project = CaptureProject(tmp_path_factory.mktemp("counted") / "project", inputs={"logs": [given]})
    (project.folder / "trace").mkdir()
    project.add(capture(NOON, [endpoint(1, True, 3, 0), endpoint(1, False, 0, 3)], [], []), "12.jsonl")
    project.fold()
    log = Trace()
    for at in (10, 20, 30):
        log.add(f"12:{at}:00", SEND, 1)
        log.add(f"12:{at}:01", DELIVER, 1)
        log.add(f"12:{at}:02", SEND, 1, TransactionID=ROLLED_BACK)
    log.end("12:31:00", ROLLED_BACK, rolls_back=True)
    log.add("12:40:00", BEGIN, 2, TransactionID=COMMITTED)
    log.add("12:40:00", SEND, 2, TransactionID=COMMITTED)
    log.add("12:41:00", SEND, 2, TransactionID=UNDECIDED)
    log.end("12:42:00", COMMITTED)
    log.add("12:42:00", END, 2)
    # A row of this one is not in the trace.
    log.add("12:43:00", BEGIN, 3)
    log.add("12:44:00", SEND, 3)
    # No capture comes after this one.
    log.add("13:05:00", SEND, 1)
    (project.folder / "trace" / "1.csv").write_text(trace(*log.rows))
    # Another export has some of the rows again.
    (project.folder / "trace" / "2.csv").write_text(trace(*log.rows[3:7]))
    later = [
        *(endpoint(1, True, 6, 0), endpoint(1, False, 0, 6)),
        *(endpoint(2, True, 3, 0), endpoint(3, True, 2, 0)),
    ]
    arrived = [
        ready(
            1,
            False,
            number,
            queuing_order=number,
            message_type_name=f"Type{number}",
            message_enqueue_time=None,
        )
        for number in (4, 5)
    ]
    unsent = [
        waiting(2, True, 0),
        waiting(2, True, 1),
        waiting(3, True, 0),
        waiting(3, True, 1),
    ]
    project.add(capture(LATER, later, arrived, unsent), "13.jsonl")
    project.schedule(LATER.isoformat())
    return project


def logged(project: CaptureProject) -> dict[Message, str]:
    """The types of the messages that the trace gave."""
    rows = [row for row in project.table("message_events") if row["seen_at"] is None and not row["inferred"]]
    return {
        (
            row["event_type"],
            int(row["conversation_id"][-2:]),
            row["message_sequence_number"],
            f"{row['event_time']:%H:%M:%S}",
        ): row["message_type"]
        for row in rows
    }


def test_messages_of_a_trace_are_counted_between_captures(project: CaptureProject) -> None:
    assert logged(project) == {
        ("SENT", 1, 4, "12:20:00"): "Type4",
        ("SENT", 1, 5, "12:30:00"): "Type5",
        ("DELIVERED", 1, 4, "12:20:01"): "Type4",
        ("DELIVERED", 1, 5, "12:30:01"): "Type5",
        ("SENT", 2, 0, "12:40:00"): "Order",
    }


def test_a_message_of_a_trace_is_that_of_the_captures(project: CaptureProject) -> None:
    waits = {row["message_id"]: row for row in project.table("receive_schedule") if row["as_of"] == LATER}
    ids = [f"{conversation(1)}/initiator/{number}" for number in (4, 5)]
    assert {id: f"{waits[id]['arrived_at']:%H:%M:%S}" for id in waits} == dict(
        zip(ids, ["12:20:01", "12:30:01"], strict=True)
    )


def test_other_messages_are_incomplete_or_wait_for_their_transaction(project: CaptureProject) -> None:
    [pending] = project.table("pending_events")
    assert (pending["reason"], '"message_sequence_number":1' in pending["payload"]) == ("no_outcome", True)
    [row] = [row for row in project.table("batches") if row["source"] == "logs/trace" and row["batch"] == 2]
    # Incomplete are one that no capture shows, four of a rollback, one too few, and one behind all captures.
    assert dict(row["counts"]) == {
        "outcomes": 2,
        "numbered_124_1": 6,
        "incomplete_124_1": 7,
        "numbered_124_6": 3,
        "incomplete_124_6": 1,
    }
    assert [row[name] for name in ("accepted", "duplicates", "rejected", "pending")] == [8, 3, 0, 1]
