"""What became of messages that one capture shows and the next one does not."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import explain
from tests.support.factories import NOON, Row, at
from tests.support.server import Views
from tests.support.snapshot_views import Server, conversation, ready, shown, views

SOON = NOON + timedelta(seconds=30)
COMPLETE = ["conversation_endpoints", "transmission_queue", "dbo.TargetQueue"]
OPEN = [(1, False), (2, False), (3, False)]


def of(*endpoints: tuple[int, bool], rows: list[Row], queue: int = 12) -> Views:
    """The views of endpoints, and of rows in the queue of TargetService."""
    given = views(
        conversation_endpoints=[shown(number, side) for number, side in endpoints], dbo_TargetQueue=rows
    )
    given["services"][1]["service_queue_id"] = queue
    return given


def asked(server: Server, number: int, as_of: Any, capsys: Any) -> Row:
    capsys.readouterr()
    name = f"{conversation(number)}/initiator/0"
    options = ["--message", name, "--as-of", as_of.isoformat(), "--format", "json"]
    assert explain.main(["--config", server.project.config, *options]) == 0
    found: Row = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.long
def test_fates_of_messages_between_two_captures(embedded: SparkSession, tmp_path: Path, capsys: Any) -> None:
    """They are 30 s apart: 1 was received, 2 is gone with its endpoint, 3 is there in both.

    4 is of another database, whose service has moved to another queue.
    """
    server = Server(tmp_path)
    server.snapshot(of(*OPEN, rows=[ready(number, False, 0) for number, _ in OPEN]), NOON, COMPLETE)
    server.snapshot(of((1, False), (3, False), rows=[ready(3, False, 0)]), SOON, COMPLETE)
    server.snapshot(of((4, False), rows=[ready(4, False, 0)]), NOON, COMPLETE, database="C")
    moved = of((4, False), rows=[], queue=11) | {"dbo.InitiatorQueue": []}
    server.snapshot(moved, SOON, [*COMPLETE, "dbo.InitiatorQueue"], database="C")
    server.project.run(embedded, SOON)
    between = {"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T12:00:30Z"}
    received, dropped, there, elsewhere = (asked(server, number, SOON, capsys) for number in (1, 2, 3, 4))
    assert received["gone_between"] == {**between, "fate": "received"}
    assert received["state"] == (
        "It is in no schedule: it was received between 2026-11-20T12:00:00Z and 2026-11-20T12:00:30Z, as far "
        "as captures show."
    )
    assert dropped["gone_between"] == {**between, "fate": "received_or_dropped"}
    assert "with its conversation: received, or dropped by its end" in dropped["state"]
    assert there["gone_between"] is None
    assert elsewhere["gone_between"]["fate"] == "moved"
    events = server.project.table("message_events")
    inferred = [row for row in events if row["inferred"] and row["database"] == "B"]
    assert [(row["event_type"], row["not_before"]) for row in inferred] == [("RECEIVED", NOON)] * 2
    # Whoever shows it again shows that it was never gone.
    # An endpoint that comes back, as by a restore, was not there before.
    server.snapshot(of((1, False), (2, False), rows=[ready(1, False, 0)]), at(1), COMPLETE)
    server.project.run(embedded, at(1))
    assert asked(server, 2, at(1), capsys)["gone_between"] == dropped["gone_between"]
    assert asked(server, 1, at(1), capsys)["receive"]["position"] == 1
    assert asked(server, 1, SOON, capsys)["gone_between"] is None
