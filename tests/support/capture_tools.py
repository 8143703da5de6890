"""The forms in which tools save the column of the capture script: bytes of a file from a capture's lines."""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

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


def sqlcmd(lines: Lines, encoding: str = "ascii") -> bytes:
    """Sqlcmd -y 0: no heading, no padding."""
    return _text([*lines, "", _affected(lines)], encoding)


def sqlcmd_pages(lines: Lines) -> bytes:
    """Sqlcmd -y 8000 -w 65535 -h 50: a heading every 50 rows, all of one width."""
    pages = [lines[first : first + 50] for first in range(0, len(lines), 50)]
    width = max(map(len, lines))
    parts = [line for page in pages for line in ("", *_table(page, width))]
    return _text([*parts[1:], "", _affected(lines)])


def sqlcmd_cut(lines: Lines) -> bytes:
    """Sqlcmd without -y: columns of more than 256 characters are cut there."""
    return _text([*_table([line[:256] for line in lines], 256), "", _affected(lines)])


def sqlcmd_wrapped(lines: Lines) -> bytes:
    """Sqlcmd -y 0 -w 80: a line goes on in the next one."""
    parts = [line[at : at + 80] for line in lines for at in range(0, len(line), 80)]
    return _text([*parts, "", _affected(lines)])


def ssms_text(lines: Lines) -> bytes:
    """Management Studio, results to a file (.rpt)."""
    time = "Completion time: 2026-11-24T08:30:02.1234567+01:00"
    width = max(map(len, lines))
    return _text([*_table(lines, width), "", _affected(lines), "", "", time], "utf-8-sig")


def studio_json(lines: Lines) -> bytes:
    """Azure Data Studio and the extension of VS Code, saved as JSON."""
    return json.dumps([{HEADING: line} for line in lines], indent=4).encode()


def studio_json_in_a_line(lines: Lines) -> bytes:
    """The same array without blanks."""
    return json.dumps([{HEADING: line} for line in lines], separators=(",", ":")).encode()


def studio_json_spread(lines: Lines) -> bytes:
    """The same array with line ends of Windows, a mark, and brackets on lines of their own."""
    parts = [f"{{\r\n\t{json.dumps(HEADING)} :\r\n\t\t{json.dumps(line)}\r\n}}" for line in lines]
    return ("\r\n[\r\n" + "\r\n,\r\n".join(parts) + "\r\n]\r\n").encode("utf-8-sig")


def powershell_5(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Select-Object -ExpandProperty capture_line > file, Windows PowerShell 5.1."""
    return MARK + _text(lines, "utf-16-le")


def powershell_5_table(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Out-File -Width 8192: without -ExpandProperty, as wide as its longest line."""
    width = max(map(len, lines))
    heading, _, *rows = _table(lines, width)
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


def powershell_window(lines: Lines) -> bytes:
    """Invoke-Sqlcmd > file, Windows PowerShell 5.1: a table that is as wide as the window."""
    shown = [line if len(line) <= 120 else f"{line[:117]}..." for line in lines]
    return MARK + _text(["", HEADING, "-" * 12, *shown, "", ""], "utf-16-le")


def powershell_7_window(lines: Lines) -> bytes:
    """The same in PowerShell 7, which writes one character in place of three dots."""
    shown = [line if len(line) <= 120 else f"{line[:119]}\N{HORIZONTAL ELLIPSIS}" for line in lines]
    return _text(["", HEADING, "-" * 12, *shown, ""], "utf-8")


def shuffled(lines: Lines) -> bytes:
    """The lines between the first and the last in another order."""
    return driver([lines[0], *random.Random(7).sample(lines[1:-1], len(lines) - 2), lines[-1]])


def with_notes(encoding: str, before: str, after: str) -> Form:
    """Notes of a tool before and after the capture, in a code page."""
    return Form("c.txt", lambda lines: _text([before, "", *lines, "", _affected(lines, after)], encoding))


def packed(form: Form) -> Form:
    """The same file, compressed by gzip."""
    return Form(f"{form.name}.gz", lambda lines: gzip.compress(form.write(lines), mtime=0))


def packed_in_parts(lines: Lines) -> bytes:
    """A file of sqlcmd in two members of gzip."""
    content = sqlcmd(lines)
    half = len(content) // 2
    return b"".join(gzip.compress(part, mtime=0) for part in (content[:half], content[half:]))


def _text(lines: Lines, encoding: str = "ascii", end: str = WINDOWS) -> bytes:
    return "".join(line + end for line in lines).encode(encoding)


def _table(lines: Lines, width: int) -> list[str]:
    """A heading, dashes and the lines, all of one width."""
    return [HEADING.ljust(width), "-" * width, *(line.ljust(width) for line in lines)]


def _affected(lines: Lines, word: str = "rows affected") -> str:
    return f"({len(lines)} {word})"


def _quoted(lines: Lines) -> list[str]:
    return ['"' + line.replace('"', '""') + '"' for line in lines]


def _csv(rows: Sequence[Sequence[str]], separator: str = ",", before: str = "") -> bytes:
    out = io.StringIO(before, newline="")
    out.seek(0, io.SEEK_END)
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue().encode()


TOOLS: Mapping[str, Form] = {
    "driver": Form("c.jsonl", driver),
    "sqlcmd": Form("c.txt", sqlcmd),
    "sqlcmd, blanks": Form(
        "c.txt", lambda lines: _text([*(f"{line}  " for line in lines), " ", _affected(lines)])
    ),
    "sqlcmd, pages": Form("c.out", sqlcmd_pages),
    "sqlcmd -u": Form("c.txt", lambda lines: MARK + sqlcmd(lines, "utf-16-le")),
    "go-sqlcmd": Form("c.log", lambda lines: _text([*lines, "", _affected(lines)], end=UNIX)),
    "SSMS, text": Form("c.rpt", ssms_text),
    "SSMS, grid": Form("c.csv", lambda lines: _text(_quoted(lines), "utf-8-sig")),
    "SSMS, grid with tabs": Form("c.txt", lambda lines: _text([HEADING, *lines], "utf-8-sig")),
    "Data Studio, CSV": Form("c.csv", lambda lines: _text([HEADING, *_quoted(lines)])),
    "Data Studio, JSON": Form("c.json", studio_json),
    "Data Studio, JSON in a line": Form("c.json", studio_json_in_a_line),
    "Data Studio, JSON on many lines": Form("c.json", studio_json_spread),
    "PowerShell 5.1": Form("c.txt", powershell_5),
    "PowerShell 5.1, Out-File": Form("c.txt", powershell_5_table),
    "PowerShell 5.1, Export-Csv": Form("c.csv", powershell_5_csv),
    "PowerShell 5.1, Export-Csv -UseCulture": Form("c.csv", powershell_5_semicolons),
    "PowerShell 7": Form("c.ndjson", _text),
    "PowerShell 7, Export-Csv": Form("c.csv", lambda lines: _csv([[HEADING], *([line] for line in lines)])),
    "bcp -w": Form("c.out", powershell_5),
}
"""Tools that keep a capture whole."""

FORMS: Mapping[str, Form] = {
    **TOOLS,
    **{
        f"{name}, gzip": packed(TOOLS[name])
        for name in (
            "sqlcmd, pages",
            "sqlcmd -u",
            "SSMS, grid",
            "Data Studio, JSON",
            "PowerShell 5.1, Export-Csv",
        )
    },
    "driver, upper case": Form("C.JSONL.GZ", packed(TOOLS["driver"]).write),
    "gzip without its ending": Form("c.jsonl", packed(TOOLS["driver"]).write),
    "gzip in parts": Form("c.txt.gz", packed_in_parts),
    "UTF-16 le, no mark": Form("c.txt", lambda lines: sqlcmd(lines, "utf-16-le")),
    "UTF-16 be, no mark": Form("c.txt", lambda lines: sqlcmd(lines, "utf-16-be")),
    "UTF-16 BE": Form("c.txt", lambda lines: b"\xfe\xff" + sqlcmd(lines, "utf-16-be")),
    "UTF-8 with a mark": Form("c.json", lambda lines: sqlcmd(lines, "utf-8-sig")),
    "notes of Windows": with_notes("cp1252", "Base de données 'Übung'.", "lignes affectées"),
    "notes of the console": with_notes("cp850", "Base de données 'Übung'.", "lignes affectées"),
    "notes Japanese": with_notes("cp932", "行が処理されました", "行が処理されました"),
    "another order": Form("c.jsonl", shuffled),
}
"""All forms that are read: of tools, compressed, in other encodings, with messages around the capture."""

DAMAGING: Mapping[str, Form] = {
    "sqlcmd, 256": Form("c.txt", sqlcmd_cut),
    "sqlcmd -w 80": Form("c.txt", sqlcmd_wrapped),
    # Results to text with the 256 characters a column that it has by default.
    "SSMS, 256": Form("c.rpt", lambda lines: ssms_text([line[:256] for line in lines])),
    "PowerShell 5.1, table": Form("c.txt", powershell_window),
    "PowerShell 7, table": Form("c.txt", powershell_7_window),
    # Without -MaxCharLength.
    "Invoke-Sqlcmd, 4000": Form("c.txt", lambda lines: _text([line[:4000] for line in lines])),
}
"""Tools, as they are by default, that cut or break lines."""
