"""Snapshots together with events: what the log knows better, and what absence says; in any order."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import conformance
from pipelines.questions.caveats import find_caveats
from tests.support.factories import NOON, Row, at, by_source, endpoint_event, message_event, queue_event
from tests.support.snapshot_views import GROUP, Server, conversation, handle, ready, shown, views, waiting
from tests.support.warehouses import changed, contents

ALL = ["conversation_endpoints", "transmission_queue", "dbo.TargetQueue"]
JUST_BEFORE = at(-1 / 60_000_000)
"""A microsecond before noon."""


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


def both(number: int, **changes: Any) -> list[Row]:
    """Both endpoints of a conversation, in the groups that the log gave them."""
    groups = {side: f"group {conversation(number)} {side}" for side in (True, False)}
    return [shown(number, side, **{"conversation_group_id": groups[side], **changes}) for side in groups]


@pytest.mark.slow
def test_what_a_complete_view_does_not_show_has_gone(session: SparkSession, tmp_path: Path) -> None:
    """Unless a moment ago it was there, or a transaction holds it; and where a view shows an endpoint, it is.

    1: all is there. 2: its endpoints are, its messages are not. 3: nothing is there. 4: too young to tell.
    5: its message is in flight. 6: it is in another group. 7: the log has the messages under other ids.
    """
    server = Server(tmp_path)
    named = {0: -40, 1: -10, 2: 0.05, 3: 120}
    in_flight = {"event_time": at(-8), "transaction_id": "t", "database": "B"}
    server.project.add(
        by_source(
            *[row for number in (1, 2, 3, 5, 6) for row in talk(number, -10)],
            *talk(4, -0.5),
            message_event("RECEIVED", f"{conversation(5)}/0", **in_flight),
            queue_event("RECEIVE", event_time=at(-8), transaction_id="t"),
            queue_event("ROLLBACK", event_time=at(30), transaction_id="t"),
            endpoint_event("BEGIN_DIALOG", conversation(7), event_time=at(-60), database="B"),
            *[
                message_event(kind, f"{conversation(7)}/{n}", message_id=f"m{n}", event_time=at(minute))
                for n, when in named.items()
                for kind, minute in (("SENT", -50), ("DELIVERED", when))
            ],
        )
    )
    of_seven = [ready(7, False, number, queuing_order=number) for number in named]
    of_seven.append(ready(7, False, 4, message_enqueue_time=None, queuing_order=4))
    endpoints = [row for number in (1, 2, 5) for row in both(number)]
    given = views(
        conversation_endpoints=[*endpoints, *both(6, conversation_group_id="ELSEWHERE"), *both(7)],
        dbo_TargetQueue=[ready(1, False, 0), ready(6, False, 0), *of_seven],
        transmission_queue=[waiting(1, True, 1)],
    )
    server.snapshot(given, NOON, ALL)
    received: dict[datetime, dict[str, Row]] = {NOON: {}, at(60): {}}
    for as_of in received:
        server.project.schedule(session, as_of)
    for row in server.project.table("receive_schedule"):
        received[row["as_of"]][row["message_id"]] = row
    first = {number: f"{conversation(number)}/0" for number in range(1, 7)}
    seven = {"m0": at(-40)} | dict.fromkeys(("m1", "m2", "m3"), at(-30))
    seven[f"{conversation(7)}/initiator/4"] = JUST_BEFORE
    assert {*received[NOON]} == {first[1], first[4], first[6], *seven}
    assert {name: received[NOON][name]["arrived_at"] for name in seven} == seven
    assert first[5] in received[at(60)]
    assert received[NOON][first[6]]["conversation_group_id"] == "ELSEWHERE"
    sent = {
        row["message_id"] for row in server.project.table("transmission_schedule") if row["as_of"] == NOON
    }
    assert sent == {f"{conversation(number)}/1" for number in (1, 4)}
    ended = {number: server.endpoints()[conversation(number), True]["ended_at"] for number in range(1, 6)}
    assert ended == {1: None, 2: None, 3: JUST_BEFORE, 4: None, 5: None}
    inferred = [row for row in server.project.table("message_events") if row["inferred"]]
    assert {(row["message_id"], row["event_type"]) for row in inferred} >= {
        (first[2], "RECEIVED"),
        (f"{conversation(2)}/1", "LEFT"),
    }
    assert {row["seen_at"] for row in inferred} == {NOON}


@pytest.mark.long
@pytest.mark.slow
def test_what_comes_later_corrects_what_was_concluded(session: SparkSession, tmp_path: Path) -> None:
    """1: its message comes back. 2: the log comes later. 3: an endpoint with the handle is shown later.

    8: of its database there is a queue alone, and its endpoint is shown later.
    """
    server = Server(tmp_path)
    server.project.add(by_source(*talk(1, -10)))
    server.snapshot(
        views(
            conversation_endpoints=[*both(1), shown(2, False, priority=9), shown(4, False, priority=9)],
            dbo_TargetQueue=[ready(3, False, 0)],
            transmission_queue=[waiting(3, True, 3)],
        ),
        NOON,
        ["dbo.TargetQueue"],
    )
    alone = [ready(8, False, 0, service_name="TargetService", service_contract_name="Contract")]
    server.snapshot({"dbo.TargetQueue": alone}, NOON, instance="SQL2")
    server.project.schedule(session, NOON)
    assert server.endpoints()[handle(8, False), False]["remote_service"] == ""
    assert server.endpoints()[conversation(2), False]["level_source"] == "server"
    unknown = {(row["kind"], row["id"], row["reason"]) for row in server.project.table("unresolved")}
    assert unknown == {
        ("receive", f"{handle(3, False)}/unknown/0", "handle_unknown"),
        ("transmission", f"{handle(3, True)}/unknown/3", "handle_unknown"),
    }
    # The log spells the ids otherwise.
    created = endpoint_event(
        "DIALOG_CREATED",
        conversation(2).lower(),
        event_time=at(-60),
        conversation_handle=handle(2, False).lower(),
        conversation_group_id=GROUP.format(0, 2).lower(),
    )
    server.project.add(by_source(created))
    server.snapshot(
        views(
            conversation_endpoints=[*both(1), shown(3, False), shown(3, True)],
            dbo_TargetQueue=[ready(1, False, 0), ready(3, False, 0)],
            transmission_queue=[waiting(3, True, 3)],
        ),
        at(1),
    )
    of_eight = views(conversation_endpoints=[shown(8, False)], dbo_TargetQueue=alone)
    server.snapshot(of_eight, at(1), instance="SQL2")
    server.project.schedule(session, at(60))
    latest = [row["message_id"] for row in server.project.table("receive_schedule") if row["as_of"] == at(60)]
    assert {*latest} == {
        f"{conversation(1)}/0",
        *(f"{conversation(number)}/initiator/0" for number in (3, 8)),
    }
    assert [row for row in server.project.table("unresolved") if row["as_of"] == at(60)] == []
    names = ("priority", "logged_priority", "level_source", "created_by")
    two, four = (server.endpoints()[conversation(number), False] for number in (2, 4))
    assert [two[name] for name in names] == [5, 9, "ladder", "log"]
    assert (two["created_at"], two["conversation_group_id"]) == (at(-60), GROUP.format(0, 2))
    assert [four[name] for name in names] == [9, 9, "server", "snapshot"]
    assert server.endpoints()[conversation(8), False]["remote_service"] == "InitiatorService"
    assert len(server.endpoints()) == 7


@pytest.mark.long
@pytest.mark.slow
def test_the_order_in_which_events_and_snapshots_come_is_no_matter(
    session: SparkSession, tmp_path: Path
) -> None:
    """All at once, and backwards in three folds."""
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
    at_once, backwards = Server(tmp_path / "at_once"), Server(tmp_path / "backwards")
    for server in (at_once, backwards):
        server.snapshot(second, at(60), ALL)
        if server is backwards:
            server.project.take_in(session)
        server.snapshot(first, NOON, ALL)
        server.project.add(by_source(*later))
        if server is backwards:
            server.project.take_in(session)
        server.project.add(by_source(*events))
        server.project.schedule(session, at(61))
    books = ("batch", "fold", "closed_on", "modified_at")
    found = [contents(server.project, leave_out=books) for server in (at_once, backwards)]
    for tables in found:
        for name in ("files", "batches", "snapshots"):
            del tables[name]
    different = changed(*found)
    assert different == {}, "\n".join(line for lines in different.values() for line in lines)


@pytest.mark.long
def test_a_logged_receive_that_a_restore_undoes(
    embedded: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its message was never gone, at no as_of, and nothing else changes; its reader did receive it."""
    server, back, early = Server(tmp_path), f"{conversation(1)}/0", "receive_schedule"
    server.project.add(by_source(*talk(1, -40), message_event("RECEIVED", back, event_time=at(-30))))
    endpoints = {"conversation_endpoints": both(1)}
    names = (early, "transmission_schedule", "unresolved", "priority_rules", "catalog_history")

    def night(as_of: datetime) -> dict[str, list[Row]]:
        """Run it; what the tables say of noon."""
        server.project.run(embedded, as_of)
        rows = {name: server.project.table(name) for name in names}
        return {
            name: [row for row in found if row.get("as_of", NOON) == NOON] for name, found in rows.items()
        }

    server.snapshot(views(**endpoints), NOON, ALL)
    published = night(NOON)
    assert published[early] == []
    server.snapshot(views(**endpoints, dbo_TargetQueue=[ready(1, False, 0)]), at(60), ALL)
    assert night(at(60)) == published
    assert server.received() == [back]
    told = "1 message is ready in a snapshot of SQL1.B more than a minute after the log says that it was "
    assert [told in each for each in find_caveats(server.project.warehouse(embedded), at(60))] == [True]
    again = night(NOON)
    assert [row["message_id"] for row in again.pop(early)] == [back]
    assert again == {name: rows for name, rows in published.items() if name != early}
    server.snapshot(views(**endpoints), at(90), ALL)
    server.project.run(embedded, at(90))
    assert [row["as_of"] for row in server.project.table(early)] == [NOON, at(60)]
    capsys.readouterr()
    asked = ["--config", server.project.config, "--as-of", at(90).isoformat(), "--format", "json"]
    assert conformance.main(asked) == 0
    assert json.loads(capsys.readouterr().out)["receives"]["decisions"] == 1
