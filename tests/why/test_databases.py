"""What has happened to a database: another broker, no conversations left."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.capture_project import CaptureProject
from tests.support.captures import write_captures
from tests.support.factories import NOON
from tests.support.snapshot_views import ready, shown, views

pytestmark = pytest.mark.usefixtures("session")
LATER = NOON + timedelta(hours=1)
FIRST, SECOND = (f"AB12C0DE-0000-4000-8000-00000000000{number}" for number in (1, 2))
BEFORE, SEEN = (f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (NOON, LATER))


class Database(CaptureProject):
    """A project with captures of SQL1.B."""

    def capture(self, moment: datetime, guid: str, conversations: range, unread: range) -> None:
        """Take a capture: the database has the target endpoints of these conversations."""
        own = {"name": "B", "is_honor_broker_priority_on": True, "service_broker_guid": guid}
        found = views(
            databases=[own],
            conversation_endpoints=[shown(number, False) for number in conversations],
            dbo_TargetQueue=[ready(number, False, 0) for number in unread],
            conversation_priorities=[],
        )
        write_captures(self.captures, {("SQL1", "B"): found}, moment)

    def findings(self) -> list[tuple[Any, ...]]:
        """What the newest night finds of the database."""
        self.publish("latest")
        return [
            (each["code"], each["severity"], each["queue"], each["messages"], each["conversations"])
            for each in self.ask("why")["findings"]
            if each["queue"] is None
        ]


@pytest.fixture
def database(session: SparkSession, tmp_path: Path) -> Database:
    """A project without captures."""
    return Database(tmp_path)


def test_a_new_broker_ends_all_conversations(database: Database) -> None:
    database.capture(NOON, FIRST, range(1, 7), range(1, 4))
    database.capture(LATER, SECOND, range(7, 9), range(0))
    assert database.findings() == [
        ("conversations_gone", "stopped", None, 3, 6),
        ("broker_changed", "stopped", None, 0, 0),
    ]
    gone = (
        f"all 6 conversations of SQL1.B and 3 unread messages are gone since the snapshot of {BEFORE}, in "
        f"that of {SEEN}; the broker id has changed (NEW_BROKER)"
    )
    assert gone in database.job("why").out
    assert f"Database SQL1.B: {gone}" in database.published("latest").out
    rows = database.table("findings", ["code", "database", "queue", "messages"])
    assert {row["code"] for row in rows} >= {"conversations_gone", "broker_changed"}


def test_an_as_of_before_all_conversations_were_gone(database: Database) -> None:
    """A night that runs again for it knows the later capture."""
    database.capture(NOON - timedelta(hours=1), FIRST, range(1, 7), range(1, 4))
    database.capture(NOON, FIRST, range(1, 7), range(1, 4))
    database.capture(LATER, SECOND, range(0), range(0))
    assert [code for code, *_ in database.findings()] == ["conversations_gone", "broker_changed"]
    database.publish(BEFORE)
    codes = {each["code"] for each in database.ask("why", "--as-of", BEFORE)["findings"]}
    assert codes.isdisjoint({"conversations_gone", "broker_changed"})


@pytest.mark.parametrize(
    ("left", "conversations", "unread"),
    [
        (range(6, 7), range(1, 7), range(1, 4)),
        (range(0), range(1, 5), range(1, 4)),
        (range(0), range(1, 7), range(0)),
    ],
    ids=["one is left", "fewer than five were there", "nothing was unread"],
)
def test_conversations_that_ended(
    database: Database, left: range, conversations: range, unread: range
) -> None:
    database.capture(NOON, FIRST, conversations, unread)
    database.capture(LATER, FIRST, left, range(0))
    assert database.findings() == []
