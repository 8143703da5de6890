"""The forms in which tools save the column of the capture script: bytes of a file from a capture's lines."""

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Lines = Sequence[str]
HEADING = "capture_line"
WINDOWS, UNIX = "\r\n", "\n"
ELSEWHERE = {"of Windows": "cp1252", "of the console": "cp850", "Japanese": "cp932"}
"""Code pages in which tools write their own messages."""


@dataclass(frozen=True)
class Form:
    """How a tool saves a result.

    Attributes:
        write: the bytes of the file.
        name: the file's.
    """

    write: Callable[[Lines], bytes]
    name: str


def _affected(lines: Lines, word: str = "rows affected") -> str:
    return f"({len(lines)} {word})"


def driver(lines: Lines) -> bytes:
    """A program that writes each row as a line."""
    return "".join(line + UNIX for line in lines).encode("ascii")


def sqlcmd(lines: Lines) -> bytes:
    """Sqlcmd -y 0: no heading, no padding."""
    return WINDOWS.join([*lines, "", _affected(lines), ""]).encode("ascii")


def sqlcmd_trailing_blanks(lines: Lines) -> bytes:
    """As `sqlcmd`, with blanks behind the lines."""
    return WINDOWS.join([*(f"{line}  " for line in lines), " ", _affected(lines), ""]).encode("ascii")


def sqlcmd_pages(lines: Lines) -> bytes:
    """Sqlcmd -y 8000 -w 65535 -h 50: a heading every 50 rows, all of one width."""
    width = max(map(len, lines))
    out = []
    for first in range(0, len(lines), 50):
        out += [HEADING.ljust(width), "-" * width, *(line.ljust(width) for line in lines[first : first + 50])]
        out += [""] if first + 50 < len(lines) else []
    return WINDOWS.join([*out, "", _affected(lines), ""]).encode("ascii")


def sqlcmd_unicode(lines: Lines) -> bytes:
    """Sqlcmd -y 0 -u."""
    return b"\xff\xfe" + sqlcmd(lines).decode().encode("utf-16-le")


def go_sqlcmd(lines: Lines) -> bytes:
    """Go-sqlcmd -y 0."""
    return UNIX.join([*lines, "", _affected(lines), ""]).encode()


def sqlcmd_cut(lines: Lines) -> bytes:
    """Sqlcmd without -y: columns of more than 256 characters are cut there."""
    shown = [line[:256].ljust(256) for line in lines]
    return WINDOWS.join([HEADING.ljust(256), "-" * 256, *shown, "", _affected(lines), ""]).encode("ascii")


def sqlcmd_wrapped(lines: Lines) -> bytes:
    """Sqlcmd -y 0 -w 80: a line goes on in the next one."""
    parts = [line[at : at + 80] for line in lines for at in range(0, len(line), 80)]
    return WINDOWS.join([*parts, "", _affected(lines), ""]).encode("ascii")


def ssms_text(lines: Lines) -> bytes:
    """Management Studio, results to a file (.rpt)."""
    width = max(map(len, lines))
    shown = [HEADING.ljust(width), "-" * width, *(line.ljust(width) for line in lines)]
    ends = ["", _affected(lines), "", "", "Completion time: 2026-11-24T08:30:02.1234567+01:00", ""]
    return WINDOWS.join([*shown, *ends]).encode("utf-8-sig")


def ssms_grid(lines: Lines) -> bytes:
    """Management Studio, a grid saved as CSV with quotes; no heading."""
    return ("".join(_quoted(line) + WINDOWS for line in lines)).encode("utf-8-sig")


def ssms_grid_tabs(lines: Lines) -> bytes:
    """Management Studio, a grid saved as text between tabs, with its heading and without quotes."""
    return WINDOWS.join([HEADING, *lines, ""]).encode("utf-8-sig")


def studio_csv(lines: Lines) -> bytes:
    """Azure Data Studio and the extension of VS Code, saved as CSV."""
    return WINDOWS.join([HEADING, *map(_quoted, lines), ""]).encode()


def studio_json(lines: Lines) -> bytes:
    """Azure Data Studio and the extension of VS Code, saved as JSON."""
    return json.dumps([{HEADING: line} for line in lines], indent=4).encode()


def studio_json_one_line(lines: Lines) -> bytes:
    """The same array without blanks."""
    return json.dumps([{HEADING: line} for line in lines], separators=(",", ":")).encode()


def studio_json_spread(lines: Lines) -> bytes:
    """The same array with line ends of Windows, a mark, and brackets on lines of their own."""
    parts = [f"{{\r\n\t{json.dumps(HEADING)} :\r\n\t\t{json.dumps(line)}\r\n}}" for line in lines]
    return ("\r\n[\r\n" + "\r\n,\r\n".join(parts) + "\r\n]\r\n").encode("utf-8-sig")


def powershell_5(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Select-Object -ExpandProperty capture_line > file, Windows PowerShell 5.1."""
    return b"\xff\xfe" + WINDOWS.join([*lines, ""]).encode("utf-16-le")


def powershell_5_list(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Out-File -Width 8192: a table without -ExpandProperty, as wide as its longest line."""
    width = max(map(len, lines))
    shown = ["", HEADING.ljust(width), "-" * len(HEADING), *(line.ljust(width) for line in lines), "", ""]
    return b"\xff\xfe" + WINDOWS.join([*shown, ""]).encode("utf-16-le")


def powershell_5_csv(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Export-Csv, Windows PowerShell 5.1: the type, and further properties of a DataRow."""
    names = [HEADING, "RowError", "RowState", "Table", "ItemArray", "HasErrors"]
    rows = [[line, "", "Unchanged", "", "System.Object[]", "False"] for line in lines]
    return ("#TYPE System.Data.DataRow" + WINDOWS + _csv([names, *rows])).encode("ascii", "replace")


def powershell_5_csv_semicolons(lines: Lines) -> bytes:
    """The same with -UseCulture in a German Windows, the further properties before the line."""
    names = ["RowError", "RowState", HEADING, "HasErrors"]
    rows = [["", "Unchanged", line, "False"] for line in lines]
    return ("#TYPE System.Data.DataRow" + WINDOWS + _csv([names, *rows], ";")).encode("ascii")


def powershell_7(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Select-Object -ExpandProperty capture_line > file, PowerShell 7."""
    return WINDOWS.join([*lines, ""]).encode()


def powershell_7_csv(lines: Lines) -> bytes:
    """Invoke-Sqlcmd | Select-Object capture_line | Export-Csv, PowerShell 7."""
    return _csv([[HEADING], *([line] for line in lines)]).encode()


def powershell_table(lines: Lines) -> bytes:
    """Invoke-Sqlcmd > file, Windows PowerShell 5.1: a table that is as wide as the window."""
    shown = [line if len(line) <= 120 else line[:117] + "..." for line in lines]
    return b"\xff\xfe" + WINDOWS.join(["", HEADING, "-" * 12, *shown, "", "", ""]).encode("utf-16-le")


def powershell_7_table(lines: Lines) -> bytes:
    """The same in PowerShell 7, which writes one character in place of three dots."""
    shown = [line if len(line) <= 120 else line[:119] + "\N{HORIZONTAL ELLIPSIS}" for line in lines]
    return WINDOWS.join(["", HEADING, "-" * 12, *shown, "", ""]).encode()


def powershell_4000(lines: Lines) -> bytes:
    """Invoke-Sqlcmd without -MaxCharLength."""
    return powershell_7([line[:4000] for line in lines])


def ssms_256(lines: Lines) -> bytes:
    """Management Studio, results to text with the 256 characters a column that it has by default."""
    return ssms_text([line[:256] for line in lines])


def bcp(lines: Lines) -> bytes:
    """A file in the form of bcp -w."""
    return b"\xff\xfe" + WINDOWS.join([*lines, ""]).encode("utf-16-le")


def packed(form: Form) -> Form:
    """The same file, compressed by gzip."""
    return Form(lambda lines: gzip.compress(form.write(lines), mtime=0), form.name + ".gz")


def packed_in_parts(form: Form) -> Form:
    """The same file, in several members of gzip."""

    def write(lines: Lines) -> bytes:
        content = form.write(lines)
        half = len(content) // 2
        return gzip.compress(content[:half], mtime=0) + gzip.compress(content[half:], mtime=0)

    return Form(write, form.name + ".gz")


def in_upper_case(form: Form) -> Form:
    """The same file with another spelling of its name."""
    return Form(form.write, form.name.upper())


def shuffled(lines: Lines) -> bytes:
    """The lines between the first and the last in another order."""
    inner = list(lines[1:-1])
    random.Random(7).shuffle(inner)
    return driver([lines[0], *inner, lines[-1]])


def _encoded(encoding: str) -> Callable[[Lines], bytes]:
    return lambda lines: sqlcmd(lines).decode().encode(encoding)


def _with_notes(encoding: str) -> Callable[[Lines], bytes]:
    """Notes of a tool before and after the capture, in a code page."""
    note = {"cp932": "行が処理されました"}.get(encoding, "lignes affectées, données")

    def write(lines: Lines) -> bytes:
        before = f"Changed database context to 'Übung'. {note}" if encoding != "cp932" else note
        after = _affected(lines, note)
        return WINDOWS.join([before, "", *lines, "", after, ""]).encode(encoding)

    return write


def _quoted(line: str) -> str:
    return '"' + line.replace('"', '""') + '"'


def _csv(rows: Sequence[Sequence[str]], separator: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator=WINDOWS).writerows(rows)
    return out.getvalue()


TOOLS: Mapping[str, Form] = {
    "driver": Form(driver, "c.jsonl"),
    "sqlcmd": Form(sqlcmd, "c.txt"),
    "sqlcmd, blanks": Form(sqlcmd_trailing_blanks, "c.txt"),
    "sqlcmd, pages": Form(sqlcmd_pages, "c.out"),
    "sqlcmd -u": Form(sqlcmd_unicode, "c.txt"),
    "go-sqlcmd": Form(go_sqlcmd, "c.log"),
    "SSMS, text": Form(ssms_text, "c.rpt"),
    "SSMS, grid": Form(ssms_grid, "c.csv"),
    "SSMS, grid with tabs": Form(ssms_grid_tabs, "c.txt"),
    "Data Studio, CSV": Form(studio_csv, "c.csv"),
    "Data Studio, JSON": Form(studio_json, "c.json"),
    "Data Studio, JSON in a line": Form(studio_json_one_line, "c.json"),
    "Data Studio, JSON on many lines": Form(studio_json_spread, "c.json"),
    "PowerShell 5.1": Form(powershell_5, "c.txt"),
    "PowerShell 5.1, Out-File": Form(powershell_5_list, "c.txt"),
    "PowerShell 5.1, Export-Csv": Form(powershell_5_csv, "c.csv"),
    "PowerShell 5.1, Export-Csv -UseCulture": Form(powershell_5_csv_semicolons, "c.csv"),
    "PowerShell 7": Form(powershell_7, "c.ndjson"),
    "PowerShell 7, Export-Csv": Form(powershell_7_csv, "c.csv"),
    "bcp -w": Form(bcp, "c.out"),
}
"""Tools that keep a capture whole."""

SPELLINGS: Mapping[str, Form] = {
    **{f"UTF-16 {order}, no mark": Form(_encoded(f"utf-16-{order}"), "c.txt") for order in ("le", "be")},
    "UTF-16 BE": Form(lambda lines: b"\xfe\xff" + sqlcmd(lines).decode().encode("utf-16-be"), "c.txt"),
    "UTF-8 with a mark": Form(_encoded("utf-8-sig"), "c.json"),
    **{f"notes {name}": Form(_with_notes(encoding), "c.txt") for name, encoding in ELSEWHERE.items()},
    "another order": Form(shuffled, "c.jsonl"),
    "gzip in parts": packed_in_parts(TOOLS["sqlcmd"]),
    "gzip without its ending": Form(packed(TOOLS["driver"]).write, "c.jsonl"),
}
"""Other encodings, messages around the capture, and compression."""

FORMS: Mapping[str, Form] = {
    **TOOLS,
    **{f"{name}, gzip": packed(form) for name, form in TOOLS.items()},
    **{f"{name}, upper case": in_upper_case(packed(form)) for name, form in list(TOOLS.items())[:2]},
    **SPELLINGS,
}
"""All forms that are read."""

DAMAGING: Mapping[str, Form] = {
    "sqlcmd, 256": Form(sqlcmd_cut, "c.txt"),
    "sqlcmd -w 80": Form(sqlcmd_wrapped, "c.txt"),
    "SSMS, 256": Form(ssms_256, "c.rpt"),
    "PowerShell 5.1, table": Form(powershell_table, "c.txt"),
    "PowerShell 7, table": Form(powershell_7_table, "c.txt"),
    "Invoke-Sqlcmd, 4000": Form(powershell_4000, "c.txt"),
}
"""Tools, as they are by default, that cut or break lines."""
