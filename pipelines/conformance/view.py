"""A conformance check: its tables, and its sentences on the console."""

from collections.abc import Mapping
from typing import Any

from pipelines.blocks.tables import KIND_COLUMNS, Column, Table, column, place_column
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_answer, print_cut
from pipelines.console.terminal import Terminal, open_console
from pipelines.console.wording import format_count, format_queue

QUEUES = Table(
    "conformance-queues",
    "Receives by queue, those that passed most first",
    [
        place_column("Queue"),
        column("Receives", "count", "decisions"),
        column("Could choose", "count", "with_choice"),
        column("Passed nothing", "count", "conforming"),
        column("Groups passed", "count", "passed"),
        column("Fitness", "share", "fitness"),
        column("Skill", "share", "skill"),
        column("Higher one locked", "count", "lock_skipped"),
        column("Unexplained", "count", "unexplained"),
    ],
    first="that passed most",
)
DEVIATIONS = Table(
    "conformance-deviations",
    "Receives that passed a higher level, the worst first",
    [
        place_column("Queue"),
        column("At", "moment", "at"),
        column("Why", "word", "class"),
        column("Level", "level", "level"),
        column("Best level", "level", "best_level"),
        column("Groups passed", "count", "passed_groups"),
        column("Group taken", "id", "conversation_group_id"),
        column("Transaction", "id", "transaction_id"),
        column("First message passed", "id", "witness_message_id"),
    ],
    first="worst",
)
"""On the page; the console has a sentence for each."""
LINKS = Table(
    "conformance-links",
    "Links, most inversions first",
    [
        column("From", "name", "sending_instance"),
        column("To", "name", "receiving_instance"),
        column("Messages", "count", "messages"),
        column("Overtook a higher level", "count", "with_inversion"),
        column("Inversions", "count", "inversions"),
        column("Of several fragments", "count", "inversions_fragmented"),
    ],
    first="with most inversions",
    empty="no message went from one instance to another.",
)
LEVELS = Table(
    "conformance-levels",
    "Where levels differ, most endpoints first",
    [
        column("Endpoints", "count", "endpoints"),
        place_column("Database", ("instance", "database")),
        *KIND_COLUMNS,
        column("Our level", "level", "priority"),
        column("Server's level", "level", "logged_priority"),
        Column("Why", "text", lambda row: why(row)),
    ],
)
SENDS = Table(
    "conformance-sends",
    "Sends that a trace shows, most inversions first",
    [
        column("Instance", "name", "instance"),
        column("Compared", "count", "messages"),
        column("Messages", "count", "all_messages"),
        column("Share", "share", "share"),
        column("Overtook a higher level", "count", "with_inversion"),
        column("Inversions", "count", "inversions"),
    ],
)
WITHOUT_QUEUE_EVENTS = (
    "The log has no queue events: every receive counts as committed, nothing is known of locks and WHERE. "
    "A receive that passed a higher level may have been right."
)
CLASSES = {
    "where_clause": "it asked for a conversation or a group, so levels did not count",
    "own_group": "its transaction held that group already",
    "logged_level": "by the levels that the server logged it is right",
    "timing": "they had just become free",
    "other_lock": "a statement of theirs held each of them",
    "unexplained": "no lock, no WHERE, unexplained",
}


def sentence(report: Mapping[str, Any]) -> str:
    """The answer in one sentence."""
    counts = report["endpoints"]
    own = _of_server(counts)
    if not counts["logged"]:
        return own or "The log has no level of the server's, so there is nothing to compare."
    return f"{_compared(counts)} {own}".rstrip()


def _of_server(counts: Mapping[str, int]) -> str:
    """The sentence about levels that cannot be checked, because only snapshots show them."""
    if not counts["of_server"]:
        return ""
    differing = counts["differing_today"]
    verb = "differs" if differing == 1 else "differ"
    return (
        f"The levels of {format_count(counts['of_server'], 'endpoint')} are not checkable: these levels "
        "are the "
        f"server's own, shown by a snapshot; {format_count(differing, 'endpoint')} {verb} from today's rules."
    )


def _compared(counts: Mapping[str, int]) -> str:
    if not counts["differing"]:
        return (
            f"All {counts['logged']:,} endpoints whose level the server logged have the level that we found."
        )
    return (
        f"Of {counts['logged']:,} endpoints whose level the server logged, {counts['differing']:,} have "
        "another level than we found."
    )


def print_conformance(report: Mapping[str, Any], *, wide: bool = False) -> None:
    """Print the answer, and the kinds of endpoints whose levels differ."""
    console = open_console(wide=wide)
    console.write_line(f"{format_instant(report['as_of'])}: {sentence(report)}", style="bold")
    console.write_line(receives_sentence(report), style="bold")
    _print_parts(console, report, {"levels": LEVELS, "queues": QUEUES})
    for row in report["deviations"]:
        console.write_line(f"- {deviation_sentence(row)}")
    print_cut(console, report["deviations"], report["deviations_in_all"], "receive")
    _print_parts(console, report, {"links": LINKS, "sends": SENDS})


def _print_parts(console: Terminal, report: Mapping[str, Any], tables: Mapping[str, Table]) -> None:
    for part, table in tables.items():
        if report[part]:
            print_answer(console, table, report[part])
            print_cut(console, report[part], report[f"{part}_in_all"], "row")


def receives_sentence(report: Mapping[str, Any]) -> str:
    """The answer about receives in one sentence."""
    counts = report["receives"]
    if not report["has_receives"]:
        return "The log has no RECEIVED events: whether receives kept to the levels is not known."
    if not counts["decisions"]:
        return "No receive without WHERE from a queue of the catalog was logged in that time."
    answer = choice_sentence(counts)
    if not report["has_queue_events"]:
        return f"{answer} {WITHOUT_QUEUE_EVENTS}"
    silent = report["silent_queues"]
    if not silent:
        return answer
    verb = "has" if silent == 1 else "have"
    return (
        f"{answer} {format_count(silent, 'queue')} {verb} no RECEIVE, COMMIT or ROLLBACK events: nothing "
        "is known "
        "of locks and WHERE there."
    )


def choice_sentence(counts: Mapping[str, int]) -> str:
    """How many of the receives that could choose passed no higher level."""
    if not counts["with_choice"]:
        return "No receive could choose between levels."
    return (
        f"Of {counts['with_choice']:,} receives that could choose between levels, {counts['conforming']:,} "
        "passed no higher one."
    )


def deviation_sentence(row: Mapping[str, Any]) -> str:
    """A deviation in one sentence; without events of its queue locks and WHERE are unknown."""
    is_known = row["locks_known"] or row["class"] != "unexplained"
    why = CLASSES[row["class"]] if is_known else "unexplained; locks and WHERE are not known"
    who = f"transaction {row['transaction_id']}" if row["transaction_id"] else "a receive"
    groups = format_count(row["passed_groups"], "group")
    were = "was" if row["passed_groups"] == 1 else "were"
    return (
        f"at {format_instant(row['at'])} {who} took group {row['conversation_group_id']} of "
        f"{format_queue(row)} at level {row['level']} while {groups} up to level {row['best_level']} {were} "
        f"there, with message {row['witness_message_id']}: {why}"
    )


def why(row: Mapping[str, Any]) -> str:
    """Say in words why the server's level of a kind may differ."""
    rule = row["explaining_rule"]
    match row["explanation"]:
        case "other_version":
            off = row["off_by_seconds"]
            when = (
                f"which was not valid by {off:,.6g} s" if off else "which was valid, but another rule decides"
            )
            version = format_instant(row["explaining_valid_from"])
            if row["first_seen"]:
                return f"{rule!r}, first seen at {version}, gives that level; it may be older than that"
            return f"{rule!r} from {version} gives that level, {when}: look at its effective_from"
        case "near_miss":
            return f"{rule!r} gives that level, but a name differs in case or blanks"
        case "default_on_server":
            return "the server found no rule: a rule source is ahead of the server, or its moment is wrong"
        case "rule_unknown":
            return "we know no rule for it: a rule source is missing"
        case _:
            return "no rule that we know gives that level"
