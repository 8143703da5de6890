"""Ids that are GUIDs, in every spelling; made-up ids; and ids that only look like GUIDs."""

from random import Random

from hypothesis import strategies as st

from .base import Row, one_of

IDS = ("conversation_id", "message_id", "conversation_handle", "conversation_group_id")
GUID = "AA00000B-000C-4D00-8E00-0000000F{:04}"
LOOK_ALIKES = (
    "aa00000b-000c-4d00-8e00-0000000f{:03}g",
    "aa00000b-000c-4d00-8e00-0000000f{:03}\u0131",
    "{{{:036}}}",
)
"""No GUIDs for one character, and so other ids than themselves in upper case."""


@st.composite
def with_guids(draw: st.DrawFn, sources: list[list[Row]]) -> list[list[Row]]:
    """The rows of all sources with about half of their ids replaced, each id by the same one everywhere."""
    known = dict.fromkeys(row[name] for rows in sources for row in rows for name in IDS if row.get(name))
    replaced = {id: draw(_replaced(id, number)) for number, id in enumerate(known)}
    return [
        [row | {name: replaced[row[name]] for name in IDS if row.get(name)} for row in rows]
        for rows in sources
    ]


@st.composite
def _replaced(draw: st.DrawFn, id: str, number: int) -> str:
    form = one_of(draw, ("as it is", "as it is", "guid", "guid", "made up", "look-alike"))
    if form == "as it is":
        return id
    if form == "look-alike":
        return one_of(draw, LOOK_ALIKES).format(number)
    return GUID.format(number) + (f"/target/m{number}" if form == "made up" else "")


def is_guid(id: str) -> bool:
    """Whether an id of a log is one of the GUIDs above, or is made of one, in its first spelling."""
    return id[8:9] == "-" and id[:36] == id[:36].upper() and id[36:37] in ("", "/")


def spelled(row: Row, random: Random) -> Row:
    """The row with each of its GUIDs in some spelling."""
    guids = {name: row[name] for name in IDS if row.get(name) and is_guid(row[name])}
    return row | {name: _spelling(guid[:36], random) + guid[36:] for name, guid in guids.items()}


def _spelling(guid: str, random: Random) -> str:
    case = random.choice((str.upper, str.upper, str.lower, str.capitalize))
    braces = random.choice(("{}", "{}", "{{{}}}"))
    return braces.format(case(guid))
