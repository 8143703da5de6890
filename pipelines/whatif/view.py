"""A what-if: its tables, and its sentences on the console."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pipelines.blocks.tables import Column, Row, Table, column, place_column
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import name_parts, queue_text
from pipelines.console.invocation import command_line
from pipelines.console.tables import print_answer, print_cut
from pipelines.console.terminal import Terminal, open_console
from pipelines.console.wording import format_count
from pipelines.lint.findings import Finding, Severity
from pipelines.whatif.answers import ALWAYS, DEPLOYMENT, INSTANT
from pipelines.whatif.report import SCOPES
from pipelines.whatif.request import TODAY

MOST_FINDINGS = 3
COMPARED = (
    "This compares the backlog as it was, not as it would have become under the proposed rules: replay "
    "plays that."
)
SUMMARY = Table(
    "whatif-summary",
    "Who gains and who pays",
    [
        Column("Name", "name", lambda row: _name(row), ("name", "dimension")),
        column("By", "word", "dimension"),
        column("Order", "word", "kind"),
        column("Messages", "count", "messages"),
        column("Earlier", "count", "gained"),
        column("Later", "count", "lost"),
        column("Largest gain", "count", "largest_gain"),
        column("Largest loss", "count", "largest_loss"),
        column("Median move", "count", "median_moved"),
    ],
    first="that change most",
    empty="no message moves.",
)


def _name(row: Row) -> str | None:
    """The name of a row of the summary; queues and instances are written as everywhere."""
    name: str | None = row["name"]
    parts = name_parts(name) if name and row["dimension"] in SCOPES else []
    return queue_text(parts) if parts else name


MOVES = Table(
    "whatif-moves",
    "The largest moves",
    [
        place_column("Queue"),
        column("Order", "word", "kind"),
        column("Message", "id", "message_id"),
        column("From", "count", "position_before"),
        column("To", "count", "position_after"),
        column("Moved", "count", "moved"),
        column("Level before", "level", "level_before"),
        column("Level after", "level", "level_after"),
    ],
    first="largest",
)
MOST_SCOPES = 8
ALL_ROWS = "--out writes all"


def sentence(report: Mapping[str, Any]) -> str:
    """The answer in one sentence."""
    endpoints, messages = report["endpoints"], report["messages"]
    is_by_today = report.get("baseline") == TODAY
    changed = endpoints["proposal"] + (0 if is_by_today else endpoints["drift"])
    if not changed and not messages["gained"]:
        return "The proposal changes no level and no order."
    drift = f", {endpoints['drift']:,} of them to what today's rules give too" if endpoints["drift"] else ""
    if is_by_today:
        drift = ""
    return (
        f"The proposal changes the level of {format_count(changed, 'endpoint')}{drift}: "
        f"of {messages['messages']:,} messages {messages['gained']:,} come earlier and "
        f"{messages['lost']:,} later."
    )


def sentences(
    answers: Mapping[str, Mapping[str, Any]], as_if: datetime | None, baseline: str | None = None
) -> list[str]:
    """The answers that a what-if begins with: both in one line, then each in words.

    Args:
        answers: `answers`.
        as_if: the instant of the third of them, if there is one.
        baseline: what the proposal is compared with; None is the recorded levels.
    """
    now, later = (sum(answers[name]["endpoints"].values()) for name in (DEPLOYMENT, ALWAYS))
    drift = answers[ALWAYS]["endpoints"]["drift"]
    if baseline == TODAY:
        later -= drift
    messages = answers[DEPLOYMENT]["messages"]
    moves = "no message moves"
    if messages["gained"] or messages["lost"]:
        moves = (
            f"by the other settings, of {messages['messages']:,} messages {messages['gained']:,} come "
            f"earlier and {messages['lost']:,} later"
        )
    change = "changes" if now == 1 else "change"
    lines = [
        f"If deployed now: {format_count(now, 'endpoint')} {change}. "
        f"Once the existing conversations have ended: {later:,}.",
        f"At the moment of deployment existing endpoints keep their levels: {moves}.",
        f"Once the existing conversations have ended: {sentence({**answers[ALWAYS], 'baseline': baseline})}",
    ]
    if baseline == TODAY and drift:
        have = "has" if drift == 1 else "have"
        lines.append(
            f"{format_count(drift, 'endpoint')} {have} another level than today's rules give (drift)."
        )
    if as_if is not None and INSTANT in answers:
        lines.append(f"As if deployed at {format_instant(as_if)}: {sentence(answers[INSTANT])}")
    return lines


def print_whatif(report: Mapping[str, Any], findings: Sequence[Finding], *, wide: bool = False) -> None:
    """Print the answers, who gains and who pays, the largest moves, and what lint says of the proposal."""
    console = open_console(wide=wide)
    at = format_instant(report["as_of"])
    as_if = report["as_if"]
    instant = as_if if isinstance(as_if, datetime) else None
    for each in sentences(report["answers"], instant, report["baseline"]):
        console.write_line(each, style="bold")
    if report["baseline"] == TODAY:
        console.write_line(
            "Before is the order by today's rules, so positions may differ from the published schedule; "
            "--baseline recorded compares with that."
        )
    console.write_line(COMPARED)
    if since := report["batches_since"]:
        console.write_line(
            f"Events that came in after it was published are not counted (batches: {since:,}); "
            f"run {command_line('schedules', '--as-of', at)} to have them counted."
        )
    moved = [row for row in report["summary"] if row["gained"] or row["lost"]]
    if moved:
        _print_moves(console, moved, report)
    _print_findings(console, findings)


def _print_moves(console: Terminal, moved: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> None:
    # Gains and losses are printed by level, then by queue and instance.
    for title, dimensions in ((f"{SUMMARY.title}, by level before", ("level",)), ("Where", SCOPES)):
        rows = [row for row in moved if row["dimension"] in dimensions][:MOST_SCOPES]
        in_all = sum(report["moved_in_all"].get(each, 0) for each in dimensions)
        print_answer(console, SUMMARY.with_title(title), rows)
        print_cut(console, rows, {"rows": in_all}, "row", ALL_ROWS)
    print_answer(console, MOVES, report["largest_moves"])
    print_cut(console, report["largest_moves"], report["largest_moves_in_all"], "message", ALL_ROWS)


def _print_findings(console: Terminal, findings: Sequence[Finding]) -> None:
    if not findings:
        return
    counts = [
        format_count(count, str(severity))
        for severity in sorted(Severity, reverse=True)
        if (count := sum(finding.severity is severity for finding in findings))
    ]
    console.write_line(f"Lint finds {' and '.join(counts)} in the proposal:", style="bold")
    worst = sorted(findings, key=lambda finding: -finding.severity)[:MOST_FINDINGS]
    for finding in worst:
        console.write_line(f"  {finding.severity} {finding.code.id}: {finding.sentence}")
