"""The expectations of the settings: each measured message by message."""

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from fractions import Fraction

from .moment import Moment, OpenMessage
from .vocabulary import ENDS, SEEN, Row, Side
from .why import percentile, seconds_waited

UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
MEASURES = (
    "oldest_wait",
    "p95_wait",
    "transmission_age",
    "level_at_least",
    "unresolved",
    "leaked_conversations",
)
LEAK_DAYS = 7
GRACE = timedelta(hours=1)
ENDINGS = [f"http://schemas.microsoft.com/SQL/ServiceBroker/{name}" for name in ("EndDialog", "Error")]


def expectations(moment: Moment, entries: Sequence[Row]) -> list[Row]:
    """The rows of the table, without as_of, in the order of the settings.

    Returns:
        name; value and limit: seconds, a share or a count; met; messages: rows measured, None for leaks.
    """
    return [_measured(moment, entry) for entry in entries]


def name_of(entry: Row) -> str:
    """Its name, else the entry as written."""
    return str(entry.get("name") or ", ".join(f"{key}: {value}" for key, value in entry.items()))


def seconds(duration: str) -> float:
    """A number and a unit, with one blank or none between."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|min|h|d)", duration)
    assert match, duration
    return float(Fraction(match[1]) * UNITS[match[2]])


def _measured(moment: Moment, entry: Row) -> Row:
    measure = next(name for name in MEASURES if name in entry)
    value: float | None
    if measure == "leaked_conversations":
        value, rows, limit = float(leaked_conversations(moment, entry)), None, float(entry[measure])
    elif measure == "unresolved":
        rows = len(moment.unresolved)
        value, limit = float(rows), float(entry[measure])
    elif measure == "level_at_least":
        chosen = _chosen(moment, "receive", {**entry, "level": None})
        high = [message for message in chosen if message.row["priority"] >= entry[measure]]
        rows = len(chosen)
        value, limit = len(high) / rows if rows else None, float(entry.get("share", 1))
    else:
        chosen = _chosen(moment, "transmission" if measure == "transmission_age" else "receive", entry)
        waits = sorted(seconds_waited(moment, message) for message in chosen)
        rows = len(chosen)
        longest = float(waits[-1]) if waits else None
        value = percentile(waits, 0.95) if measure == "p95_wait" else longest
        limit = seconds(entry[measure])
    at_least = measure == "level_at_least"
    met = value is None or (value >= limit if at_least else value <= limit)
    if rows is not None and rows < entry.get("min_messages", 0):
        met = False
    return {"name": name_of(entry), "value": value, "limit": limit, "met": met, "messages": rows}


def _chosen(moment: Moment, kind: str, entry: Row) -> list[OpenMessage]:
    return [
        message
        for message in moment.open_messages
        if message.kind == kind
        and _names_place(entry, message.place)
        and _names(entry, message.names)
        and entry.get("level") in (None, message.level)
    ]


def _names_place(entry: Row, place: Iterable[str | None]) -> bool:
    instance, database, queue = place
    return (
        entry.get("queue") in (None, queue, f"{instance}.{database}.{queue}")
        and entry.get("instance") in (None, instance)
        and entry.get("database") in (None, database)
    )


def _names(entry: Row, names: Iterable[str | None]) -> bool:
    filters = (entry.get("contract"), entry.get("service"), entry.get("remote_service"))
    return all(wanted in (None, name) for wanted, name in zip(filters, names, strict=True))


# Leaks


def leaked_conversations(moment: Moment, entry: Row) -> int:
    """How many conversations have an endpoint that leaks and fits the filters."""
    days = timedelta(days=entry.get("days", LEAK_DAYS))
    leaking = set()
    for side, endpoint in moment.state.known_endpoints.items():
        fits = _names_place(entry, (endpoint.instance, endpoint.database, None)) and _names(
            entry, endpoint.names
        )
        if fits and leaks(moment, side, days):
            leaking.add(side[0])
    return len(leaking)


def leaks(moment: Moment, side: Side, days: timedelta) -> bool:
    """Whether an endpoint exists, has not ended, and leaks by a log.

    It does if its far side ended an hour ago or more. If that has not ended, it does without traffic for
    days, if the log has messages both before and in these days.
    """
    endpoint = moment.state.endpoint(side)
    if endpoint is None or moment.state.has_ended(side):
        return False
    far_ends = [
        event["event_time"]
        for event in moment.events.get("endpoint_events") or []
        if (event["conversation_id"], not event["is_initiator"]) == side
        and event["event_type"] in ENDS
        and event["event_time"] < moment.as_of
    ]
    if far_ends:
        unread = [
            waiting.since
            for waiting in moment.open_messages
            if waiting.kind == "receive"
            and waiting.message.receiver == side
            and waiting.message.message_type in ENDINGS
        ]
        return min([*far_ends, *unread]) <= moment.as_of - GRACE
    since = moment.as_of - days
    messages = [
        event for event in moment.events.get("message_events") or [] if event["event_time"] < moment.as_of
    ]
    known = {event["event_time"] > since for event in messages if event.get(SEEN) is None}
    traffic = [event["event_time"] for event in messages if event["conversation_id"] == side[0]]
    return known == {True, False} and max([endpoint.created_at, *traffic]) <= since
