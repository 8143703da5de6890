"""The one spelling of ids that are GUIDs."""

from typing import Any

from .vocabulary import Row

IDS = ("conversation_id", "message_id", "conversation_handle", "conversation_group_id")
MADE_UP = ("initiator", "target", "unknown")
"""What follows the GUID in an id that was made of it."""


def canonical(id: Any) -> Any:
    """A GUID in upper case without braces, also at the start of a made-up id; all else as it is."""
    if not isinstance(id, str):
        return id
    head, slash, tail = id.partition("/")
    if slash and tail.split("/")[0] not in MADE_UP:
        return id
    bare = head[1:-1] if head[:1] + head[-1:] == "{}" else head
    lengths = [len(part) for part in bare.split("-")]
    if lengths != [8, 4, 4, 4, 12] or set(bare) - set("0123456789abcdefABCDEF-"):
        return id
    return bare.upper() + slash + tail


def canonical_ids(row: Row) -> Row:
    """The row with its ids in their one spelling."""
    return row | {name: canonical(row[name]) for name in IDS if name in row}
