"""What a scene is, and the short words with which scenes are written."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
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
from tests.support.model.moment import Moment
from tests.support.model.snapshots import Snapshot

AS_OF = at(60)
ONE_NOT_COMPUTED: dict[str, Any] = {"top": 1, "activation_settings": None}
"""A RECEIVE takes one message, and activation is not computed: scenes of either share a night."""
TWO_IN_BLOCKS = {"top": 2, "blocks": {"fragment_bytes": 100, "fragments": 2}}
"""A RECEIVE takes two messages, and fragments are sent in blocks: scenes of either share a night."""


@dataclass(frozen=True)
class Scene:
    """A tiny log, and why its messages wait at as_of.

    Attributes:
        name: what the scene shows; it begins with the code that it is about.
        rows: events of all three kinds.
        causes: the codes of each open message in the order of the table; of a message with rows at several
            instances, the key is MESSAGE@INSTANCE.
        details: the literal rows of details of some codes, over all messages.
        rules: rule statements.
        catalog: that of the factories unless changed.
        snapshots: server views.
        settings: top, starvation, blocks and activation_settings, where they are not the defaults.
        as_of: an hour after noon.
    """

    name: str
    rows: Sequence[Row]
    causes: Mapping[str, Sequence[str]]
    details: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    rules: Sequence[Row] = ()
    catalog: Row = field(default_factory=catalog)
    snapshots: Sequence[Snapshot] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    as_of: datetime = AS_OF

    @property
    def events(self) -> Events:
        """The events by source name."""
        return by_source(*self.rows)

    def moment(self) -> Moment:
        """The model's tables."""
        settings: dict[str, Any] = {"activation_settings": {}, **self.settings}
        return Moment(
            self.events,
            catalog=self.catalog,
            rules=list(self.rules),
            as_of=self.as_of,
            snapshots=self.snapshots,
            **settings,
        )


def scene(name: str, text: str, causes: str, details: Mapping[str, Sequence[Row]] = {}, **more: Any) -> Scene:
    """A scene whose log and causes are written as `events` and `causes_of` read them."""
    return Scene(name, events(text), causes_of(causes), details, **more)


def causes_of(text: str) -> dict[str, list[str]]:
    """`c1/0: older_first, not_received; c2/0: first_in_line`."""
    parts = [part.partition(": ") for part in text.split("; ") if part]
    return {message: codes.split(", ") for message, _, codes in parts}


def events(text: str) -> list[Row]:
    """Events, with commas between; numbers are minutes after noon, and `contract=Gold` changes a column.

    `talk c1 0` creates both endpoints, `begin c1` and `create c1` one of them, `end c1 3` ends the initiator.
    `ready c1/0 1` and `sent c1/0 1` are messages of the initiator, `reply c1/0 1` arrives from the target;
    `forward c1/0 2` is accepted by HUB, and `received c1/0 t1 5` is taken in a transaction, or in none (-).
    A word in capitals is an event of the target queue, such as `RECEIVE 5 transaction=t1 of=c1`.
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
    "rows": "row_count",
    "where": "has_where",
    "status": "queue_status",
}
"""Short words for columns."""


def _change(name: str, value: str) -> tuple[str, Any]:
    if name == "of":
        return "conversation_group_id", f"group {value} False"
    if name in ("session", "rows"):
        return WORDS[name], int(value)
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
    "forward": lambda message, minute, instance="HUB", database="H": [
        message_event(
            "FORWARD_ACCEPTED", message, event_time=at(minute), instance=instance, database=database
        )
    ],
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


TARGET_QUEUE = {"instance": "SQL1", "database": "B", "queue": "TargetQueue"}
TARGET_NAMES = {
    "contract": "Contract",
    "local_service": "TargetService",
    "remote_service": "InitiatorService",
}
"""Of the target endpoints."""
INITIATOR_NAMES = {
    "contract": "Contract",
    "local_service": "InitiatorService",
    "remote_service": "TargetService",
}
NO_NAMES = dict.fromkeys(TARGET_NAMES)
SPECIAL = {"contract": "Contract", "local_service": "TargetService"}
"""Criteria of the second step."""
IN_A, IN_B = ({"instance": "SQL1", "database": database} for database in "AB")
RECEIVE = {"kind": "receive", **TARGET_QUEUE}
TRANSMISSION = {"kind": "transmission", "instance": "SQL1", "database": None, "queue": None}

ONE = "talk c1, ready c1/0"
"""One conversation begun at noon, one message a minute later; the target endpoint is asked about."""


def one(name: str, rules: list[Row], *codes: str, rows: str = ONE, **more: Any) -> Scene:
    """A scene about the one message of ONE, which is the first of its queue."""
    return scene(name, rows, f"c1/0: {', '.join([*codes, 'first_in_line'])}", rules=rules, **more)


def unplaced(code: str, schedule: str, where: Row, names: Row) -> dict[str, list[Row]]:
    """The details of one message that cannot be placed."""
    return {code: [{"schedule": schedule, **where, **names, "messages": 1}]}
