"""Snapshots together with events: what the log knows better, and what absence says; in any order."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import (
    NOON,
    Row,
    at,
    by_source,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.snapshot_views import GROUP, Server, conversation, handle, ready, shown, views
from tests.support.warehouses import changed, contents


def waiting(number: int, side: bool, sequence: int, **changes: Any) -> Row:
    """A row of transmission_queue; the endpoint is the sending one."""
    return {
        "enqueue_time": at(-30),
        "conversation_handle": handle(number, side),
        "message_sequence_number": sequence,
        "message_type_name": "Order",
        "is_conversation_error": False,
        "is_end_of_dialog": False,
        "transmission_status": "",
        "size_bytes": 10,
        **changes,
    }


ALL = ["conversation_endpoints", "transmission_queue", "dbo.TargetQueue"]


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_a_logged_creation_decides_and_the_servers_level_is_kept_beside_it(
    session: SparkSession, server: Server
) -> None:
    lower = conversation(1).lower()
    server.snapshot(
        views(conversation_endpoints=[shown(1, False, priority=9), shown(2, False, priority=9)]), NOON
    )
    server.project.run(session, NOON)
    assert server.endpoints()[conversation(1), False]["level_source"] == "server"
    # The log comes later, and spells the ids otherwise.
    server.project.add(
        by_source(
            endpoint_event(
                "DIALOG_CREATED",
                lower,
                event_time=at(-60),
                database="B",
                conversation_handle=handle(1, False).lower(),
                conversation_group_id=GROUP.format(0, 1).lower(),
            )
        )
    )
    server.project.run(session, NOON)
    one, two = server.endpoints()[conversation(1), False], server.endpoints()[conversation(2), False]
    assert (one["priority"], one["logged_priority"], one["level_source"], one["created_by"]) == (
        5,
        9,
        "ladder",
        "log",
    )
    assert one["created_at"] == at(-60)
    assert one["conversation_group_id"] == GROUP.format(0, 1)
    assert (two["priority"], two["level_source"], two["created_by"]) == (9, "server", "snapshot")
    assert len(server.endpoints()) == 2


def test_a_message_of_the_log_keeps_its_id_and_the_first_of_its_times(
    session: SparkSession, server: Server
) -> None:
    """A log that lost the first delivery, or whose clock is ahead, does not put an arrival off."""
    name = conversation(1)
    logged = {0: -40, 1: -10, 2: 0.05, 3: 120}
    server.project.add(
        by_source(
            endpoint_event("BEGIN_DIALOG", name, event_time=at(-60), database="B"),
            *[message_event("SENT", f"{name}/{n}", message_id=f"m{n}", event_time=at(-50)) for n in logged],
            *[
                message_event("DELIVERED", f"{name}/{n}", message_id=f"m{n}", event_time=at(minute))
                for n, minute in logged.items()
            ],
            message_event("SENT", f"{name}/5", message_id="m5", event_time=at(60)),
        )
    )
    rows = [ready(1, False, n, queuing_order=n) for n in logged]
    rows.append(ready(1, False, 4, message_enqueue_time=None, queuing_order=4))
    ends = [shown(1, True), shown(1, False)]
    shows = views(conversation_endpoints=ends, dbo_TargetQueue=rows, transmission_queue=[waiting(1, True, 5)])
    server.snapshot(shows, NOON)
    server.project.run(session, NOON)
    arrived = {row["message_id"]: row["arrived_at"] for row in server.project.table("receive_schedule")}
    assert arrived == {
        "m0": at(-40),
        **{f"m{n}": at(-30) for n in (1, 2, 3)},
        f"{name}/initiator/4": at(-1 / 60_000_000),
    }
    assert server.received() == ["m0", "m1", "m2", "m3", f"{name}/initiator/4"]
    [waits] = server.project.table("transmission_schedule")
    assert (waits["message_id"], waits["sendable_at"]) == ("m5", at(-30))


def test_a_handle_that_no_endpoint_has_is_unresolved_until_one_has(
    session: SparkSession, server: Server
) -> None:
    server.snapshot(
        views(dbo_TargetQueue=[ready(1, False, 0)], transmission_queue=[waiting(2, True, 3)]), NOON
    )
    server.project.run(session, NOON)
    unknown = {(row["kind"], row["id"], row["reason"]) for row in server.project.table("unresolved")}
    assert unknown == {
        ("receive", f"{handle(1, False)}/unknown/0", "handle_unknown"),
        ("transmission", f"{handle(2, True)}/unknown/3", "handle_unknown"),
    }
    server.snapshot(views(conversation_endpoints=[shown(1, False), shown(2, True)]), at(1))
    server.project.run(session, at(1))
    assert server.received() == [f"{conversation(1)}/initiator/0"]
    assert {row["message_id"] for row in server.project.table("transmission_schedule")} == {
        f"{conversation(2)}/initiator/3"
    }
    assert [row for row in server.project.table("unresolved") if row["as_of"] == at(1)] == []


@pytest.mark.parametrize("several", [False, True])
def test_a_handle_means_the_endpoint_of_its_own_database_first(
    session: SparkSession, server: Server, several: bool
) -> None:
    """Of another database of the instance otherwise; that an endpoint has ended makes no second one of it."""
    other = [shown(2, False), *([shown(3, False, conversation_handle=handle(1, False))] if several else [])]
    mine = [shown(1, True, state="DI"), shown(1, False)]
    ready_here = [ready(1, False, 0), ready(2, False, 1, queuing_order=2)]
    server.snapshot(views(conversation_endpoints=mine, dbo_TargetQueue=ready_here), NOON)
    server.snapshot(views(conversation_endpoints=other), NOON, database="A")
    server.project.run(session, NOON)
    found = {row["message_id"] for row in server.project.table("message_events")}
    assert found == {f"{conversation(number)}/initiator/{number - 1}" for number in (1, 2)}


def talk(number: int, minute: float) -> list[Row]:
    """A logged conversation in SQL1.B with one message that arrived and one that waits."""
    name = conversation(number)
    return [
        endpoint_event("BEGIN_DIALOG", name, event_time=at(minute), database="B"),
        endpoint_event("DIALOG_CREATED", name, event_time=at(minute), database="B"),
        message_event("SENT", f"{name}/0", event_time=at(minute)),
        message_event("DELIVERED", f"{name}/0", event_time=at(minute)),
        message_event("SENT", f"{name}/1", event_time=at(minute)),
    ]


def test_what_a_complete_view_does_not_show_has_gone(session: SparkSession, server: Server) -> None:
    # 1: all is there. 2: its endpoints are, its messages are not. 3: nothing is there. 4: too young to tell.
    events = [row for number in (1, 2, 3) for row in talk(number, -10)] + talk(4, -0.5)
    server.project.add(by_source(*events))
    server.snapshot(
        views(
            conversation_endpoints=[shown(number, side) for number in (1, 2) for side in (True, False)],
            dbo_TargetQueue=[ready(1, False, 0)],
            transmission_queue=[waiting(1, True, 1)],
        ),
        NOON,
        ALL,
    )
    server.project.run(session, NOON)
    assert set(server.received()) == {f"{conversation(number)}/0" for number in (1, 4)}
    assert set(server.sent()) == {f"{conversation(number)}/1" for number in (1, 4)}
    ended = {number: server.endpoints()[conversation(number), True]["ended_at"] for number in (1, 2, 3, 4)}
    assert ended == {1: None, 2: None, 3: at(-1 / 60_000_000), 4: None}
    inferred = [row for row in server.project.table("message_events") if row["inferred"]]
    assert {(row["message_id"], row["event_type"]) for row in inferred} >= {
        (f"{conversation(2)}/0", "RECEIVED"),
        (f"{conversation(2)}/1", "LEFT"),
    }
    assert all(row["seen_at"] == NOON for row in inferred)


def test_a_message_that_comes_back_was_not_received(session: SparkSession, server: Server) -> None:
    server.project.add(by_source(*talk(1, -10)))
    both = [shown(1, True), shown(1, False)]
    server.snapshot(views(conversation_endpoints=both), NOON, ALL)
    server.project.run(session, NOON)
    assert server.received() == []
    server.snapshot(views(conversation_endpoints=both, dbo_TargetQueue=[ready(1, False, 0)]), at(60), ALL)
    server.project.run(session, at(60))
    assert server.received() == [f"{conversation(1)}/0"]


def test_a_message_in_flight_is_not_missing(session: SparkSession, server: Server) -> None:
    taken = {"event_time": at(-8), "transaction_id": "t", "database": "B"}
    server.project.add(
        by_source(
            *talk(1, -10),
            message_event("RECEIVED", f"{conversation(1)}/0", **taken),
            queue_event("RECEIVE", event_time=at(-8), transaction_id="t"),
            queue_event("ROLLBACK", event_time=at(30), transaction_id="t"),
        )
    )
    server.snapshot(views(conversation_endpoints=[shown(1, True), shown(1, False)]), NOON, ALL)
    server.project.run(session, at(60))
    assert server.received() == [f"{conversation(1)}/0"]


def test_a_move_that_nobody_logged_is_seen(session: SparkSession, server: Server) -> None:
    server.project.add(by_source(*talk(1, -10), *talk(2, -10)))
    logged = f"group {conversation(2)} False"
    both = [shown(1, False, conversation_group_id="ELSEWHERE"), shown(2, False, conversation_group_id=logged)]
    server.snapshot(views(conversation_endpoints=both), NOON)
    server.project.run(session, at(-5))
    server.project.run(session, NOON)
    groups = {
        (row["conversation_id"], row["as_of"]): row["conversation_group_id"]
        for row in server.project.table("receive_schedule")
    }
    assert groups == {
        (conversation(1), at(-5)): f"group {conversation(1)} False",
        (conversation(1), NOON): "ELSEWHERE",
        (conversation(2), at(-5)): logged,
        (conversation(2), NOON): logged,
    }


@pytest.mark.slow
@pytest.mark.long
def test_the_order_in_which_events_and_snapshots_come_is_no_matter(
    session: SparkSession, tmp_path: Path
) -> None:
    first = views(
        conversation_endpoints=[
            *[shown(1, side) for side in (True, False)],
            shown(2, False, priority=8),
            shown(5, True, state="DI"),
        ],
        dbo_TargetQueue=[ready(1, False, 0), ready(2, False, 4), ready(6, False, 0)],
        transmission_queue=[waiting(1, True, 1), waiting(5, True, 0, transmission_status="away")],
    )
    second = views(
        conversation_endpoints=[shown(1, True), shown(2, False, priority=8), shown(6, False)],
        dbo_TargetQueue=[ready(2, False, 4), ready(6, False, 0)],
    )
    events = [
        row
        for number in (1, 2, 3)
        for row in talk(number, -10)
        if (row["conversation_id"], row.get("is_initiator")) != (conversation(2), False)
    ]
    later = [
        endpoint_event("END_CONVERSATION", conversation(3), event_time=at(20), database="B"),
        message_event("RECEIVED", f"{conversation(1)}/0", event_time=at(10)),
    ]
    steps: dict[str, Any] = {
        "events": lambda server: server.project.add(by_source(*events)),
        "later": lambda server: server.project.add(by_source(*later)),
        "first": lambda server: server.snapshot(first, NOON, ALL),
        "second": lambda server: server.snapshot(second, at(60), ALL),
    }
    found = []
    # All at once, one by one, and one by one the other way round: so any two come in both orders.
    for one_by_one, order in ((False, list(steps)), (True, list(steps)), (True, list(reversed(steps)))):
        server = Server(tmp_path / str(len(found)))
        for name in order:
            steps[name](server)
            if one_by_one:
                server.project.take_in(session)
        server.project.run(session, NOON)
        server.project.run(session, at(61))
        books = ("batch", "fold", "closed_on", "modified_at")
        tables = contents(server.project, leave_out=books)
        found.append({name: tables[name] for name in tables if name not in ("files", "batches", "snapshots")})
    for one, other in pairwise(found):
        different = changed(one, other)
        assert different == {}, "\n".join(line for lines in different.values() for line in lines)
