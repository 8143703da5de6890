"""Light captures between full ones: what they lack has not ended, and the next full one decides."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.capture_project import CaptureProject
from tests.support.captures import capture_lines
from tests.support.factories import Row, at
from tests.support.snapshot_views import conversation, ready, shown, views

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("session")]
FULL, LIGHT, LATER, NEXT_FULL, RESTORED = (at(minute) for minute in (0, 5, 10, 60, 70))
CAPTURES = {
    # Endpoints 1 to 3 with messages of 1 and 2.
    FULL: ([1, 2, 3], [1, 2]),
    # 4 is new; the message of 1 is gone.
    LIGHT: ([4], [2, 4]),
    # The message of 2 is gone.
    LATER: ([], [4]),
    # 2 and 3 have ended.
    NEXT_FULL: ([1, 4], [4]),
}
"""The endpoints and the messages of the queue that each capture shows."""


def add(project: CaptureProject, moment: datetime) -> None:
    endpoints, waiting = CAPTURES[moment]
    add_capture(project, moment, [shown(number, False) for number in endpoints], waiting)


def add_capture(
    project: CaptureProject, moment: datetime, endpoints: list[Row], waiting: Iterable[int]
) -> None:
    rows = [ready(number, False, 0, queuing_order=number) for number in waiting]
    given = views(conversation_endpoints=endpoints, dbo_TargetQueue=rows)
    id = f"6F0C7B52-3C1D-4E0A-9C64-2A5D0D7B11{moment.minute + moment.hour:02}"
    lines = capture_lines({"B": given}, taken_at=moment, id=id, is_light=moment in (LIGHT, LATER, RESTORED))
    project.add(lines, f"SQL1-{moment:%Y%m%dT%H%M%SZ}.jsonl")


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """A night behind the light captures, and one behind the next full one."""
    project = CaptureProject(tmp_path_factory.mktemp("light"))
    for moment in CAPTURES:
        add(project, moment)
        if moment in (LATER, NEXT_FULL):
            outcome = project.run(moment)
            assert "may lack rows" not in outcome.err
    return project


def test_what_light_captures_lack_has_not_ended(project: CaptureProject) -> None:
    ended = {row["conversation_id"][-1]: row["ended_at"] for row in project.table("endpoints")}
    just_before = NEXT_FULL - timedelta(microseconds=1)
    assert ended == {"1": None, "2": just_before, "3": just_before, "4": None}
    waiting = {(row["as_of"], row["conversation_id"]) for row in project.table("receive_schedule")}
    assert waiting == {(LATER, conversation(4)), (NEXT_FULL, conversation(4))}


def test_the_next_full_capture_decides_what_became_of_messages(project: CaptureProject) -> None:
    """Asked about the moment before it, too."""
    first = {"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T12:05:00Z", "fate": "received"}
    second = {"from": "2026-11-20T12:05:00Z", "to": "2026-11-20T12:10:00Z", "fate": "received_or_dropped"}
    for number, as_of, fate in ((1, NEXT_FULL, first), (2, NEXT_FULL, second), (1, LATER, first)):
        name = f"{conversation(number)}/initiator/0"
        found = project.ask("explain", "--message", name, "--as-of", as_of.isoformat())
        assert found["gone_between"] == fate


def test_leaks_name_the_full_capture_that_they_use(project: CaptureProject) -> None:
    full = {"instance": "SQL1", "taken_at": "2026-11-20T12:00:00Z", "databases": 1}
    assert project.ask("leaks", "--as-of", LATER.isoformat())["full_captures"] == [full]
    said = project.lines("leaks", "--as-of", LATER.isoformat())
    assert said[0] == "SQL1, 1 database: the endpoints of the full capture of 2026-11-20T12:00:00Z."
    assert project.ask("leaks", "--as-of", NEXT_FULL.isoformat())["full_captures"] == []


def test_a_replay_takes_the_middle_between_two_captures(project: CaptureProject) -> None:
    """They are too far apart to say whether it follows the log."""
    span = ["--from", FULL.isoformat(), "--to", LATER.isoformat(), "--readers", "1"]
    found = project.ask("replay", *span)
    assert found["calibration"] == {"queues": 1, "off": 0, "unknown": 0, "too_wide": 1}
    assert found["widest_seconds"] == 300
    assert {(row["calibrated"], row["verdict"]) for row in found["queues"]} == {(None, "too_wide")}
    said = (
        "; in 1 of 1 queue captures are too far apart to tell; a receive that only captures show counts in "
    )
    assert f"{said}the middle between two of them, which are up to 5 min apart" in found["sentence"]


def test_a_message_that_is_back_shows_that_its_endpoint_is(tmp_path: Path) -> None:
    """A restore brought both back; the light capture leaves out the endpoint that the full one has shown."""
    project = CaptureProject(tmp_path)
    add_capture(project, FULL, [shown(1, False)], [1])
    add_capture(project, NEXT_FULL, [shown(1, False, state="CD")], [])
    add_capture(project, RESTORED, [], [1])
    project.run(RESTORED)
    [endpoint] = project.table("endpoints")
    assert endpoint["ended_at"] is None
    [waiting] = project.table("receive_schedule")
    assert waiting["message_id"] == f"{conversation(1)}/initiator/0"
