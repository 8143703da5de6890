"""The forms in which tools save the column of the capture script: bytes of a file from a capture's lines."""

import csv
import gzip
import html
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Lines = Sequence[str]
HEADING = "capture_line"
WINDOWS, UNIX = "\r\n", "\n"
MARK = b"\xff\xfe"
"""Of UTF-16."""


class Form(NamedTuple):
    """How a tool saves a result: the file's name, and its bytes."""

    name: str
    write: Callable[[Lines], bytes]


def driver(lines: Lines) -> bytes:
    """A program that writes each row as a line."""
    return _text(lines, end=UNIX)


def sqlcmd(lines: Lines, encoding: str = "ascii", words: tuple[str, str] = ("", "rows affected")) -> bytes:
    """Sqlcmd -y 0: no heading, no padding; words before and after the lines."""
    before = [words[0], ""] if words[0] else []
    return _text([*before, *lines, "", _affected(lines, words[1])], encoding)


def sqlcmd_pages(lines: Lines) -> bytes:
    """Sqlcmd -y 8000 -w 65535 -h 50: a heading every 50 rows, all of one width."""
    pages = [lines[first : first + 50] for first in range(0, len(lines), 50)]
    width = max(map(len, lines))
    parts = [line for page in pages for line in ("", *_table(page, width))]
    return _text([*parts[1:], "", _affected(lines)])


def ssms_text(lines: Lines) -> bytes:
    """Management Studio, results to a file (.rpt)."""
    time = "Completion time: 2026-11-24T08:30:02.1234567+01:00"
    width = max(map(len, lines))
    return _text([*_table(lines, width), "", _affected(lines), "", "", time], "utf-8-sig")


def studio_json(lines: Lines) -> bytes:
    """Azure Data Studio and the extension of VS Code, saved as JSON."""
    return _json(_objects(lines), indent=4)


def studio_json_spread(lines: Lines) -> bytes:
    """The same array with line ends of Windows, a mark, and brackets on lines of their own."""
    parts = [f"{{\r\n\t{json.dumps(HEADING)} :\r\n\t\t{json.dumps(line)}\r\n}}" for line in lines]
    return ("\r\n[\r\n" + "\r\n,\r\n".join(parts) + "\r\n]\r\n").encode("utf-8-sig")


def powershell_5(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Select-Object -ExpandProperty capture_line > file, Windows PowerShell 5.1."""
    return MARK + _text(lines, "utf-16-le")


def powershell_5_table(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Out-File -Width 8192: without -ExpandProperty, as wide as its longest line."""
    heading, _, *rows = _table(lines, max(map(len, lines)))
    return MARK + _text(["", heading, "-" * len(HEADING), *rows, "", ""], "utf-16-le")


def powershell_5_csv(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Export-Csv, Windows PowerShell 5.1: the type, and further properties of a DataRow."""
    names = [HEADING, "RowError", "RowState", "Table", "ItemArray", "HasErrors"]
    rows = [[line, "", "Unchanged", "", "System.Object[]", "False"] for line in lines]
    return _csv([names, *rows], before="#TYPE System.Data.DataRow\r\n")


def powershell_5_semicolons(lines: Lines) -> bytes:
    """The same with -UseCulture in a German Windows, the further properties before the line."""
    names = ["RowError", "RowState", HEADING, "HasErrors"]
    rows = [["", "Unchanged", line, "False"] for line in lines]
    return _csv([names, *rows], ";", before="#TYPE System.Data.DataRow\r\n")


def powershell_window(lines: Lines, encoding: str, dots: str) -> bytes:
    """Invoke-Sqlcmd > file: a table that is as wide as the window."""
    shown = [line if len(line) <= 120 else line[: 120 - len(dots)] + dots for line in lines]
    return _text(["", HEADING, "-" * 12, *shown, ""], encoding)


def converted_to_json(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | ConvertTo-Json: all properties of a DataRow."""
    rows = [
        {"RowError": "", "RowState": 32, "Table": [], "ItemArray": [line], "HasErrors": False, HEADING: line}
        for line in lines
    ]
    return _json(rows, indent=4)


def format_list(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Format-List | Out-File -Width 9000."""
    return _text(["", *(part for line in lines for part in (f"{HEADING} : {line}", "")), ""])


def format_list_of_all(lines: Lines) -> bytes:
    """The same of Select-Object *, with all properties."""
    before = ("RowError     : ", "RowState     : Unchanged", "Table        : {}")
    rows = [
        (*before, f"ItemArray    : {{{line}}}", "HasErrors    : False", f"{HEADING} : {line}", "")
        for line in lines
    ]
    return _text([part for row in rows for part in row])


def dbeaver_json(lines: Lines, **more: int) -> bytes:
    """DBeaver, JSON: the rows below the text of the query."""
    query = "SELECT l.line AS capture_line FROM #capture_lines AS l ORDER BY l.n"
    return _json({query: _objects(lines)}, **more)


def mssql_cli(lines: Lines) -> bytes:
    """mssql-cli and other tools that draw a table."""
    width = max(map(len, lines))
    rule = f"+{'-' * (width + 2)}+"
    cells = [f"| {line.ljust(width)} |" for line in (HEADING, *lines)]
    return _text([rule, cells[0], rule, *cells[1:], rule, _affected(lines)], end=UNIX)


def in_tags(lines: Lines) -> bytes:
    """ConvertTo-Html: rows of a table."""
    rows = [f"<tr><td>{html.escape(line)}</td></tr>" for line in lines]
    heading = ["<!DOCTYPE html>", "<table>", f"<tr><th>{HEADING}</th></tr>"]
    return _text([*heading, *rows, "</table>"], end=UNIX)


def markdown(lines: Lines) -> bytes:
    rows = ["| " + line.replace("|", "\\|") + " |" for line in (HEADING, *lines)]
    return _text([rows[0], "| --- |", *rows[1:]], end=UNIX)


def sqlcmd_wrapped(lines: Lines) -> bytes:
    """Sqlcmd -y 0 -w 80: a line goes on in the next one."""
    parts = [line[at : at + 80] for line in lines for at in range(0, len(line), 80)]
    return _text([*parts, "", _affected(lines)])


def shuffled(lines: Lines) -> bytes:
    """The lines between the first and the last in another order."""
    return driver([lines[0], *random.Random(7).sample(lines[1:-1], len(lines) - 2), lines[-1]])


def packed(form: Form) -> Form:
    """The same file, compressed by gzip."""
    return Form(f"{form.name}.gz", lambda lines: gzip.compress(form.write(lines), mtime=0))


def packed_in_parts(lines: Lines) -> bytes:
    """A file of sqlcmd in two members of gzip."""
    content = sqlcmd(lines)
    half = len(content) // 2
    return b"".join(gzip.compress(part, mtime=0) for part in (content[:half], content[half:]))


def cut(lines: Lines, width: int) -> list[str]:
    return [line[:width] for line in lines]


def _text(lines: Lines, encoding: str = "ascii", end: str = WINDOWS) -> bytes:
    return "".join(line + end for line in lines).encode(encoding)


def _table(lines: Lines, width: int) -> list[str]:
    """A heading, dashes and the lines, all of one width."""
    return [HEADING.ljust(width), "-" * width, *(line.ljust(width) for line in lines)]


def _affected(lines: Lines, word: str = "rows affected") -> str:
    return f"({len(lines)} {word})"


def _quoted(lines: Lines, quote: str = '""') -> list[str]:
    return [f'"{line.replace(chr(34), quote)}"' for line in lines]


def _objects(lines: Lines) -> list[dict[str, str]]:
    return [{HEADING: line} for line in lines]


def _json(value: Any, **more: Any) -> bytes:
    return json.dumps(value, **more).encode()


def _statements(lines: Lines) -> list[str]:
    return [f"(N'{line.replace(chr(39), chr(39) * 2)}')" for line in lines]


def _csv(rows: Sequence[Sequence[str]], separator: str = ",", before: str = "") -> bytes:
    out = io.StringIO(before, newline="")
    out.seek(0, io.SEEK_END)
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue().encode()


INSERT = "INSERT INTO MY_TABLE (capture_line) VALUES"
TOOLS: Mapping[str, Form] = {
    "driver": Form("c.jsonl", driver),
    "sqlcmd": Form("c.txt", sqlcmd),
    "sqlcmd, blanks": Form("c.txt", lambda lines: sqlcmd([*(f"{line}  " for line in lines), " "])),
    "sqlcmd, pages": Form("c.out", sqlcmd_pages),
    "sqlcmd -u": Form("c.txt", lambda lines: MARK + sqlcmd(lines, "utf-16-le")),
    "go-sqlcmd": Form("c.log", lambda lines: _text([*lines, "", _affected(lines)], end=UNIX)),
    "SSMS, text": Form("c.rpt", ssms_text),
    "SSMS, grid": Form("c.csv", lambda lines: _text(_quoted(lines), "utf-8-sig")),
    "SSMS, grid with tabs": Form("c.txt", lambda lines: _text([HEADING, *lines], "utf-8-sig")),
    "grid with a tab": Form("c.txt", lambda lines: _text([f"{line}\t" for line in (HEADING, *lines)])),
    "Data Studio, CSV": Form("c.csv", lambda lines: _text([HEADING, *_quoted(lines)])),
    "Data Studio, JSON": Form("c.json", studio_json),
    "Data Studio, JSON in a line": Form(
        "c.json", lambda lines: _json(_objects(lines), separators=(",", ":"))
    ),
    "Data Studio, JSON on many lines": Form("c.json", studio_json_spread),
    "PowerShell 5.1": Form("c.txt", powershell_5),
    "PowerShell 5.1, Out-File": Form("c.txt", powershell_5_table),
    "PowerShell 5.1, Export-Csv": Form("c.csv", powershell_5_csv),
    "PowerShell 5.1, Export-Csv -UseCulture": Form("c.csv", powershell_5_semicolons),
    "PowerShell 7": Form("c.ndjson", _text),
    "PowerShell 7, Export-Csv": Form("c.csv", lambda lines: _csv([[HEADING], *([line] for line in lines)])),
    "bcp -w": Form("c.out", powershell_5),
    "ConvertTo-Json": Form("c.json", converted_to_json),
    "ConvertTo-Html": Form("c.txt", in_tags),
    "Format-List": Form("c.txt", format_list),
    "Format-List of all": Form("c.txt", format_list_of_all),
    "DBeaver, JSON": Form("c.json", lambda lines: dbeaver_json(lines, indent=1)),
    "DBeaver, JSON in a line": Form("c.json", dbeaver_json),
    # Backslashes before quotes, and only there.
    "DBeaver, CSV": Form("c.csv", lambda lines: _text(_quoted([HEADING, *lines], '\\"'), end=UNIX)),
    "mssql-cli": Form("c.txt", mssql_cli),
    "vertical": Form("c.txt", lambda lines: _text([f"{HEADING} {line}\n" for line in lines], end=UNIX)),
    "Markdown": Form("c.txt", markdown),
    "INSERT": Form(
        "c.txt", lambda lines: _text([f"{INSERT} {row};" for row in _statements(lines)], end=UNIX)
    ),
    "INSERT of many rows": Form(
        "c.txt", lambda lines: _text([INSERT, "\t" + ",\n\t".join(_statements(lines)) + ";", "GO"], end=UNIX)
    ),
    "objects in lines": Form(
        "c.jsonl", lambda lines: _text([json.dumps(each) for each in _objects(lines)], end=UNIX)
    ),
    "objects with parsed lines": Form(
        "c.jsonl", lambda lines: _text([json.dumps({HEADING: json.loads(line)}) for line in lines], end=UNIX)
    ),
    "rows as Python prints them": Form("c.txt", lambda lines: _text([repr((line,)) for line in lines])),
    "list of lists": Form(
        "c.json", lambda lines: _json({"columns": [HEADING], "data": [[line] for line in lines]})
    ),
    "list of texts": Form("c.json", lambda lines: _json(lines, indent=2)),
    "numbered CSV": Form(
        "c.csv",
        lambda lines: _text([f"{number},{line}" for number, line in enumerate(_quoted(lines))], end=UNIX),
    ),
}
"""Tools that keep a capture whole."""

NOTES = ("Base de données 'Übung'.", "lignes affectées")
FORMS: Mapping[str, Form] = {
    **TOOLS,
    **{f"{name}, gzip": packed(TOOLS[name]) for name in ("sqlcmd -u", "SSMS, grid", "Data Studio, JSON")},
    "driver, upper case": Form("C.JSONL.GZ", packed(TOOLS["driver"]).write),
    "gzip without its ending": Form("c.jsonl", packed(TOOLS["driver"]).write),
    "gzip in parts": Form("c.txt.gz", packed_in_parts),
    "UTF-16 le, no mark": Form("c.txt", lambda lines: sqlcmd(lines, "utf-16-le")),
    "UTF-16 be, no mark": Form("c.txt", lambda lines: sqlcmd(lines, "utf-16-be")),
    "UTF-16 BE": Form("c.txt", lambda lines: b"\xfe\xff" + sqlcmd(lines, "utf-16-be")),
    "UTF-8 with a mark": Form("c.json", lambda lines: sqlcmd(lines, "utf-8-sig")),
    "notes of Windows": Form("c.txt", lambda lines: sqlcmd(lines, "cp1252", NOTES)),
    "notes of the console": Form("c.txt", lambda lines: sqlcmd(lines, "cp850", NOTES)),
    "notes Japanese": Form("c.txt", lambda lines: sqlcmd(lines, "cp932", ("行が処理されました",) * 2)),
    "another order": Form("c.jsonl", shuffled),
}
"""All forms that are read: of tools, compressed, in other encodings, with messages around the capture."""

DAMAGING: Mapping[str, Form] = {
    # Without -y.
    "sqlcmd, 256": Form("c.txt", lambda lines: _text([*_table(cut(lines, 256), 256), "", _affected(lines)])),
    "sqlcmd -w 80": Form("c.txt", sqlcmd_wrapped),
    # Results to text with the 256 characters a column that it has by default.
    "SSMS, 256": Form("c.rpt", lambda lines: ssms_text(cut(lines, 256))),
    "PowerShell 5.1, table": Form("c.txt", lambda lines: MARK + powershell_window(lines, "utf-16-le", "...")),
    "PowerShell 7, table": Form(
        "c.txt", lambda lines: powershell_window(lines, "utf-8", "\N{HORIZONTAL ELLIPSIS}")
    ),
    # Without -MaxCharLength.
    "Invoke-Sqlcmd, 4000": Form("c.txt", lambda lines: _text(cut(lines, 4000))),
}
"""Tools, as they are by default, that cut or break lines."""
