"""Light captures between full ones: the same tables from one night as from one a capture, and no warning."""

from datetime import datetime

import pytest
from pyspark.sql import SparkSession

from tests.support.capture_project import CaptureProject
from tests.support.captures import capture_lines
from tests.support.factories import at
from tests.support.snapshot_views import conversation, ready, shown, views

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("session")]
FULL, LIGHT, LATER, NEXT_FULL = (at(minute) for minute in (0, 5, 10, 60))
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
    rows = [ready(number, False, 0, queuing_order=number) for number in waiting]
    given = views(conversation_endpoints=[shown(number, False) for number in endpoints], dbo_TargetQueue=rows)
    is_light = moment in (LIGHT, LATER)
    id = f"6F0C7B52-3C1D-4E0A-9C64-2A5D0D7B11{moment.minute + moment.hour:02}"
    lines = capture_lines({"B": given}, taken_at=moment, id=id, is_light=is_light)
    project.add(lines, f"SQL1-{moment:%Y%m%dT%H%M%SZ}.jsonl")


@pytest.fixture(scope="module")
def at_once(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """One night takes all four captures."""
    project = CaptureProject(tmp_path_factory.mktemp("at_once"))
    for moment in CAPTURES:
        add(project, moment)
    outcome = project.run(NEXT_FULL)
    assert "may lack rows" not in outcome.err
    return project


@pytest.fixture(scope="module")
def one_by_one(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """A night behind each capture."""
    project = CaptureProject(tmp_path_factory.mktemp("one_by_one"))
    for moment in CAPTURES:
        add(project, moment)
        project.run(moment)
    return project


def fate(project: CaptureProject, number: int, as_of: datetime) -> object:
    name = f"{conversation(number)}/initiator/0"
    return project.ask("explain", "--message", name, "--as-of", as_of.isoformat())["gone_between"]


def test_what_light_captures_lack_has_not_ended(at_once: CaptureProject) -> None:
    ended = {row["conversation_id"][-1]: row["ended_at"] for row in at_once.table("endpoints")}
    just_before = NEXT_FULL.replace(minute=59, hour=NEXT_FULL.hour - 1, second=59, microsecond=999_999)
    assert ended == {"1": None, "2": just_before, "3": just_before, "4": None}
    [waiting] = at_once.table("receive_schedule")
    assert waiting["conversation_id"] == conversation(4)


def test_the_next_full_capture_decides_what_became_of_messages(
    at_once: CaptureProject, one_by_one: CaptureProject
) -> None:
    first = {"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T12:05:00Z", "fate": "received"}
    second = {"from": "2026-11-20T12:05:00Z", "to": "2026-11-20T12:10:00Z", "fate": "received_or_dropped"}
    for project in (at_once, one_by_one):
        assert [fate(project, number, NEXT_FULL) for number in (1, 2)] == [first, second]
    # Asked again about the earlier moment, the later capture decides too.
    assert fate(one_by_one, 1, LATER) == first


def test_one_night_writes_what_four_write(at_once: CaptureProject, one_by_one: CaptureProject) -> None:
    expected, found = at_once.comparable(), one_by_one.comparable()
    for name in ("message_events", "endpoint_events", "endpoints"):
        assert sorted(map(str, found[name])) == sorted(map(str, expected[name])), name
    of_last = [row for row in found["receive_schedule"] if row["as_of"] == NEXT_FULL]
    assert of_last == expected["receive_schedule"]


def test_leaks_name_the_full_capture_that_they_use(
    at_once: CaptureProject, one_by_one: CaptureProject
) -> None:
    full = {"instance": "SQL1", "taken_at": "2026-11-20T12:00:00Z", "databases": 1}
    assert one_by_one.ask("leaks", "--as-of", LATER.isoformat())["full_captures"] == [full]
    said = one_by_one.lines("leaks", "--as-of", LATER.isoformat())
    assert said[0] == "SQL1, 1 database: the endpoints of the full capture of 2026-11-20T12:00:00Z."
    assert at_once.ask("leaks", "--as-of", NEXT_FULL.isoformat())["full_captures"] == []
