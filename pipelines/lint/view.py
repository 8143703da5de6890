"""Write findings as text on a terminal and as plain values."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pipelines.console.tables import Sheet, print_table
from pipelines.console.terminal import Terminal
from pipelines.console.wording import format_count, format_database
from pipelines.lint.findings import Finding, Severity

COLUMNS = ("severity", "code", "where", "finding, and what to do")


def from_here(path: str) -> str:
    """A file's path as seen from the current folder, which is the root of the checkout; / parts it.

    On Windows a file on another drive can't be seen from there, and keeps its path.
    """
    try:
        return os.path.relpath(path).replace(os.sep, "/")
    except ValueError:
        return path.replace(os.sep, "/")


def relative(finding: Finding) -> Finding:
    """Return the finding with its file relative to the current folder."""
    if finding.location is None:
        return finding
    return replace(finding, location=replace(finding.location, file=from_here(finding.location.file)))


def plain(finding: Finding) -> dict[str, Any]:
    """Return the finding as plain values."""
    instance, database = finding.database_key
    location = finding.location
    return {
        "code": finding.code.id,
        "severity": str(finding.severity),
        "instance": instance,
        "database": database,
        "rule": finding.rule,
        "file": location and location.file,
        "line": location and location.line,
        "column": location and location.column,
        "sentence": finding.sentence,
        "fix": finding.fix,
    }


def print_findings(console: Terminal, findings: Sequence[Finding]) -> None:
    """Print findings as a table, and how many there are of each severity."""
    if not findings:
        console.print("no findings")
        return
    rows = []
    for finding in findings:
        place = finding.location
        where = f"{place.file}:{place.line}" if place else format_database(finding.database_key)
        told = f"{finding.sentence}\nfix: {finding.fix}".split("\n")
        rows.append((str(finding.severity), finding.code.id, where, tuple(told)))
    print_table(console, "", Sheet(COLUMNS, rows, range(len(rows))))
    counts = [
        format_count(sum(finding.severity is each for finding in findings), str(each))
        for each in sorted(Severity, reverse=True)
    ]
    console.print(", ".join(counts))
