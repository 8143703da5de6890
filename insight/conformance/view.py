"""A conformance check as an operator reads it on the terminal."""

from collections.abc import Mapping
from typing import Any

from config.instants import format_instant
from insight.terminal import show_rows, terminal

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
    if report["levels"]:
        rows = [
            {**row, "ours": row["priority"], "server": row["logged_priority"], "why": _why(row)}
            for row in report["levels"]
        ]
        show_rows(console, "Where levels differ, most endpoints first", rows, SHOWN)


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
