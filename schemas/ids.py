"""Ids that are GUIDs: one id whatever their case or braces, in every input, table and option."""

import re

from pyspark.sql import Column, functions as F

IDS = ("conversation_id", "message_id", "conversation_handle", "conversation_group_id")
"""The columns of inputs and views that hold such ids. event_id and transaction_id stay as they are."""

_BARE = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_GUID = rf"^(?:{_BARE}|\{{{_BARE}\}})(?:/(?:initiator|target|unknown)(?:/(?s:.*))?)?\z"
"""A GUID, or an id that this project makes of one: `GUID/target/3`, `GUID/unknown`."""
_BARE_LENGTH = 36
_BRACED_LENGTH = 38


def canonical_id(id: Column) -> Column:
    """The id as tables have it: a GUID, and one inside a made-up id, in upper case without braces.

    Any other text, and null, stays as it is. GUIDs that are in that form already are the common case: they
    cost a comparison, and the regular expression is for the others.
    """
    length = F.octet_length(id)
    is_braced = F.startswith(id, F.lit("{"))
    is_other_spelling = (
        F.when(length == _BARE_LENGTH, id != F.upper(id))
        .when(length == _BRACED_LENGTH, is_braced)
        .otherwise((length > _BRACED_LENGTH) & F.contains(id, F.lit("/")))
    )
    bare = F.when(
        is_braced,
        F.concat(F.substr(id, F.lit(2), F.lit(_BARE_LENGTH)), F.substr(id, F.lit(_BRACED_LENGTH + 1))),
    ).otherwise(id)
    spelled = F.concat(
        F.upper(F.substr(bare, F.lit(1), F.lit(_BARE_LENGTH))), F.substr(bare, F.lit(_BARE_LENGTH + 1))
    )
    return F.when(is_other_spelling, F.when(id.rlike(_GUID), spelled).otherwise(id)).otherwise(id)


def canonical_text(id: str) -> str:
    """The same for one id in Python, such as an id of the command line."""
    if not _PATTERN.fullmatch(id):
        return id
    bare = id[1 : _BARE_LENGTH + 1] + id[_BRACED_LENGTH:] if id.startswith("{") else id
    return bare[:_BARE_LENGTH].upper() + bare[_BARE_LENGTH:]


def is_guid(id: str | None) -> bool:
    """Whether an id is a GUID as servers write it, without a part that this project adds."""
    return id is not None and re.fullmatch(_BARE, id) is not None


_PATTERN = re.compile(_GUID.removeprefix("^").removesuffix(r"\z"))
