"""Captures in any order: what an as_of says does not depend on when later captures came."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.capture_project import CaptureProject
from tests.support.captures import write_captures
from tests.support.factories import NOON, Row
from tests.support.server import Views
from tests.support.snapshot_views import ready, shown, views

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("session")]
HOURS = [NOON + timedelta(hours=hour) for hour in range(3)]
PLACE = ("SQL1", "B")


def _server(*, honors: bool, queue: int, level: int, unread: dict[str, list[int]], there: int = 4) -> Views:
    """The views of a database: who is there, the messages in each queue, and the level of its rule.

    TargetService is bound to the queue of this number; the endpoints have the level of the first hour.
    """
    found = views(
        databases=[{"name": "B", "is_honor_broker_priority_on": honors}],
        conversation_endpoints=[shown(number, False, priority=8) for number in range(1, there)],
        conversation_priorities=[
            {
                "name": "Rush",
                "service_contract_id": None,
                "local_service_id": None,
                "remote_service_name": None,
                "priority": level,
            }
        ],
        dbo_InitiatorQueue=[],
    )
    for name, numbers in unread.items():
        found[f"dbo.{name}"] = [ready(number, False, 0, priority=8) for number in numbers]
    services = [{**row} for row in found["services"]]
    services[1]["service_queue_id"] = queue
    return {**found, "services": services}


CAPTURES = [
    _server(honors=True, queue=12, level=8, unread={"TargetQueue": [1, 2, 3]}),
    # The first message is received. Then the service gets another queue, and a message moves along.
    _server(honors=True, queue=12, level=8, unread={"TargetQueue": [2, 3]}),
    _server(honors=False, queue=11, level=3, unread={"InitiatorQueue": [3], "TargetQueue": []}, there=5),
]
QUEUED = {0: ("TargetQueue", [1, 2, 3]), 1: ("TargetQueue", [2, 3]), 2: ("InitiatorQueue", [3])}


class Server(CaptureProject):
    """A project that takes these captures one by one."""

    def take(self, hour: int) -> None:
        """Put a capture into the folder."""
        write_captures(self.captures, {PLACE: CAPTURES[hour]}, HOURS[hour])

    def answers(self, moment: datetime) -> dict[str, Any]:
        """What a night and its questions say of a moment."""
        self.run(moment)
        at = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        coverage = self.ask("coverage", "--as-of", at)["coverage"]
        return {
            "queued": _rows(self.table("receive_schedule"), moment),
            "coverage": [(row["rule_name"], row["level"], row["endpoints"]) for row in coverage],
            "changes": self.ask("differences", "--as-of", at)["changes"],
            "causes": [each["code"] for each in self.ask("why", "--as-of", at)["causes"]],
        }


def _rows(rows: list[Row], moment: datetime) -> list[tuple[str, str, int]]:
    return sorted(
        (row["queue"], row["message_id"], row["priority"]) for row in rows if row["as_of"] == moment
    )


def test_an_as_of_says_the_same_whenever_later_captures_came(tmp_path: Path) -> None:
    in_time, late = Server(tmp_path / "in-time"), Server(tmp_path / "late")
    at_once = []
    for hour, moment in enumerate(HOURS):
        in_time.take(hour)
        at_once.append(in_time.answers(moment))
    for hour in (2, 0, 1):
        late.take(hour)
        late.run(HOURS[hour])
    for hour, moment in enumerate(HOURS):
        queue, unread = QUEUED[hour]
        queued = at_once[hour]["queued"]
        assert {row[0] for row in queued} == {queue}
        assert len(queued) == len(unread)
        assert in_time.answers(moment) == at_once[hour]
        assert late.answers(moment) == at_once[hour]
