"""Tell what changed between two as_ofs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.config.instants import format_instant
from pipelines.console.tables import print_rows
from pipelines.console.terminal import escape_line, open_console
from pipelines.console.wording import format_count, format_criteria, format_database, format_list
from pipelines.why.causes.cause import ORDER
from pipelines.why.view import format_place

Row = Mapping[str, Any]
MOST = 3
"""Databases that the line about conversations names."""
COLUMNS = {
    "rules": ("change", "instance", "database", "name", "at", "old", "new"),
    "catalog": ("instance", "database", "kind", "name", "attribute", "at", "old", "new"),
    "conversations": ("instance", "database", "begun", "gone", "unread_gone"),
    "places": (
        "kind",
        "instance",
        "database",
        "queue",
        "messages_then",
        "messages_now",
        "oldest_seconds_then",
        "oldest_seconds_now",
        "arrived_at_least",
        "arrived_at_most",
        "received_at_least",
    ),
}
OF_FINDINGS = ("code", "severity", "kind", "instance", "database", "queue", "messages", "conversations")
TITLES = {
    "rules": "Rules that changed",
    "catalog": "What snapshots show otherwise",
    "conversations": "Conversations",
    "places": "Places",
}


def print_changes(changes: Row) -> None:
    """Print the lines of `describe_changes`, and a table of each part."""
    console = open_console()
    for line in describe_changes(changes):
        console.print(escape_line(line), soft_wrap=True)
    for part, columns in COLUMNS.items():
        rows = [_with_criteria(row) for row in changes[part]]
        if rows:
            print_rows(console, TITLES[part], rows, columns)
    for part, title in (("new", "New findings"), ("gone", "Findings that are gone")):
        if rows := changes["findings"][part]:
            print_rows(console, title, rows, OF_FINDINGS)


def describe_changes(changes: Row) -> list[str]:
    """Say what changed in five lines at most; the first one says since when."""
    found = list(_lines(changes)) or ["nothing has changed"]
    return [f"since the as_of of {format_instant(changes['since'])}: {found[0]}", *found[1:]]


def _lines(changes: Row) -> Iterator[str]:
    if rows := changes["conversations"]:
        yield f"conversations: {'; '.join([_conversations(row) for row in rows[:MOST]])}{_more(rows)}"
    if rows := changes["places"]:
        names = ("messages_then", "messages_now", "arrived_at_least", "received_at_least")
        then, now, arrived, received = (sum(row[name] for row in rows) for name in names)
        places, before = format_count(len(rows), "place"), format_count(then, "message")
        yield (
            f"{places} changed: {before} then, {now:,} now; at least {arrived:,} arrived, "
            f"and at least {received:,} were received"
        )
    parts = []
    for which, found in changes["findings"].items():
        if told := [f"{row['code']} ({format_place(row)})" for row in found if row["severity"] != ORDER]:
            parts.append(f"findings that are {which}: {format_list(told)}")
    if parts:
        yield "; ".join(parts)
    if rows := changes["rules"]:
        yield f"rules: {format_list([_rule(row) for row in rows])}"
    if rows := changes["catalog"]:
        yield f"snapshots: {format_list([_fact(row) for row in rows])}"


def _more(rows: Sequence[Row]) -> str:
    return f"; and {len(rows) - MOST:,} more databases" if len(rows) > MOST else ""


def _conversations(row: Row) -> str:
    unread = row["unread_gone"]
    told = f", with {format_count(unread, 'message')} that no fact shows as received"
    database = format_database((row["instance"], row["database"]))
    return f"{row['begun']:,} began and {row['gone']:,} ended in {database}{told if unread else ''}"


def _rule(row: Row) -> str:
    return f"{row['name']!r} of {format_database((row['instance'], row['database']))} was {row['change']}"


def _fact(row: Row) -> str:
    thing = format_database((row["instance"], row["database"]))
    if row["kind"] != "database":
        thing = f"{row['kind']} {row['name']!r} of {thing}"
    old, new = (each or "not there" for each in (row["old"], row["new"]))
    return f"{row['attribute']} of {thing} was {old} and is {new}"


def _with_criteria(row: Row) -> Row:
    """The row with what a rule asks for as text."""
    return {name: _criteria(value) if isinstance(value, dict) else value for name, value in row.items()}


def _criteria(rule: Row) -> str:
    names = [rule[name] for name in ("contract", "local_service", "remote_service")]
    return f"level {rule['level']}, {format_criteria(names)}"
