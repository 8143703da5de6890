"""What has happened to a database: another broker, no conversations left."""

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from tests.support.capture_project import CaptureProject
from tests.support.captures import write_captures
from tests.support.factories import NOON
from tests.support.server import Views
from tests.support.snapshot_views import ready, shown, views

pytestmark = [pytest.mark.slow, pytest.mark.long]

BEFORE, LATER = NOON - timedelta(hours=1), NOON + timedelta(hours=1)
AT_NOON, SEEN = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (NOON, LATER))
GUID = "AB12C0DE-0000-4000-8000-0000000000{:02}"
NONE = range(0)
DATABASES = {
    # its broker, conversations and unread messages up to noon; then its broker and conversations
    "B": ((1, range(1, 7), range(1, 4)), (2, range(7, 9), NONE)),
    "OneIsLeft": ((3, range(11, 17), range(11, 14)), (3, range(16, 17), NONE)),
    "FewerThanFive": ((4, range(21, 25), range(21, 24)), (4, NONE, NONE)),
    "NothingWasUnread": ((5, range(31, 37), NONE), (5, NONE, NONE)),
}
GONE = (
    f"all 6 conversations of SQL1.B and 3 unread messages are gone since the snapshot of {AT_NOON}, in that "
    f"of {SEEN}; the broker id has changed (NEW_BROKER)"
)


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """Captures of an hour before noon, of noon and of an hour later."""
    project = CaptureProject(tmp_path_factory.mktemp("databases"))
    for moment in (BEFORE, NOON, LATER):
        found = {
            ("SQL1", name): shown_by(name, *after if moment == LATER else before)
            for name, (before, after) in DATABASES.items()
        }
        write_captures(project.captures, found, moment)
    return project


def shown_by(name: str, broker: int, there: range, unread: range) -> Views:
    """A database with a broker, and the target endpoints and messages of these conversations."""
    own = {"name": name, "is_honor_broker_priority_on": True, "service_broker_guid": GUID.format(broker)}
    return views(
        databases=[own],
        conversation_endpoints=[shown(number, False) for number in there],
        dbo_TargetQueue=[ready(number, False, 0) for number in unread],
        conversation_priorities=[],
    )


def test_a_new_broker_ends_all_conversations(project: CaptureProject) -> None:
    """And a night that runs again for an as_of before it knows the later capture."""
    summary = project.published("latest").out
    found = [each for each in project.ask("why")["findings"] if each["queue"] is None]
    columns = ("code", "severity", "database", "messages", "conversations")
    assert [tuple(each[name] for name in columns) for each in found] == [
        ("conversations_gone", "stopped", "B", 3, 6),
        ("broker_changed", "stopped", "B", 0, 0),
    ]
    assert f"Database SQL1.B: {GONE}" in summary
    codes = {row["code"] for row in project.table("findings", ["code"])}
    assert codes >= {"conversations_gone", "broker_changed"}

    project.publish(AT_NOON)
    codes = {row["code"] for row in project.table("findings") if row["as_of"] == NOON}
    assert codes.isdisjoint({"conversations_gone", "broker_changed"})
