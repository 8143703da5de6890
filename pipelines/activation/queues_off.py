"""Sentences about queues that are off, and messages that wait for them in a transmission queue."""

from typing import Any

from pipelines.config.instants import format_instant
from pipelines.console.wording import format_count

Row = dict[str, Any]
UNKNOWN = "since_unknown"
"""In rows of queues that are off: a version that did not write since when made them."""
SINCE_UNKNOWN = "since when is not known; run the night of this as_of again"


def off_sentence(row: Row) -> str:
    """Describe a queue that is off: its messages, messages that wait for it, and the rolled-back message."""
    return "; ".join([f"{_how_off(row)}; {_what_waits(row)}", *filter(None, [rolled_back_sentence(row)])])


def waiting_sentence(row: Row) -> str:
    """Describe the messages that wait for a queue that is off in a transmission queue; empty without any."""
    if not row["waiting"]:
        return ""
    more = "more " if row["messages"] else ""
    verb = "waits" if row["waiting"] == 1 else "wait"
    return f"{row['waiting']:,} {more}{verb} for this queue, in a transmission queue of {row['instance']}"


def rolled_back_sentence(row: Row) -> str:
    """Name the message behind the rollbacks, or tell that the log has none; empty without messages."""
    poison = row["rolled_back"]
    if poison is None:
        return "the log has no RECEIVED of them that was rolled back" if row["messages"] else ""
    return (
        f"message {poison['message_id']} of conversation {poison['conversation_id']} in group "
        f"{poison['conversation_group_id']} was received and rolled back "
        f"{format_count(poison['rollbacks'], 'time')}, last at {format_instant(poison['last_received_at'])}"
    )


def _how_off(row: Row) -> str:
    if row["off_since"] is not None:
        return f"the queue has been off since {format_instant(row['off_since'])}"
    if row["seen_off_at"] is not None:
        return f"the queue was seen off at {format_instant(row['seen_off_at'])} by a snapshot"
    if row.get(UNKNOWN):
        return f"the queue is off ({SINCE_UNKNOWN})"
    return "the catalog says that the queue is off"


def _what_waits(row: Row) -> str:
    stand = "stands" if row["messages"] == 1 else "stand"
    parts = [f"{format_count(row['messages'], 'message')} {stand} in it"] if row["messages"] else []
    return " and ".join([*parts, *filter(None, [waiting_sentence(row)])])
