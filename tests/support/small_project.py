"""A small project with an event of each kind."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.support.factories import (
    Events,
    Row,
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import Project


def a_bit_of_everything() -> Events:
    """Ready, locked, waiting, ended, unresolved, early, twice, rejected, monitored."""
    rows: list[Row] = []
    for conversation in ("c1", "c2", "c3", "ended"):
        rows += [
            endpoint_event(conversation=conversation),
            endpoint_event("DIALOG_CREATED", conversation, event_time=at(1)),
            *[message_event("SENT", f"{conversation}/{number}") for number in range(3)],
            *[
                message_event("DELIVERED", f"{conversation}/{number}", event_time=at(2))
                for number in range(2)
            ],
        ]
    rows += [
        message_event("RECEIVED", "c1/0", event_time=at(3), transaction_id="open"),
        message_event("RECEIVED", "c2/0", event_time=at(3), transaction_id="done"),
        queue_event("RECEIVE", event_time=at(3), transaction_id="open", conversation_group_id="g"),
        queue_event("COMMIT", event_time=at(4), transaction_id="done"),
        queue_event("QUEUE_ALTERED", event_time=at(4), queue_status="ON"),
        queue_event("TASK_STARTED", event_time=at(1), session_id=51),
        queue_event("ROLLBACK", event_time=at(4), transaction_id="back"),
        endpoint_event("END_CONVERSATION", "ended", event_time=at(5)),
        endpoint_event("END_CONVERSATION", "ended", event_time=at(5), is_initiator=False),
        endpoint_event("END_CONVERSATION", "unknown", event_time=at(5)),
        message_event("DELIVERED", "early/0"),
        message_event("SENT", "c3/2"),
        message_event("OTHER", "c3/3"),
        # The last quarter of an hour stays open.
        message_event("SENT", "c3/4", event_time=at(50)),
    ]
    return by_source(*rows)


def night_after() -> Events:
    """Goes on with what is open, comes late for what is closed, and brings new conversations."""
    rows: list[Row] = [
        message_event("FORWARD_ACCEPTED", "c2/0", event_time=at(2), instance="SQL2"),
        endpoint_event("MOVE_CONVERSATION", "ended", event_time=at(4), conversation_group_id="other"),
        endpoint_event(conversation="early", event_time=at(1)),
        queue_event("COMMIT", event_time=at(0, day=1), transaction_id="open"),
        message_event("DELIVERED", "c1/2", event_time=at(0, day=1)),
        message_event("RECEIVED", "c3/0", event_time=at(1, day=1)),
        endpoint_event(conversation="new", event_time=at(2, day=1)),
        message_event("RECEIVED", "new/0", event_time=at(3, day=1)),
        message_event("OTHER", "new/1"),
        message_event("SENT", "c3/2"),
        message_event("SENT", "new/9", event_time=at(50, day=1)),
    ]
    return by_source(*rows)


def project_in(
    folder: Path, *, marks: Sequence[str] = ("",), rejected: float = 0.5, **sections: Any
) -> Project:
    """A project whose queues have monitors; with marks its instances are there once for each, by `marked`.

    `sections` are further ones of the settings.
    """

    def of_marks(rows: Iterable[Row], name: str) -> list[Row]:
        return [row | {name: mark + row[name]} for mark in marks for row in deepcopy(rows)]

    own = [create_rule("Gold", 9, contract="Contract"), create_rule("Low", 2, database="B")]
    rules = of_marks(own, "instance")
    places = {"instances": of_marks(catalog()["instances"], "name")}
    for instance in places["instances"]:
        for database in instance["databases"]:
            for queue in database["queues"]:
                queue["activation"] = {"status": "on", "procedure": "dbo.Read", "max_queue_readers": 1}
    return Project(folder, catalog=places, rules=rules, quality={"max_rejected_share": rejected}, **sections)
