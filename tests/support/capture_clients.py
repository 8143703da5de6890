"""Further forms in which clients save a capture: tables, lists, statements, objects."""

import html
import json
from collections.abc import Mapping

from tests.support.capture_tools import HEADING, UNIX, WINDOWS, Form, Lines

INSERT = "INSERT INTO MY_TABLE (capture_line) VALUES"


def dbeaver_json(lines: Lines) -> bytes:
    """DBeaver, JSON: the rows below the text of the query."""
    query = "SELECT l.line AS capture_line FROM #capture_lines AS l ORDER BY l.n"
    return json.dumps({query: [{HEADING: line} for line in lines]}, indent=1).encode()


def dbeaver_csv(lines: Lines) -> bytes:
    """DBeaver, CSV with backslashes before quotes, and only there."""
    fields = [line.replace('"', '\\"') for line in lines]
    return _text([f'"{field}"' for field in (HEADING, *fields)])


def converted_to_json(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | ConvertTo-Json: all properties of a DataRow."""
    rows = [
        {"RowError": "", "RowState": 32, "Table": [], "ItemArray": [line], "HasErrors": False, HEADING: line}
        for line in lines
    ]
    return json.dumps(rows, indent=4).encode()


def mssql_cli(lines: Lines) -> bytes:
    """mssql-cli and other tools that draw a table."""
    width = max(map(len, lines))
    rule = f"+{'-' * (width + 2)}+"
    cells = [f"| {line.ljust(width)} |" for line in (HEADING, *lines)]
    return _text([rule, cells[0], rule, *cells[1:], rule, f"({len(lines)} rows affected)"])


def format_list(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Format-List | Out-File -Width 9000."""
    return _text(["", *(part for line in lines for part in (f"{HEADING} : {line}", "")), ""], WINDOWS)


def format_list_of_all(lines: Lines) -> bytes:
    """The same of Select-Object *, with all properties."""
    rows = [
        (
            "RowError     : ",
            "RowState     : Unchanged",
            "Table        : {}",
            f"ItemArray    : {{{line}}}",
            "HasErrors    : False",
            f"{HEADING} : {line}",
            "",
        )
        for line in lines
    ]
    return _text([part for row in rows for part in row], WINDOWS)


def in_tags(lines: Lines) -> bytes:
    """ConvertTo-Html: rows of a table."""
    rows = [f"<tr><td>{html.escape(line)}</td></tr>" for line in lines]
    return _text(["<!DOCTYPE html>", "<table>", f"<tr><th>{HEADING}</th></tr>", *rows, "</table>"])


CLIENTS: Mapping[str, Form] = {
    "DBeaver, JSON": Form("c.json", dbeaver_json),
    "DBeaver, JSON in a line": Form(
        "c.json", lambda lines: json.dumps(json.loads(dbeaver_json(lines))).encode()
    ),
    "DBeaver, CSV": Form("c.csv", dbeaver_csv),
    "ConvertTo-Json": Form("c.json", converted_to_json),
    "mssql-cli": Form("c.txt", mssql_cli),
    "Format-List": Form("c.txt", format_list),
    "Format-List of all": Form("c.txt", format_list_of_all),
    "ConvertTo-Html": Form("c.txt", in_tags),
    "vertical": Form("c.txt", lambda lines: _text([f"{HEADING} {line}\n" for line in lines])),
    "Markdown": Form(
        "c.txt",
        lambda lines: _text([f"| {HEADING} |", "| --- |", *(f"| {_escaped(line)} |" for line in lines)]),
    ),
    "INSERT": Form("c.txt", lambda lines: _text([f"{INSERT} (N'{_single(line)}');" for line in lines])),
    "INSERT of many rows": Form(
        "c.txt",
        lambda lines: _text(
            [
                INSERT,
                *(f"\t(N'{_single(line)}')," for line in lines[:-1]),
                f"\t(N'{_single(lines[-1])}');",
                "GO",
            ]
        ),
    ),
    "grid with a tab": Form(
        "c.txt", lambda lines: _text([f"{line}\t" for line in (HEADING, *lines)], WINDOWS)
    ),
    "objects in lines": Form("c.jsonl", lambda lines: _text([json.dumps({HEADING: line}) for line in lines])),
    "list of lists": Form(
        "c.json",
        lambda lines: json.dumps({"columns": [HEADING], "data": [[line] for line in lines]}).encode(),
    ),
    "list of texts": Form("c.json", lambda lines: json.dumps(lines, indent=2).encode()),
    "numbered CSV": Form(
        "c.csv",
        lambda lines: _text(
            [f'{number},"{line.replace(chr(34), chr(34) * 2)}"' for number, line in enumerate(lines)]
        ),
    ),
}
"""Clients that keep a capture whole, in a form of their own."""


def _escaped(line: str) -> str:
    return line.replace("|", "\\|")


def _single(line: str) -> str:
    return line.replace("'", "''")


def _text(lines: Lines, end: str = UNIX) -> bytes:
    return "".join(line + end for line in lines).encode()
