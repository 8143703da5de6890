"""Write findings as text on a terminal, as plain values, and as SARIF 2.1.0 for code hosts and editors."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from pipelines.blocks.tables import Column, Row, Table, column
from pipelines.console.tables import print_answer
from pipelines.console.terminal import Terminal
from pipelines.console.wording import format_count, format_database
from pipelines.lint.findings import Finding, FindingCode, Severity


def _where(row: Row) -> str:
    if row["file"]:
        return f"{row['file']}:{row['line']}"
    return format_database((row["instance"], row["database"]))


def split_fix(fix: str) -> tuple[str, str]:
    """The words of a fix, and its statements, which stand below the table: there they can be pasted."""
    words, _, statements = fix.partition("\n")
    return words, statements


FINDINGS = Table(
    "lint",
    "",
    [
        column("Severity", "word", "severity"),
        column("Code", "name", "code"),
        Column("Where", "text", _where, ("file", "line", "instance", "database")),
        Column(
            "Finding, and what to do",
            "lines",
            lambda row: (row["sentence"], f"fix: {split_fix(row['fix'])[0]}"),
            ("sentence", "fix"),
        ),
    ],
    is_last=lambda row: True,
)


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
    """Print findings as a table, statements of fixes below it, and how many there are of each severity."""
    if not findings:
        console.print("no findings")
        return
    print_answer(console, FINDINGS, map(plain, findings))
    for finding in findings:
        words, statements = split_fix(finding.fix)
        if statements:
            console.write_line(f"-- {finding.code.id} of {format_database(finding.database_key)}: {words}")
            for line in statements.split("\n"):
                console.write_line(line)
    counts = [
        format_count(sum(finding.severity is each for finding in findings), str(each))
        for each in sorted(Severity, reverse=True)
    ]
    console.print(", ".join(counts))


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_CODES = list(FindingCode)


def sarif(findings: Iterable[Finding], *, version: str, settings_file: str) -> dict[str, Any]:
    """Return a SARIF log with one run, as plain values for JSON.

    Args:
        findings: in the order of the log; their files are relative to where the log is
            read, which is the root of the checkout.
        version: of this program.
        settings_file: the file of findings without a location; relative as well.
    """
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "conversation-priorities",
                        "semanticVersion": version,
                        "rules": [_rule(code) for code in _CODES],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, settings_file) for finding in findings],
            }
        ],
    }


def _rule(code: FindingCode) -> dict[str, Any]:
    return {
        "id": code.id,
        "name": code.name.title().replace("_", ""),
        "shortDescription": {"text": code.meaning},
        "defaultConfiguration": {"level": str(code.severity)},
    }


def _result(finding: Finding, settings_file: str) -> dict[str, Any]:
    location = finding.location
    physical_location: dict[str, Any] = {
        "artifactLocation": {
            "uri": quote(location.file if location else settings_file),
            "uriBaseId": "%SRCROOT%",
        }
    }
    if location:
        physical_location["region"] = {"startLine": location.line, "startColumn": location.column}
    instance, database = finding.database_key
    return {
        "ruleId": finding.code.id,
        "ruleIndex": _CODES.index(finding.code),
        "level": str(finding.severity),
        "message": {"text": f"{finding.sentence}. Fix: {finding.fix}"},
        "locations": [{"physicalLocation": physical_location}],
        "properties": {"instance": instance, "database": database, "rule": finding.rule},
    }
