"""Many servers in one night: forms of the snapshot of one server, and the servers of several cases."""

import csv
import io
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import yaml
from deltalake import write_deltalake

from tests.field.running import CASES, Case, Row

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


def text_of(table: Table, *, line_end: str = "\r\n") -> str:
    """A table as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator=line_end).writerows(table)
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
            self._add(name, change, f"snap-{name.replace(' ', '-')}")
        self.case.configure(snapshots=self._entries)
        self.night = self.case.published()
        self._rows = {
            table: self.case.table(table)
            for table in TABLES
            if (self.case.folder / "warehouse" / table).exists()
        }

    def _add(self, name: str, change: Change, path: str) -> None:
        """Add a snapshot of a server, in this form."""
        snap = self.case.folder / path
        shutil.copytree(self.case.folder / self._clean["path"], snap)
        ids = self._ids(name)
        for file in snap.glob("*.csv"):
            file.write_bytes(file.read_bytes().replace(OWN_IDS.encode(), ids.encode()))
        self._entries.append({**self._clean, "path": path, "instance": name, **(change(snap) or {})})

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


class Fleet(Case):
    """A project of the servers of several cases, each under a name of its own and with ids of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._snapshots: list[Row] = []

    def add(
        self,
        name: str,
        case: str,
        settings: str = "settings.yaml",
        change: Callable[[str], str] = lambda text: text,
    ) -> Path:
        """Add the server of a case; `change` is what else its files say. Gives the folder of its snapshot."""
        [entry] = yaml.safe_load((CASES / case / settings).read_text())["snapshots"]
        number = f"{len(self._snapshots):02}"
        folder = self.folder / name
        folder.mkdir()
        for path in (CASES / case / entry["path"]).iterdir():
            text = GUID.sub(rf"{number}\1", change(path.read_text()))
            (folder / path.name).write_text(text.replace('"server":"MILL1"', f'"server":"{name}"'))
        self._snapshots.append({**entry, "path": name, **({"instance": name} if "instance" in entry else {})})
        self.configure(snapshots=self._snapshots)
        return folder


GUID = re.compile(r"\b[0-9A-Fa-f]{2}([0-9A-Fa-f]{6}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})\b")


def _is_of(value: object, name: str, ids: str) -> bool:
    return isinstance(value, str) and (value == name or ids in value)


def _as_clean(value: object, name: str, ids: str) -> object:
    return value.replace(ids, OWN_IDS).replace(name, "MILL1") if isinstance(value, str) else value


def write_as_sqlcmd(path: Path, encoding: str = "utf-16") -> None:
    """Write a clean file as `sqlcmd -u` does: padded, without quotes, with a line of dashes and a count."""
    table = [[value.replace("|", " ") or "NULL" for value in row] for row in read_csv(path)]
    widths = [max(map(len, column)) + 3 for column in zip(*table, strict=True)]
    rows = ["|".join(map(str.ljust, row, widths)) for row in table]
    lines = [rows[0], "|".join("-" * width for width in widths), *rows[1:], "", "(3 行受影响)", ""]
    path.write_bytes("\r\n".join(lines).encode(encoding))
