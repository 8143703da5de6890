"""Tell what changed between two as_ofs."""

from collections.abc import Iterator, Sequence

from pipelines.blocks.tables import DATABASE, FACT_COLUMNS, Column, Row, Table, column
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_answer
from pipelines.console.terminal import escape_line, open_console
from pipelines.console.wording import format_code, format_count, format_criteria, format_database, format_list
from pipelines.why.causes.cause import ORDER
from pipelines.why.view import format_place

MOST = 3
"""Databases that the line about conversations names."""
PLACE = Column("Place", "text", format_place, ("kind", "instance", "database", "queue"))
AT = column("At", "moment", "at")


def _criteria(head: str, key: str) -> Column:
    """Make a column of the level and criteria of a rule; null is no rule."""

    def value(row: Row) -> str | None:
        rule = row[key]
        if rule is None:
            return None
        names = [rule[name] for name in ("contract", "local_service", "remote_service")]
        return f"level {rule['level']}, {format_criteria(names)}"

    return Column(head, "text", value, (key,))


TABLES = {
    "rules": Table(
        "rules-changed",
        "Rules that changed",
        [
            column("Change", "word", "change"),
            DATABASE,
            column("Rule", "name", "name"),
            AT,
            _criteria("Old", "old"),
            _criteria("New", "new"),
        ],
    ),
    "catalog": Table(
        "catalog-changed",
        "What snapshots show otherwise",
        [
            *FACT_COLUMNS,
            AT,
            column("Old", "text", "old"),
            column("New", "text", "new"),
        ],
    ),
    "conversations": Table(
        "conversations-changed",
        "Conversations",
        [
            DATABASE,
            column("Began", "count", "begun"),
            column("Ended", "count", "gone"),
            column("Messages gone unread", "count", "unread_gone"),
        ],
    ),
    "places": Table(
        "places-changed",
        "Places",
        [
            PLACE,
            column("Messages then", "count", "messages_then"),
            column("Messages now", "count", "messages_now"),
            column("Oldest then", "duration", "oldest_seconds_then"),
            column("Oldest now", "duration", "oldest_seconds_now"),
            column("Arrived, at least", "count", "arrived_at_least"),
            column("Arrived, at most", "count", "arrived_at_most"),
            column("Received, at least", "count", "received_at_least"),
        ],
    ),
}
"""The tables of changes, by their keys in the answer."""
FINDINGS = Table(
    "findings-changed",
    "Findings",
    [
        column("Finding", "name", "code"),
        column("Severity", "word", "severity"),
        PLACE,
        column("Messages", "count", "messages"),
        column("Conversations", "count", "conversations"),
    ],
)


def print_changes(changes: Row) -> None:
    """Print the lines of `describe_changes`, and a table of each part."""
    console = open_console()
    for line in describe_changes(changes):
        console.write_line(escape_line(line))
    for part, table in TABLES.items():
        if changes[part]:
            print_answer(console, table, changes[part])
    for part, title in (("new", "New findings"), ("gone", "Findings that are gone")):
        if rows := changes["findings"][part]:
            print_answer(console, FINDINGS.with_title(title), rows)


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
        moved = ((arrived, "arrived"), (received, "was received" if received == 1 else "were received"))
        traffic = format_list([f"at least {count:,} {verb}" for count, verb in moved if count])
        yield f"{places} changed: {before} then, {now:,} now{'; ' if traffic else ''}{traffic}"
    parts = []
    for which, found in changes["findings"].items():
        if told := [
            f"{format_code(row['code'])} ({format_place(row)})" for row in found if row["severity"] != ORDER
        ]:
            parts.append(f"findings that are {which}: {format_list(told)}")
    if parts:
        yield "; ".join(parts)
    if rows := changes["rules"]:
        yield f"rules: {format_list([_rule(row) for row in rows])}"
    if rows := changes["catalog"]:
        yield f"snapshots: {format_list([_fact(row) for row in rows])}"


def _more(rows: Sequence[Row]) -> str:
    return f"; and {format_count(len(rows) - MOST, 'more database')}" if len(rows) > MOST else ""


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
    what = "" if row["attribute"] == "on" else f"{row['attribute']} of "
    return f"{what}{thing} was {old} and is {new}"
