"""Snapshots of one server in many forms: each is of a server of its own, and one night takes them all."""

import csv
import io
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import yaml
from deltalake import write_deltalake

from tests.field.running import AS_OF, Case, Row

CLEAN = "field-12-idle-server-crash"
QUEUE = "dbo.MillQueue"
TABLES = (
    *("message_events", "endpoint_events", "queue_events", "endpoints", "queue_monitors"),
    *("receive_schedule", "transmission_schedule", "unresolved", "priority_rules", "snapshots"),
)
OWN_IDS = "-0000-4000-8000-"
"""What is in the middle of each id of the cases."""

Table = list[list[str]]
Change = Callable[[Path], Row | None]
"""Makes a form of the folder of a clean snapshot; gives what else of its entry in the settings changes."""


def read_csv(path: Path) -> Table:
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


def write_texts(path: Path, change: Callable[[str], str]) -> None:
    """Change the text of a file, and keep its line ends."""
    path.write_bytes(change(path.read_bytes().decode()).encode())


def leave_header(path: Path) -> None:
    """Make it the file of a view without rows."""
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])


def convert(path: Path, format: str) -> None:
    """Write a CSV file as another format, with texts only."""
    header = path.read_text(encoding="utf-8-sig").splitlines()[0].split(",")
    types = pc.ConvertOptions(column_types=dict.fromkeys(header, "string"), strings_can_be_null=True)
    table = pc.read_csv(path, convert_options=types)
    path.unlink()
    if format == "delta":
        write_deltalake(str(path.with_suffix(".delta")), table)
    else:
        pq.write_table(table, path.with_suffix(".parquet"))


class Servers:
    """A project with a snapshot for each form, of an instance of this name, whose ids are its own."""

    def __init__(self, case: Case, forms: Mapping[str, Change]) -> None:
        self.case, self.names = case, list(forms)
        [self._clean] = yaml.safe_load(Path(case.config).read_text())["snapshots"]
        self._entries: list[Row] = []
        for name, change in forms.items():
            # A folder without blanks: the embedded engine opens no Delta table in another.
            self.add(name, change, path=f"snap-{name.replace(' ', '-')}")
        self.publish()

    def add(self, name: str, change: Change, **own: str) -> None:
        """Add a snapshot of a server, in this form; `own` is what is its own in its entry in the settings."""
        snap = self.case.folder / own["path"]
        shutil.copytree(self.case.folder / self._clean["path"], snap)
        ids = self._ids(name)
        for path in snap.glob("*.csv"):
            path.write_bytes(path.read_bytes().replace(OWN_IDS.encode(), ids.encode()))
        self._entries.append({**self._clean, **own, "instance": name, **(change(snap) or {})})

    def publish(self, as_of: str = AS_OF) -> None:
        """Run a night on the snapshots, and read its tables."""
        self.case.configure(snapshots=self._entries)
        self.night = self.case.published(as_of)
        self._rows = {
            table: self.case.table(table)
            for table in TABLES
            if (self.case.folder / "warehouse" / table).exists()
        }

    def rows(self, table: str, name: str) -> list[Row]:
        """The rows of a server with the clean snapshot's ids."""
        ids, columns = self._ids(name), ("instance", "id")
        own = [row for row in self._rows[table] if any(_is_of(row.get(each), name, ids) for each in columns)]
        return [
            {column: _as_clean(value, name, ids) for column, value in row.items() if column != "run_id"}
            for row in own
        ]

    def tables(self, name: str) -> dict[str, list[str]]:
        """All that is known of a server, without the moments of the run itself."""
        return {
            table: sorted(repr(sorted(row.items())) for row in self.rows(table, name))
            for table in self._rows
            if table != "snapshots"
        }

    def _ids(self, name: str) -> str:
        return f"-{self.names.index(name) + 1:04d}-4000-8000-"


def _is_of(value: object, name: str, ids: str) -> bool:
    return isinstance(value, str) and (value == name or ids in value)


def _as_clean(value: object, name: str, ids: str) -> object:
    return value.replace(ids, OWN_IDS).replace(name, "MILL1") if isinstance(value, str) else value


# --- How tools write a table ---


def _null_words(table: Table) -> Table:
    return [table[0], *[[value or "NULL" for value in row] for row in table[1:]]]


def _sqlcmd(table: Table, separator: str, *, is_padded: bool, note: str) -> str:
    """As sqlcmd does it: no quotes, a line of dashes, a count of rows; padded unless -W."""
    rows = [[value.replace(separator, " ") for value in row] for row in _null_words(table)]
    widths = [
        max(map(len, column)) + 3 if is_padded else len(column[0]) for column in zip(*rows, strict=True)
    ]
    lines = [
        separator.join(
            value.ljust(width if is_padded else 0) for value, width in zip(row, widths, strict=True)
        )
        for row in rows
    ]
    dashes = separator.join("-" * width for width in widths)
    return "\r\n".join([lines[0], dashes, *lines[1:], "", note, ""])


def _export_csv(table: Table, separator: str = ",", *, has_type: bool = True) -> str:
    more = [[*table[0], "RowError", "HasErrors"], *[[*row, "", "False"] for row in table[1:]]]
    start = "#TYPE System.Data.DataRow\r\n" if has_type else ""
    return start + text_of(more, separator, quoting=csv.QUOTE_ALL)


def _upper_case(table: Table) -> str:
    return text_of([[name.upper() for name in table[0]], *table[1:]])


def _with_index(table: Table) -> str:
    rows = [["", *table[0]], *[[str(number), *row] for number, row in enumerate(table[1:])]]
    return text_of(rows, line_end="\n")


def _mysql_null(table: Table) -> str:
    return text_of([table[0], *[[each or r"\N" for each in row] for row in table[1:]]])


def _braces(table: Table) -> str:
    return text_of(
        [[f"{{{each.lower()}}}" if each.count("-") == 4 else each for each in row] for row in table]
    )


UTF_8, UTF_16, UTF_16_BE = (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")
NO_MARK = (b"", "utf-8")
TOOLS: dict[str, tuple[tuple[bytes, str], Callable[[Table], str]]] = {
    "ssms-csv": (UTF_8, lambda table: text_of(_null_words(table))),
    "ssms-tabs": (UTF_8, lambda table: text_of(_null_words(table), "\t")),
    "sqlcmd-W": (NO_MARK, lambda table: _sqlcmd(table, ";", is_padded=False, note="(3 rows affected)")),
    "sqlcmd-padded": (
        NO_MARK,
        lambda table: _sqlcmd(table, "|", is_padded=True, note="(3 Zeilen betroffen)"),
    ),
    "sqlcmd-french": (
        (b"", "cp850"),
        lambda table: _sqlcmd(table, ";", is_padded=True, note="(3 lignes affectées)"),
    ),
    "sqlcmd-u": (UTF_16, lambda table: _sqlcmd(table, "|", is_padded=False, note="(3 行受影响)")),
    "export-csv-5": (NO_MARK, _export_csv),
    "export-csv-semicolon": (NO_MARK, lambda table: _export_csv(table, ";", has_type=False)),
    "export-csv-unicode": (UTF_16, lambda table: _export_csv(table, "\t")),
    "big-endian": (UTF_16_BE, text_of),
    "excel": (UTF_8, lambda table: "sep=;\r\n" + text_of(table, ";")),
    "upper-case": (NO_MARK, _upper_case),
    "pandas-index": (NO_MARK, _with_index),
    "blank-lines": (NO_MARK, lambda table: "\r\n" + text_of(table) + "\r\n\r\n   \r\n"),
    "mysql-null": (NO_MARK, _mysql_null),
    "empty-quotes": (NO_MARK, lambda table: text_of(table, quoting=csv.QUOTE_ALL)),
    "braces": (NO_MARK, _braces),
}
"""Byte order mark, encoding and text of a table that is read as the clean one is."""


def write_as(tool: str, path: Path) -> None:
    """Write a clean file as a tool does."""
    (mark, encoding), text = TOOLS[tool]
    path.write_bytes(mark + text(read_csv(path)).encode(encoding))
