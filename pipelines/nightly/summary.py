"""Print the summary of a run: the verdict, findings and what to do, what waits, and what changed."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.blocks.tables import Column, Table, age_column, column
from pipelines.changes.view import describe_changes
from pipelines.config.instants import format_instant
from pipelines.console.invocation import command_line
from pipelines.console.tables import print_answer, print_cut
from pipelines.console.terminal import Terminal, open_console
from pipelines.console.wording import finding_lines, format_count
from pipelines.expectations.view import print_expectations
from pipelines.nightly.report import read_summary
from pipelines.questions.tables import INPUTS
from pipelines.questions.view import (
    print_received,
    print_sent,
    print_statuses,
    print_unresolved,
)
from pipelines.settings.load import Settings
from pipelines.storage.ages import Ages
from pipelines.storage.warehouse import Warehouse
from pipelines.why.report import Findings
from pipelines.why.view import format_place

Row = dict[str, Any]
MOST_WAITING = 6
"""Queues and sending instances that are printed."""
MOST_FINDINGS = 5
"""Notes and changes that are printed."""


def print_summary(
    warehouse: Warehouse,
    settings: Settings,
    as_of: datetime,
    first: Findings,
    ages: Ages,
    *,
    wide: bool = False,
    verbose: bool = False,
) -> None:
    """Print the summary of a published as_of, with its first findings, to standard output.

    Args:
        warehouse: the tables.
        settings: what holds at this as_of.
        as_of: the instant.
        first: its findings.
        ages: how old the facts of databases are.
        wide: whether ids and columns are left whole.
        verbose: whether more notes, counts of events and the first rows of the schedules follow.
    """
    found = read_summary(warehouse, settings, as_of, first.off, is_whole=verbose)
    command = partial(_command, settings, as_of)
    console = open_console(wide=wide)
    for line in ages.lines():
        console.write_line(line)
    console.write_line(first.verdict, style="bold")
    if found.changes is not None:
        for line in describe_changes(found.changes):
            console.write_line(line)
    _print_findings(console, first, command)
    _print_waits(console, found.waits, as_of, command)
    _print_changes(console, found.shown_changes, command)
    if found.leaks:
        console.write_line(f"{found.leaks}: {command('leaks')}")
    print_statuses(console, found.statuses)
    print_cut(console, found.statuses, found.statuses_in_all, "kind", command("waiting"))
    print_unresolved(console, found.unresolved, settings.catalog, settings.catalog_path)
    if found.notes:
        console.print("Note", style="bold")
    shown = found.notes if verbose else found.notes[:MOST_FINDINGS]
    for note in shown:
        console.write_line(f"- {note}")
    if more_notes := len(found.notes) - len(shown):
        console.write_line(f"and {format_count(more_notes, 'more note')}: nightly --verbose prints all")
    if found.expectations:
        print_expectations(console, found.expectations, as_of)
    if verbose:
        print_answer(console, INPUTS, found.events)
        for where, rows in found.received:
            print_received(console, f"First rows of receive_schedule, {where}", rows)
        for where, rows in found.sent:
            print_sent(console, f"First rows of transmission_schedule, {where}", rows)
    console.write_line(f"Tables: {warehouse.root}. Next:")
    for name, *options in _questions(found.waits):
        console.write_line(f"  {command(name, *options)}")


def _print_findings(console: Terminal, first: Findings, command: Callable[..., str]) -> None:
    if first.told:
        console.print("Look at first", style="bold")
    for finding in first.told:
        for line in finding_lines(finding, f"{finding['severity'].capitalize()}. {format_place(finding)}: "):
            console.write_line(line)
    if first.more:
        console.write_line(f"{first.more}: {command('why')}")


def _print_waits(
    console: Terminal, waits: Sequence[Row], as_of: datetime, command: Callable[..., str]
) -> None:
    if not waits:
        console.write_line(f"No queue and no instance has a message that waits at {format_instant(as_of)}.")
        return
    columns = [
        column("Where", "text", "where"),
        column("Messages", "count", "messages"),
        # Of locked groups and of queues that are off; of an instance, those that wait for such a queue.
        Column("Locked or off", "count", lambda row: row["held"] or None, ("held",)),
        column("Highest level", "level", "level"),
        age_column("Oldest waits", "oldest", as_of),
    ]
    table = Table("waiting", f"Waiting at {format_instant(as_of)}", columns)
    print_answer(console, table, waits[:MOST_WAITING])
    if len(waits) > MOST_WAITING:
        more = format_count(len(waits) - MOST_WAITING, "more place")
        console.write_line(f"and {more}: {command('waiting')}")


def _print_changes(console: Terminal, changes: Sequence[str], command: Callable[..., str]) -> None:
    if changes:
        console.print("Changed between snapshots", style="bold")
    for change in changes[:MOST_FINDINGS]:
        console.write_line(f"- {change}")
    if len(changes) > MOST_FINDINGS:
        more = format_count(len(changes) - MOST_FINDINGS, "more change")
        console.write_line(f"and {more}: {command('differences')}")


def _questions(waits: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Commands with options for further questions, about a queue that there is."""
    yield ("why",)
    yield ("waiting",)
    for row in [row for row in waits if "queue" in row][:1]:
        yield "next", "--queue", row["where"]
    yield "report", "--out", "page.html"


def _command(settings: Settings, as_of: datetime, name: str, *options: str) -> str:
    return command_line(name, *options, "--as-of", format_instant(as_of), config=settings.path)
