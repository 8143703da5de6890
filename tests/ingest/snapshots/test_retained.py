"""Queues with RETENTION in views by hand: what was received and sent, and since when it can be known."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import NOON
from tests.support.snapshot_views import Server, handle, ready, shown, views

ONE, TWO, THREE = (NOON + timedelta(hours=hour) for hour in (1, 2, 3))
COMPLETE = ["conversation_endpoints", "transmission_queue", "dbo.TargetQueue", "dbo.InitiatorQueue"]
CONVERSATION = "ABCDEF00-0000-0000-0000-000000000001"
RECEIVED, READY, SENT = 0, 1, 3


def queue(*rows: tuple[int, int]) -> list[dict[str, Any]]:
    """Rows of the target's queue: number and status."""
    return [
        {
            **ready(1, False, number, queuing_order=number),
            "status": status,
            "conversation_handle": handle(1, False),
        }
        for number, status in rows
    ]


def sent(*numbers: int) -> list[dict[str, Any]]:
    """Copies in the initiator's queue of what it sent."""
    return [{**ready(1, True, number, queuing_order=number), "status": SENT} for number in numbers]


@pytest.fixture(scope="module")
def events(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[int, str], list[Any]]:
    """Three snapshots, the middle one taken in last: by message and event type, what is known of its moment.

    Message 0 was received by the first; 1 waits in the first and was received by the second; 2 came and was
    received between both; 3 was about to be received in the second, and waits again in the third.
    """
    server = Server(tmp_path_factory.mktemp("retained") / "project")
    endpoints = [shown(1, side) for side in (True, False)]

    def snapshot(taken_at: Any, in_queue: list[Any], copies: list[Any]) -> None:
        given = views(conversation_endpoints=endpoints, dbo_TargetQueue=in_queue, dbo_InitiatorQueue=copies)
        server.snapshot(given, taken_at, complete=COMPLETE)

    first = [(0, RECEIVED), (1, READY)]
    then = [(0, RECEIVED), (1, RECEIVED), (2, RECEIVED), (3, RECEIVED)]
    last = [*then[:3], (3, READY)]
    snapshot(ONE, queue(*first), sent(0, 1))
    server.project.run(session, ONE)
    snapshot(THREE, queue(*last), sent(0, 1, 2, 3))
    server.project.run(session, THREE)
    snapshot(TWO, queue(*then), sent(0, 1, 2, 3))
    server.project.run(session, THREE)
    found: dict[tuple[int, str], list[Any]] = {}
    for row in server.project.table("message_events"):
        key = (row["message_sequence_number"], row["event_type"])
        moment = row["event_time"] + timedelta(microseconds=1)
        found.setdefault(key, []).append((row["not_before"], moment, row["inferred"]))
    found[-1, "waits"] = [
        (row["as_of"], row["message_id"]) for row in server.project.table("receive_schedule")
    ]
    found[-1, "to send"] = server.project.table("transmission_schedule")
    return found


def test_received_rows_are_received_once_after_the_view_before(
    events: dict[tuple[int, str], list[Any]],
) -> None:
    received = {number: each for (number, event_type), each in events.items() if event_type == "RECEIVED"}
    assert received == {0: [(None, ONE, True)], 1: [(ONE, TWO, True)], 2: [(ONE, TWO, True)]}


def test_copies_are_sent_and_do_not_wait(events: dict[tuple[int, str], list[Any]]) -> None:
    copies = {number: each for (number, event_type), each in events.items() if event_type == "SENT"}
    assert copies == {
        **{number: [(None, ONE, True)] for number in (0, 1)},
        **{number: [(ONE, TWO, True)] for number in (2, 3)},
    }
    assert events[-1, "to send"] == []


def test_only_ready_rows_wait(events: dict[tuple[int, str], list[Any]]) -> None:
    assert sorted(events[-1, "waits"]) == [
        (ONE, f"{CONVERSATION}/initiator/1"),
        (THREE, f"{CONVERSATION}/initiator/3"),
    ]
