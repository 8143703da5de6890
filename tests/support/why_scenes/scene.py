"""What a scene is, and the short words with which scenes are written."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from tests.support.factories import Row, at, catalog, create_rule, endpoint_event, message_event, queue_event
from tests.support.model.snapshots import Snapshot

AS_OF = at(60)
BLOCKS = {"fragment_bytes": 100, "fragments": 2}
OTHER_SETTINGS: dict[str, Any] = {"top": 2, "blocks": BLOCKS, "activation_settings": None}
"""A RECEIVE takes two messages, fragments are sent in blocks, and activation is not computed."""
ONE = "talk c1, ready c1/0"
"""One conversation begun at noon, one message a minute later; the target endpoint is asked about."""


@dataclass(frozen=True)
class Scene:
    """A tiny log, and why its messages wait at as_of.

    Attributes:
        name: what the scene shows; it begins with the code that it is about.
        rows: events of all three kinds.
        rules: rule statements.
        causes: the codes of each open message in the order of the table; of a message with rows at several
            instances, the key is MESSAGE@INSTANCE.
        details: rows of details of some codes, over all messages, as `scenes` reads them.
        catalog: that of the factories unless changed.
        snapshots: server views.
        settings: top, blocks and activation_settings, where they are not the defaults.
    """

    name: str
    rows: Sequence[Row]
    rules: Sequence[Row]
    causes: Mapping[str, Sequence[str]]
    details: Mapping[str, Sequence[Mapping[str, str]]]
    catalog: Row = field(default_factory=catalog)
    snapshots: Sequence[Snapshot] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def scenes(code: str, drawing: str, **shared: Any) -> list[Scene]:
    """Scenes about a code as a reader sees them; `shared` are catalog, snapshots and settings of all.

        the first message waits as its group is locked
            talk c1, ready c1/0, RECEIVE 10 transaction=t1 of=c1, ready c1/1 2
            => c1/0: group_locked; c1/1: group_locked
            => group_locked: transaction_id=t1 since=10 messages=2

    The first line has the name. The second has the log, as `events` reads it; then come the codes of each
    message, and rows of details with commas between. Of details the columns that are named count: a moment
    is in minutes after noon, and null is -.
    """
    found: list[tuple[str, list[str]]] = []
    for line in filter(str.strip, dedent(drawing).splitlines()):
        if line[0] != " ":
            found.append((f"{code}: {line}", []))
        else:
            found[-1][1].append(line.strip())
    return [_scene(name, " ".join(body), shared) for name, body in found]


def _scene(name: str, body: str, shared: Mapping[str, Any]) -> Scene:
    log, causes, *details = body.split("=>")
    rows = events(log)
    by_message = (part.strip().partition(": ") for part in causes.split(";") if part.strip())
    by_code = (part.strip().partition(": ") for part in details)
    return Scene(
        name,
        rows=[row for row in rows if "effective_from" not in row],
        rules=[row for row in rows if "effective_from" in row],
        causes={message: codes.split(", ") for message, _, codes in by_message},
        details={
            code: [dict(word.split("=") for word in shlex.split(row)) for row in text.split(",")]
            for code, _, text in by_code
        },
        **shared,
    )


def events(text: str) -> list[Row]:
    """Events and rules, with commas between; numbers are minutes, and `contract=Gold` changes a column.

    `talk c1 0` creates both endpoints, `begin c1` and `create c1` one of them, `end c1 3` ends the initiator,
    and `move c1 3 group=g` moves it.
    `ready c1/0 1` and `sent c1/0 1` are messages of the initiator, `reply c1/0 1` arrives from the target;
    `forward c1/0 2` is accepted by HUB, and `received c1/0 t1 5` is taken in a transaction, or in none (-).
    A word in capitals is an event of the target queue, such as `RECEIVE 5 transaction=t1 of=c1`.
    `rule Gold 9 contract=Gold` is a rule of SQL1.B, or with `in=A` of SQL1.A, of long ago, or with `from=5`
    of that minute; `alter Gold 6 level=8` and `drop Gold 7` change it.
    """
    rows: list[Row] = []
    for part in filter(str.strip, text.split(",")):
        verb, *words = shlex.split(part)
        given = [word for word in words if "=" not in word]
        changes = dict(_change(*word.split("=")) for word in words if "=" in word)
        if verb.isupper():
            rows.append(on_queue(verb, float(given[0]), **changes))
        elif verb == "received":
            transaction = None if given[1] == "-" else given[1]
            rows.append(received(given[0], transaction, float(given[2]), **changes))
        else:
            rows += VERBS[verb](given[0], *map(float, given[1:]), **changes)
    return rows


WORDS = {
    "transaction": "transaction_id",
    "session": "session_id",
    "group": "conversation_group_id",
    "local": "local_service",
    "remote": "remote_service",
    "in": "database",
    "rows": "row_count",
    "logged": "logged_priority",
    "where": "has_where",
    "status": "queue_status",
}
"""Short words for columns."""


def _change(name: str, value: str) -> tuple[str, Any]:
    if name == "of":
        return "conversation_group_id", f"group {value} False"
    if name == "from":
        return "effective_from", at(float(value))
    if name in ("session", "rows", "level", "logged"):
        return WORDS.get(name, name), int(value)
    return WORDS.get(name, name), {"true": True, "false": False}.get(value, value)


def talk(conversation: str = "c1", minute: float = 0, **changes: Any) -> list[Row]:
    """A conversation that begins at a minute: its initiator in SQL1.A, its target in SQL1.B."""
    changes = {"event_time": at(minute), **changes}
    return [
        endpoint_event(event_type, conversation, **changes)
        for event_type in ("BEGIN_DIALOG", "DIALOG_CREATED")
    ]


def ready(message: str = "c1/0", minute: float = 1, **changes: Any) -> Row:
    """The arrival of a message of the initiator in the target queue, SQL1.B.TargetQueue."""
    return message_event("DELIVERED", message, event_time=at(minute), **changes)


def sent(message: str = "c1/0", minute: float = 1, **changes: Any) -> Row:
    """A message of the initiator that SQL1.A has to send."""
    return message_event("SENT", message, event_time=at(minute), **changes)


VERBS: dict[str, Callable[..., list[Row]]] = {
    "talk": talk,
    "begin": lambda *given, **changes: talk(*given, **changes)[:1],
    "create": lambda *given, **changes: talk(*given, **changes)[1:],
    "ready": lambda *given, **changes: [ready(*given, **changes)],
    "sent": lambda *given, **changes: [sent(*given, **changes)],
    "reply": lambda *given, **changes: [ready(*given, sent_by_initiator=False, **changes)],
    "end": lambda conversation, minute=0, **changes: [
        endpoint_event("END_CONVERSATION", conversation, event_time=at(minute), **changes)
    ],
    "move": lambda conversation, minute, **changes: [
        endpoint_event("MOVE_CONVERSATION", conversation, event_time=at(minute), **changes)
    ],
    "forward": lambda message, minute, instance="HUB", database="H": [
        message_event(
            "FORWARD_ACCEPTED", message, event_time=at(minute), instance=instance, database=database
        )
    ],
    "rule": lambda name, level, **changes: [rule(name, int(level), **changes)],
    "alter": lambda *given, **form: [alter(*given, **form)],
    "drop": lambda *given, **place: [drop(*given, **place)],
}


def received(message: str, transaction: str | None, minute: float, **changes: Any) -> Row:
    """A RECEIVED of a message from the target queue."""
    return message_event(
        "RECEIVED",
        message,
        event_id=f"RECEIVED {message} {transaction} {minute}",
        event_time=at(minute),
        transaction_id=transaction,
        **changes,
    )


def on_queue(event_type: str, minute: float, **changes: Any) -> Row:
    """An event of the target queue."""
    event_id = f"{event_type} {minute} {changes.get('transaction_id')}"
    return queue_event(event_type, event_id, event_time=at(minute), **changes)


def rule(name: str, level: int, **criteria: Any) -> Row:
    """A rule of SQL1.B, where the target endpoints are; long ago unless changed."""
    return create_rule(name, level, **{"database": "B", **criteria})


def drop(name: str, minute: float, database: str = "B") -> Row:
    """A DROP of a rule."""
    return {"effective_from": at(minute), "instance": "SQL1", "database": database, "drop": {"name": name}}


def alter(name: str, minute: float, database: str = "B", **form: Any) -> Row:
    """An ALTER of a rule."""
    where = {"effective_from": at(minute), "instance": "SQL1", "database": database}
    return {**where, "alter": {"name": name, **form}}
