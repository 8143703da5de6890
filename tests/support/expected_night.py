"""A night whose waits, levels and leaks a reader can follow."""

from pathlib import Path

from tests.support.factories import (
    Events,
    Row,
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
)
from tests.support.harness import Project

AS_OF = at(60)
GOLD = "GoldContract"


def events() -> Events:
    """Four messages in a queue, one on its way through an instance, one without an endpoint, two leaks."""
    rows = []
    for name, contract in (
        ("gold", GOLD),
        ("plain", "Contract"),
        ("half", "Contract"),
        ("half too", "Contract"),
    ):
        rows += [
            endpoint_event(conversation=name, contract=contract),
            endpoint_event("DIALOG_CREATED", name, contract=contract),
        ]
    for message, minute in (("gold/0", 40), ("gold/1", 50), ("plain/0", 30), ("plain/1", 59.99)):
        rows += [
            message_event("SENT", message, event_time=at(20)),
            message_event("DELIVERED", message, event_time=at(minute)),
        ]
    rows += [
        message_event("SENT", "plain/2", event_time=at(20)),
        message_event("FORWARD_ACCEPTED", "plain/2", event_time=at(25), instance="SQL2", database="C"),
        message_event("DELIVERED", "nobody/0", event_time=at(30)),
        endpoint_event("END_CONVERSATION", "half", event_time=at(5)),
        endpoint_event("END_CONVERSATION", "half too", event_time=at(5)),
    ]
    return by_source(*rows)


def project_in(folder: Path, expect: list[Row] | None) -> Project:
    """Write the settings; of a folder that has a project, anew."""
    rules = [create_rule("Gold", 9, database="B", contract=GOLD)]
    sections = {} if expect is None else {"expect": expect}
    return Project(folder, catalog=catalog(), rules=rules, **sections)
