"""Why messages wait: the JSON of `priorities why`, without its sentences, actions and commands."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil, floor
from typing import Any

from . import why_positions, why_queues, why_rules
from .moment import KINDS, STATES, Moment, Names, OpenMessage
from .transmission import queue_off
from .vocabulary import Row, is_on, queue_of, queue_row, utf8
from .why_positions import first_details, messages_ahead, own_group_details, position_of
from .why_queues import broker_off, off_details, queue_causes
from .why_rules import rule_causes

SEVERITY = why_rules.CODES | why_positions.CODES | why_queues.CODES
CODES = tuple(SEVERITY)
"""In the order of the table of causes."""
SEVERITIES = ("stopped", "blocked", "misconfigured", "order")
"""The worst first."""
WITHOUT_BROKER = ("queue_off", "transmission_status")
"""What holds beside a broker that is off, and is no reason of `unresolved`."""
STOPPED_AFTER = timedelta(minutes=10)
"""`why.stopped_after` of the settings."""
OF_THOSE_AHEAD = ("outranked", "older_first")
"""The causes whose details count the messages that are ahead."""
MOST_OF_THOSE_AHEAD = 3
KIND = ("contract", "local_service", "remote_service")
PLACE = ("kind", "instance", "database", "queue")


@dataclass(frozen=True)
class Cause:
    """A cause of one message.

    Attributes:
        code: one of CODES.
        details: the rows of details in which the message counts.
        ahead: for a code of OF_THOSE_AHEAD, the messages that are ahead.
    """

    code: str
    details: tuple[Row, ...] = ()
    ahead: tuple[OpenMessage, ...] = ()


Causes = dict[OpenMessage, list[Cause]]


def why(moment: Moment) -> Row:
    """The answer about all open messages, without a limit: as_of, situation, causes, findings and places."""
    causes = causes_by_message(moment)
    _name_texts(causes)
    places = []
    for kind, place in {(message.kind, message.place) for message in moment.open_messages}:
        there = [each for each in moment.open_messages if (each.kind, each.place) == (kind, place)]
        where = dict(zip(PLACE, (kind, *place), strict=True))
        places.append({**where, **_answer(moment, causes, there)})
    places.sort(
        key=lambda row: (
            min((SEVERITIES.index(cause["severity"]) for cause in row["causes"]), default=len(SEVERITIES)),
            -row["situation"]["messages"],
            KINDS.index(row["kind"]),
            *(_ordered(row[name]) for name in PLACE[1:]),
        )
    )
    return {
        "as_of": moment.as_of,
        **_answer(moment, causes, moment.open_messages),
        "findings": sorted([*_findings_of(places), *_queues_off(moment)], key=_place_in_findings),
        "places": places,
    }


def _queues_off(moment: Moment) -> list[Row]:
    """The queues that are off, or whose activation is off, where no message waits."""
    waited_for = {message.queue for message in moment.open_messages if message.kind == "receive"}
    for message in moment.open_messages:
        if message.state == "transmission" and (off := queue_off(moment.state, message.message)):
            waited_for.add(off)
    found = []
    events = moment.state.queue_events
    altered = {queue_of(event) for event in events if event["event_type"] == "QUEUE_ALTERED"}
    for queue in {*moment.catalog.queues(), *altered} - waited_for:
        where = {"kind": "receive", **queue_row(queue), "messages": 0, "conversations": 0}
        internal = moment.catalog.queue(queue).get("activation")
        if moment.state.is_off(queue):
            row = {**off_details(moment, queue), "messages": 0}
            found.append({"code": "queue_off", "severity": "stopped", **where, "details": [row]})
        elif internal is not None and not is_on(internal.get("status", True)):
            row = {**queue_row(queue), "reason": "activation_off", "last_receive": None, "messages": 0}
            found.append({"code": "not_received", "severity": "order", **where, "details": [row]})
    return found


def _findings_of(places: list[Row]) -> list[Row]:
    """One row a cause and place."""
    found = []
    for place in places:
        where = {name: place[name] for name in PLACE}
        for cause in place["causes"]:
            counts = {name: cause[name] for name in ("messages", "conversations", "details")}
            found.append({"code": cause["code"], "severity": cause["severity"], **where, **counts})
    return found


def _place_in_findings(row: Row) -> tuple[Any, ...]:
    """Worst severity first, then most messages, as in CODES, by place."""
    names = [utf8(row[name] or "") for name in PLACE[1:]]
    order = SEVERITIES.index(row["severity"]), -row["messages"], CODES.index(row["code"])
    return *order, KINDS.index(row["kind"]), *names


def waits(moment: Moment) -> list[Row]:
    """The rows of the table `waits`, without as_of: one a place and level of the schedules."""
    rows = []
    placed = [message for message in moment.open_messages if message.kind != "unresolved"]
    for kind, place, level in {(message.kind, message.place, message.level) for message in placed}:
        there = [each for each in placed if (each.kind, each.place, each.level) == (kind, place, level)]
        held = [message for message in there if message.state in ("queue_off", "group_locked")]
        seconds = sorted(seconds_waited(moment, message) for message in there)
        rows.append(
            {
                **dict(zip(PLACE, (kind, *place), strict=True)),
                "level": level,
                "ready": len(there) - len(held),
                "held": len(held),
                "oldest_seconds": seconds[-1],
                "p95_seconds": round(percentile(seconds, 0.95), 2),
            }
        )
    return rows


def _name_texts(causes: Causes) -> None:
    """Texts of the server of one kind have the text of the message that has waited longest."""
    first: dict[str, str] = {}
    for message in sorted(causes, key=lambda message: (message.since, utf8(message.message_id))):
        for number, cause in enumerate(causes[message]):
            if cause.code == "transmission_status":
                text = cause.details[0]["text"]
                named = first.setdefault(_kind_of_text(text), text)
                causes[message][number] = Cause(cause.code, ({"text": named},))


def _kind_of_text(text: str) -> str:
    """A text without quoted parts, addresses, GUIDs, times and numbers."""
    words = re.split(r"""('[^']*'|"[^"]*")""", text)
    plain = "#".join(words[::2])
    for address in re.findall(r"[A-Za-z]+://[^ ,;)]*", plain):
        plain = plain.replace(address, "#", 1)
    plain = re.sub(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", "#", plain)
    plain = re.sub(r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,}(?:[.][0-9]+)*", "#", plain)
    return re.sub(r"[0-9]+(?:[.:,/-][0-9]+)*", "#", plain)


def causes_by_message(moment: Moment) -> Causes:
    """All causes of every open message, in the order of the table."""
    return {message: _causes(moment, message) for message in moment.open_messages}


def _causes(moment: Moment, message: OpenMessage) -> list[Cause]:
    found = [Cause(code, tuple(rows)) for code, rows in rule_causes(moment, message).items()]
    position = position_of(moment, message)
    if position.outranking:
        found.append(Cause("outranked", ahead=position.outranking))
    if position.own:
        found.append(Cause("own_group_first", (own_group_details(message),)))
    if position.older:
        found.append(Cause("older_first", ahead=position.older))
    # What the server explains, and what waits for a queue that is off, is not just next in line.
    if position.is_first and not _is_explained(moment, message):
        found.append(Cause("first_in_line", (first_details(message),)))
    found += [Cause(code, (row,)) for code, row in queue_causes(moment, message).items()]
    if off := broker_off(moment, message):
        found = [cause for cause in found if cause.code in WITHOUT_BROKER]
        found.append(Cause("broker_disabled", (off,)))
    return sorted(found, key=lambda cause: CODES.index(cause.code))


def _is_explained(moment: Moment, message: OpenMessage) -> bool:
    codes = queue_causes(moment, message)
    return message.kind == "transmission" and ("queue_off" in codes or "transmission_status" in codes)


def _answer(moment: Moment, causes: Causes, chosen: list[OpenMessage]) -> Row:
    rows = []
    for code in CODES:
        messages = [message for message in chosen if any(cause.code == code for cause in causes[message])]
        if messages:
            rows.append(_cause_row(moment, causes, code, messages))
    rows.sort(key=lambda row: (SEVERITIES.index(row["severity"]), -row["messages"]))
    return {"situation": _situation(moment, chosen), "causes": rows}


def _severity(moment: Moment, code: str, messages: list[OpenMessage]) -> str:
    """How bad a cause of these messages is."""
    if code == "not_received":
        oldest = min(message.since for message in messages)
        return "stopped" if moment.as_of - oldest >= STOPPED_AFTER else "order"
    return SEVERITY[code]


# The situation


def _situation(moment: Moment, chosen: list[OpenMessage]) -> Row:
    """The figures of some messages."""
    waits = sorted(seconds_waited(moment, message) for message in chosen)
    states = dict.fromkeys(STATES, 0)
    levels: dict[int, int] = {}
    for message in chosen:
        states[message.state] += 1
        if message.level is not None:
            levels[message.level] = levels.get(message.level, 0) + 1
    return {
        "messages": len(chosen),
        "conversations": _conversations(chosen),
        "states": states,
        "oldest": min((message.since for message in chosen), default=None),
        "oldest_seconds": max(waits, default=None),
        "p95_seconds": percentile(waits, 0.95),
        "levels": [{"level": level, "messages": levels[level]} for level in sorted(levels, reverse=True)],
        "kinds": _count_kinds(chosen),
        "ahead": _ahead(moment, chosen),
    }


def _conversations(messages: Iterable[OpenMessage]) -> int:
    """How many there are."""
    return len({message.message.conversation_id for message in messages})


def seconds_waited(moment: Moment, message: OpenMessage) -> int:
    """Whole seconds until as_of."""
    return (moment.as_of - message.since) // timedelta(seconds=1)


def percentile(values: Sequence[int], share: float) -> float | None:
    """Interpolated between neighbours of the sorted values, at rank share * (n - 1), counted from 0."""
    if not values:
        return None
    rank = share * (len(values) - 1)
    below = floor(rank)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (rank - below)


def _count_kinds(messages: Iterable[OpenMessage]) -> list[Row]:
    """Messages by contract and services, most first."""
    counts: dict[Names, int] = {}
    for message in messages:
        counts[message.names] = counts.get(message.names, 0) + 1
    rows = [{**dict(zip(KIND, names, strict=True)), "messages": count} for names, count in counts.items()]
    return in_order(rows, KIND)


def _ahead(moment: Moment, chosen: list[OpenMessage]) -> Row | None:
    placed = [message for message in chosen if message.position is not None]
    if len({(message.kind, message.place) for message in placed}) != 1:
        return None
    placed.sort(key=lambda message: message.position or 0)
    median = placed[ceil(len(placed) / 2) - 1]
    return {"first": _ahead_of(moment, placed[0]), "median": _ahead_of(moment, median)}


def _ahead_of(moment: Moment, message: OpenMessage) -> Row:
    assert message.position is not None
    number = message.row.get("receive_number")
    return {
        "message_id": message.message_id,
        "messages": message.position - 1,
        "receives": None if number is None else number - 1,
        "kinds": _count_kinds(messages_ahead(moment, message)),
    }


# The causes


def _cause_row(moment: Moment, causes: Causes, code: str, messages: list[OpenMessage]) -> Row:
    example = min(messages, key=lambda message: (message.since, utf8(message.message_id)))
    own = [cause for message in messages for cause in causes[message] if cause.code == code]
    return {
        "code": code,
        "severity": _severity(moment, code, messages),
        "messages": len(messages),
        "conversations": _conversations(messages),
        "example_message_id": example.message_id,
        "details": _details(code, own),
    }


def _details(code: str, causes: list[Cause]) -> list[Row]:
    if code in OF_THOSE_AHEAD:
        distinct = dict.fromkeys(message for cause in causes for message in cause.ahead)
        return _count_kinds(distinct)[:MOST_OF_THOSE_AHEAD]
    counts: dict[tuple[tuple[str, Any], ...], int] = {}
    for cause in causes:
        for row in {tuple(row.items()) for row in cause.details}:
            counts[row] = counts.get(row, 0) + 1
    rows = [{**dict(row), "messages": count} for row, count in counts.items()]
    columns = [name for name in rows[0] if name != "messages"]
    rows = in_order(rows, columns)
    return sorted(rows, key=lambda row: -row["times"]) if code == "rolled_back" else rows


def in_order(rows: list[Row], columns: Sequence[str]) -> list[Row]:
    """Most messages first, then by the columns."""
    return sorted(rows, key=lambda row: (-row["messages"], *(_ordered(row[name]) for name in columns)))


def _ordered(value: Any) -> tuple[bool, Any]:
    """Strings by their UTF-8 bytes, nulls last."""
    if value is None:
        return (True, 0)
    return (False, utf8(value) if isinstance(value, str) else value)
