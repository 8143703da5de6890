"""Exports of views as tools write them, made of a clean one."""

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

Table = list[list[str]]
Write = Callable[[Path, Table], None]


def read_clean(path: Path) -> Table:
    """The header and rows of a clean CSV file."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.reader(file))


def text_of(
    table: Table, separator: str = ",", *, quoting: int = csv.QUOTE_MINIMAL, line_end: str = "\r\n"
) -> str:
    """A table as CSV."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=line_end).writerows(table)
    return out.getvalue()


def _written(make: Callable[[Table], bytes]) -> Write:
    def write(path: Path, table: Table) -> None:
        path.write_bytes(make(table))

    return write


def _null_words(table: Table) -> Table:
    return [table[0], *[[value or "NULL" for value in row] for row in table[1:]]]


def _sqlcmd(table: Table, separator: str, *, is_padded: bool, note: str) -> str:
    """As sqlcmd does it: no quotes, a line of dashes, a count of rows; padded unless -W."""
    rows = [[value.replace(separator, " ") for value in row] for row in _null_words(table)]
    widths = [max(map(len, column)) + 3 for column in zip(*rows, strict=True)]
    if not is_padded:
        widths = [len(name) for name in rows[0]]
    lines = [
        separator.join(value.ljust(width) for value, width in zip(row, widths, strict=True)) for row in rows
    ]
    if not is_padded:
        lines = [separator.join(row) for row in rows]
    dashes = separator.join("-" * width for width in widths)
    return "\r\n".join([lines[0], dashes, *lines[1:], "", note, ""])


def _export_csv(table: Table, separator: str = ",", *, has_type: bool = True) -> str:
    more = [[*table[0], "RowError", "HasErrors"], *[[*row, "", "False"] for row in table[1:]]]
    start = "#TYPE System.Data.DataRow\r\n" if has_type else ""
    return start + text_of(more, separator, quoting=csv.QUOTE_ALL)


def _other_case(table: Table) -> Table:
    return [[name.upper() for name in table[0]], *table[1:]]


def _with_index(table: Table) -> Table:
    return [["", *table[0]], *[[str(number), *row] for number, row in enumerate(table[1:])]]


def _packed(path: Path, table: Table) -> None:
    path.unlink()
    Path(f"{path}.gz").write_bytes(gzip.compress(text_of(table).encode()))


READABLE: dict[str, Write] = {
    "ssms-csv": _written(lambda table: b"\xef\xbb\xbf" + text_of(_null_words(table)).encode()),
    "ssms-tabs": _written(lambda table: b"\xef\xbb\xbf" + text_of(_null_words(table), "\t").encode()),
    "sqlcmd-W": _written(
        lambda table: _sqlcmd(table, ";", is_padded=False, note="(3 rows affected)").encode()
    ),
    "sqlcmd-padded": _written(
        lambda table: _sqlcmd(table, "|", is_padded=True, note="(3 Zeilen betroffen)").encode()
    ),
    "sqlcmd-french": _written(
        lambda table: _sqlcmd(table, ";", is_padded=True, note="(3 lignes affectées)").encode("cp850")
    ),
    "sqlcmd-u": _written(
        lambda table: (
            b"\xff\xfe" + _sqlcmd(table, "|", is_padded=False, note="(3 行受影响)").encode("utf-16-le")
        )
    ),
    "export-csv-5": _written(lambda table: _export_csv(table).encode()),
    "export-csv-semicolon": _written(lambda table: _export_csv(table, ";", has_type=False).encode()),
    "export-csv-unicode": _written(lambda table: b"\xff\xfe" + _export_csv(table, "\t").encode("utf-16-le")),
    "big-endian": _written(lambda table: b"\xfe\xff" + text_of(table).encode("utf-16-be")),
    "excel": _written(lambda table: ("sep=;\r\n" + text_of(table, ";")).encode("utf-8-sig")),
    "upper-case": _written(lambda table: text_of(_other_case(table)).encode()),
    "pandas-index": _written(lambda table: text_of(_with_index(table), line_end="\n").encode()),
    "blank-lines": _written(lambda table: ("\r\n" + text_of(table) + "\r\n\r\n   \r\n").encode()),
    "mysql-null": _written(
        lambda table: text_of([table[0], *[[each or r"\N" for each in row] for row in table[1:]]]).encode()
    ),
    "empty-quotes": _written(lambda table: text_of(table, quoting=csv.QUOTE_ALL).encode()),
    "braces": _written(
        lambda table: text_of(
            [[f"{{{each.lower()}}}" if each.count("-") == 4 else each for each in row] for row in table]
        ).encode()
    ),
    "gzip": _packed,
}
"""How tools write a table that is read as the clean one is."""
