"""field-53: a night after each capture of a server, whose conversations outlive their messages by far."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.support.capture_project import CaptureProject
from tests.support.captures import capture_lines
from tests.support.factories import NOON
from tests.support.snapshot_views import ready, shown, views

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.usefixtures("session")]

CLOSED = 600
"""Messages that have closed when their conversation goes on, more than one condition once named (500)."""


def capture(taken_at: datetime, messages: range) -> list[str]:
    """One conversation, with messages of these numbers in the queue of its target."""
    endpoints = [shown(1, side, lifetime=NOON.replace(year=2094)) for side in (True, False)]
    in_queue = [ready(1, False, number, queuing_order=number) for number in messages]
    given = views(conversation_endpoints=endpoints, dbo_TargetQueue=in_queue)
    return capture_lines({"B": given}, taken_at=taken_at, id=f"{taken_at}")


def test_a_conversation_goes_on_after_many_closed_messages(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "project")
    nights = [[range(CLOSED), range(0)], [range(0)], [range(CLOSED, CLOSED + 1)]]
    taken_at = NOON
    for night in nights:
        for messages in night:
            taken_at += timedelta(hours=1)
            project.add(capture(taken_at, messages), f"{taken_at:%H}.jsonl")
        project.fold()
    project.schedule(taken_at.isoformat())
    [waiting] = [row for row in project.table("receive_schedule") if row["as_of"] == taken_at]
    assert waiting["message_id"].endswith(f"/{CLOSED}")
    events = project.table("message_events", ["message_id", "event_type", "closed_on", "fold"])
    assert len({row["message_id"] for row in events}) == CLOSED + 1
    assert len(events) == len({(row["message_id"], row["event_type"]) for row in events})
    # What the second night closed stays where it is.
    assert {(row["closed_on"] is None, row["fold"]) for row in events} == {(False, 2), (True, 3)}
