"""Between which snapshots a message has gone, and what became of it as far as they show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.config.instants import format_instant
from pipelines.engine.frames import small_frame
from pipelines.explain.message_state import find_last_receive
from pipelines.explain.read import read_endpoint_events, read_endpoints
from pipelines.state.endpoints import SIDE
from pipelines.state.fates import ARE_BINDINGS, MOVED, RECEIVED, RECEIVED_OR_DROPPED, find_fates
from pipelines.state.messages import ARRIVALS
from pipelines.storage.collect import collect_rows
from pipelines.storage.snapshots.newest import read_complete_endpoints
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDS, LEFT, QUEUE_FACTS
from schemas.outputs import CATALOG_HISTORY

Row = Mapping[str, Any]
SENT, SENT_OR_DROPPED = "sent", "sent_or_dropped"
OR_DROPPED = "_or_dropped"
"""The end of a fate where snapshots do not show the endpoint any more."""
OF_HOLDER = (*SIDE, "instance", "database", "local_service", "ended_at")
GONE = (
    "message_id string, since timestamp, by timestamp, conversation_id string, is_initiator boolean, "
    "instance string, database string, local_service string, ended_at timestamp"
)
OF_EVENT = (*SIDE, "event_type", "seen_at", "state")
EVENTS = "conversation_id string, is_initiator boolean, event_type string, seen_at timestamp, state string"


@dataclass(frozen=True)
class Gone:
    """A message that a snapshot lacks or whose endpoint it shows ended, by absence from a complete view.

    Attributes:
        since: the last snapshot, or logged fact, that shows it.
        by: the snapshot that does not.
        fate: received, sent (from a transmission queue), one of both with `_or_dropped`, or moved: its
            service had another queue by then.
        with_conversation: whether the endpoint that held it had ended by then, too.
    """

    since: datetime
    by: datetime
    fate: str
    with_conversation: bool

    def plain(self) -> dict[str, Any]:
        """The values for programs."""
        return {"from": self.since, "to": self.by, "fate": self.fate}

    def sentence(self) -> str:
        """What is known, in words."""
        between = f"between {format_instant(self.since)} and {format_instant(self.by)}"
        if self.fate == RECEIVED:
            return f"it was received {between}, as far as captures show"
        if self.fate == SENT:
            return f"it was sent {between}, as far as captures show"
        if self.fate == MOVED:
            return f"it is gone {between}: its service had another queue by then"
        done = self.fate.removesuffix(OR_DROPPED)
        gone, end = f"it is gone {between}", "an end of its conversation"
        if self.with_conversation:
            gone, end = f"{gone}, with its conversation", "its end"
        return f"{gone}: {done}, or dropped by {end}; which of the two is not known"


def find_gone(warehouse: Warehouse, events: Sequence[Row], known: Row, as_of: datetime) -> Gone | None:
    """Find between which snapshots a message has gone.

    Args:
        warehouse: what to read.
        events: all events of the message.
        known: its conversation_id and sent_by_initiator.
        as_of: only events before it count.

    Returns:
        None if it has not gone, or a log says when.
    """
    before = [event for event in events if event["event_time"] < as_of]
    absent = [event for event in before if event["inferred"] and event["event_type"] in ("RECEIVED", LEFT)]
    seen = [event for event in before if not event["inferred"]]
    if not seen or find_last_receive(seen, warehouse.read(QUEUE_FACTS), as_of=as_of):
        return None
    arrived = any(event["event_type"] in ARRIVALS for event in seen)
    # The endpoint that held it: the receiving one in a queue, else the sending one.
    side = known["sent_by_initiator"] != arrived
    endpoint_events = read_endpoint_events(warehouse, known["conversation_id"])
    since = max(event["shown_until"] or event["seen_at"] or event["event_time"] for event in seen)
    if absent:
        first = min(absent, key=lambda event: event["event_time"])
        since, by = first["not_before"] or since, first["seen_at"]
    else:
        # An end of the receiver drops what is on its way to it, too.
        ends = [
            event
            for event in endpoint_events
            if event["event_type"] in ENDS
            and event["event_time"] < as_of
            and event["is_initiator"] != known["sent_by_initiator"]
        ]
        if not ends:
            return None
        first = min(ends, key=lambda event: event["event_time"])
        if first["seen_at"] is None or first["seen_at"] <= since:
            return None
        by = first["seen_at"]
    holder = next(
        (row for row in read_endpoints(warehouse, known["conversation_id"]) if row["is_initiator"] == side),
        None,
    )
    fate, has_ended = RECEIVED_OR_DROPPED, False
    if holder is not None:
        fate, decided_at = _find_fate(warehouse, holder, endpoint_events, since, by)
        has_ended = holder["ended_at"] is not None and holder["ended_at"] < (decided_at or by)
    if not arrived:
        fate = SENT_OR_DROPPED if fate == RECEIVED_OR_DROPPED else SENT
    return Gone(since, by, fate, with_conversation=has_ended)


def _find_fate(
    warehouse: Warehouse, endpoint: Row, endpoint_events: Sequence[Row], since: datetime, by: datetime
) -> tuple[str, datetime | None]:
    """`find_fates` of a message that this endpoint held: its fate, and the moment that decides."""
    row = ("", since, by, *[endpoint[name] for name in OF_HOLDER])
    gone = small_frame(warehouse.spark, [row], GONE)
    events = small_frame(
        warehouse.spark, ([each[name] for name in OF_EVENT] for each in endpoint_events), EVENTS
    )
    bindings = warehouse.read(CATALOG_HISTORY).where(ARE_BINDINGS)
    [found] = collect_rows(find_fates(gone, read_complete_endpoints(warehouse), events, bindings))
    return found["fate"], found["decided_at"]
