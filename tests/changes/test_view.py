"""The lines about what changed."""

from typing import Any

import pytest

from pipelines.changes.view import describe_changes
from pipelines.config.instants import parse_instant

SQL1 = {"instance": "SQL1", "database": "Shop"}
QUEUE = {**SQL1, "kind": "queue", "name": "Orders", "attribute": "on"}
PLACE = {**SQL1, "kind": "receive", "queue": "Orders", "messages_then": 1, "messages_now": 3}


def second_line(**parts: Any) -> str:
    """The lines about these parts; the first line, about conversations, is left out."""
    conversations = [{**SQL1, "begun": 1, "gone": 0, "unread_gone": 0}]
    none: dict[str, Any] = {"rules": [], "catalog": [], "places": [], "findings": {"new": [], "gone": []}}
    changes = none | {"since": parse_instant("2026-11-30T03:00:00Z"), "conversations": conversations} | parts
    first, second = describe_changes(changes)
    assert first == "since the as_of of 2026-11-30T03:00:00Z: conversations: 1 began and 0 ended in SQL1.Shop"
    return second


@pytest.mark.parametrize(
    ("arrived", "received", "told"),
    [
        (2, 1, "; at least 2 arrived and at least 1 was received"),
        (2, 0, "; at least 2 arrived"),
        (0, 0, ""),
    ],
)
def test_no_traffic_is_not_told(arrived: int, received: int, told: str) -> None:
    row = {**PLACE, "arrived_at_least": arrived, "received_at_least": received}
    assert second_line(places=[row]) == f"1 place changed: 1 message then, 3 now{told}"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"old": "on", "new": "off"}, "queue 'Orders' of SQL1.Shop was on and is off"),
        ({"old": None, "new": "on"}, "queue 'Orders' of SQL1.Shop was not there and is on"),
        (
            {"attribute": "max_readers", "old": "1", "new": "2"},
            "max_readers of queue 'Orders' of SQL1.Shop was 1 and is 2",
        ),
        (
            {"kind": "database", "name": "Shop", "attribute": "honor", "old": "on", "new": "off"},
            "honor of SQL1.Shop was on and is off",
        ),
    ],
)
def test_a_fact_of_the_catalog(changed: dict[str, Any], told: str) -> None:
    assert second_line(catalog=[{**QUEUE, **changed}]) == f"snapshots: {told}"
