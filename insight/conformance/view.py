"""A conformance check as an operator reads it on the terminal."""

from collections.abc import Mapping
from math import floor
from typing import Any

from config.instants import format_instant
from insight.terminal import show_rows, terminal
from insight.wording import counted

SHOWN = (
    "endpoints",
    "instance",
    "database",
    "contract",
    "local_service",
    "remote_service",
    "ours",
    "server",
    "why",
)


QUEUES = (
    "instance",
    "database",
    "queue",
    "decisions",
    "with_choice",
    "conforming",
    "passed",
    "fitness",
    "skill",
    "lock_skipped",
    "unexplained",
)
LINKS = (
    "sending_instance",
    "receiving_instance",
    "messages",
    "with_inversion",
    "inversions",
    "inversions_fragmented",
)
WITHOUT_QUEUE_EVENTS = (
    "The log has no queue events: every receive counts as committed, nothing is known of locks and WHERE."
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
    if not counts["logged"]:
        return "The log has no level of the server's, so there is nothing to compare."
    if not counts["differing"]:
        return (
            f"All {counts['logged']:,} endpoints whose level the server logged have the level that we found."
        )
    return (
        f"Of {counts['logged']:,} endpoints whose level the server logged, {counts['differing']:,} have "
        "another level than we found."
    )


def show(report: Mapping[str, Any]) -> None:
    """Print the answer, and the kinds of endpoints whose levels differ."""
    console = terminal()
    console.print(f"{format_instant(report['as_of'])}: {sentence(report)}", style="bold", soft_wrap=True)
    console.print(of_receives(report), style="bold", soft_wrap=True)
    if report["levels"]:
        rows = [
            {**row, "ours": row["priority"], "server": row["logged_priority"], "why": _why(row)}
            for row in report["levels"]
        ]
        show_rows(console, "Where levels differ, most endpoints first", rows, SHOWN)

    if report["queues"]:
        rows = [
            {**row, **{name: _percent(row[name]) for name in ("fitness", "skill")}}
            for row in report["queues"]
        ]
        show_rows(console, "Receives, the queues that passed most first", rows, QUEUES)
        if report["queues"][0]["lock_skipped"] is None:
            console.print(WITHOUT_QUEUE_EVENTS, soft_wrap=True)
    for row in report["deviations"]:
        console.print(f"- {deviation(row)}", soft_wrap=True)
    if report["links"]:
        show_rows(console, "Links, most inversions first", report["links"], LINKS)


def of_receives(report: Mapping[str, Any]) -> str:
    """How far the receives kept to the levels, in one sentence."""
    counts = report["receives"]
    if not counts["with_choice"]:
        return "No receive could choose between levels."
    return (
        f"Of {counts['with_choice']:,} receives that could choose between levels, {counts['conforming']:,} "
        "passed no higher one."
    )


def deviation(row: Mapping[str, Any]) -> str:
    """One decision in a sentence."""
    who = f"transaction {row['transaction_id']}" if row["transaction_id"] else "a receive"
    groups = counted(row["passed_groups"], "group")
    return (
        f"at {format_instant(row['at'])} {who} took group {row['conversation_group_id']} of {row['queue']} "
        f"at level {row['level']} while {groups} up to level {row['best_level']} were there, with message "
        f"{row['witness_message_id']}: {CLASSES[row['class']]}"
    )


def _percent(share: float | None) -> str | None:
    """Cut off, so that only what is whole shows as 100 %."""
    return None if share is None else f"{floor(share * 1000) / 10:.1f} %"


def _why(row: Mapping[str, Any]) -> str:
    """The explanation in words."""
    rule = row["explaining_rule"]
    match row["explanation"]:
        case "other_version":
            off = row["off_by_seconds"]
            when = (
                f"which was not valid by {off:,.6g} s" if off else "which was valid, but another rule decides"
            )
            version = format_instant(row["explaining_valid_from"])
            return f"{rule!r} from {version} gives that level, {when}: look at its effective_from"
        case "near_miss":
            return f"{rule!r} gives that level, but a name differs in case or blanks"
        case "default_on_server":
            return "the server found no rule: a rule source is ahead of the server, or its moment is wrong"
        case "rule_unknown":
            return "we know no rule for it: a rule source is missing"
        case _:
            return "no rule that we know gives that level"
