"""What the simulated servers write beside their captures: traces, and a table of procedures."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from tests.support.simulation.database import END_DIALOG, ERROR
from tests.support.simulation.servers import Step

AHEAD = timedelta(hours=2)
"""How far the clocks of the servers are ahead of UTC."""
SUBCLASSES = {
    "begun": 11,
    "created": 12,
    "sent": 1,
    "arrived": 6,
    "ended": 2,
    "ended with error": 3,
    "cleaned up": 13,
}
TYPES = {"sent": "SENT", "arrived": "DELIVERED", "received": "RECEIVED"}
"""The events that steps are which have a message."""
ARRIVED_ENDS = {END_DIALOG: 7, ERROR: 8}
Row = dict[str, Any]


def trace(steps: Iterable[Step], *, first: int) -> Iterator[Row]:
    """Rows of a trace: each statement in a transaction that commits, every third after one that does not.

    Args:
        steps: what happened.
        first: the number of the first step among all.
    """
    for number, step in enumerate(steps, start=first):
        if step.what == "received":
            continue
        subclass = SUBCLASSES[step.what]
        if step.what == "arrived":
            assert step.row is not None
            subclass = ARRIVED_ENDS.get(step.row.type, subclass)
        row = {
            "EventClass": 124,
            "EventSubClass": subclass,
            "StartTime": f"{step.at + AHEAD:%Y-%m-%d %H:%M:%S.%f}"[:-3],
            "ServerName": step.server,
            "DatabaseID": step.database.number,
            "GUID": step.endpoint.conversation,
            "RoleName": "initiator" if step.endpoint.is_initiator else "target",
            "ObjectName": step.endpoint.handle,
            "MethodName": step.endpoint.group,
        }
        place, end = (
            10 * number,
            {name: row[name] for name in ("StartTime", "ServerName")} | {"EventClass": 50},
        )
        if step.what == "sent" and number % 3 == 0:
            yield row | {"TransactionID": 2 * number, "EventSequence": place}
            yield end | {"EventSubClass": 2, "TransactionID": 2 * number, "EventSequence": place + 1}
        yield row | {"TransactionID": 2 * number + 1, "EventSequence": place + 2}
        yield end | {"EventSubClass": 1, "TransactionID": 2 * number + 1, "EventSequence": place + 3}


def received(steps: Iterable[Step]) -> Iterator[Row]:
    """Rows of a table into which procedures write what they receive."""
    for step in steps:
        if step.what == "received":
            assert step.row is not None
            yield {
                "At": f"{step.at + AHEAD:%Y-%m-%d %H:%M:%S.%f}",
                "Server": step.server,
                "Base": step.database.name,
                "Handle": step.endpoint.handle,
                "Number": step.row.number,
                "Type": step.row.type,
            }


def inputs() -> Row:
    """The sources of both."""
    own = {"instance": "Server", "database": "Base", "conversation_handle": "Handle", "message_type": "Type"}
    columns = own | {"event_time": "At", "message_sequence_number": "Number"}
    offset = {"format": "json", "offset": "+02:00"}
    return {
        "logs": [{"name": "trace", "path": "trace", "mapping": "sql-trace", **offset}],
        "message_events": {
            "name": "received",
            "path": "received",
            "columns": columns | {"event_type": {"value": "RECEIVED"}},
            **offset,
        },
    }


def message(step: Step) -> tuple[str, bool, int, str, datetime]:
    """The message that a step sends or gets."""
    assert step.row is not None
    return step.row.conversation, step.row.by_initiator, step.row.number, step.row.type, step.at


def ends(steps: Iterable[Step]) -> dict[tuple[str, bool], datetime]:
    """When endpoints first ended, by conversation and whether it is the initiator."""
    ended = [step for step in steps if step.what in ("ended", "ended with error", "cleaned up")]
    latest_first = sorted(ended, key=lambda step: step.at, reverse=True)
    return {(step.endpoint.conversation, step.endpoint.is_initiator): step.at for step in latest_first}


def steps_until(steps: Iterable[Step], moments: dict[str, datetime]) -> Iterator[Step]:
    """The steps of each server before its moment."""
    return (step for step in steps if step.server in moments and step.at < moments[step.server])
