"""Two nights with a bit of everything, and what their tables are when nothing happens to them."""

import csv
import io
import json
import shutil
from collections.abc import Iterable
from datetime import datetime
from pprint import pformat

import pyarrow as pa
import pyarrow.parquet as pq

from schemas import CONTRACTS
from tests.support.factories import Events, Row, at
from tests.support.harness import SOURCES, Project, marked
from tests.support.inputs import ARROW
from tests.support.small_project import a_bit_of_everything, night_after
from tests.support.warehouses import changed, contents

ENGINE = "embedded"
FIRST, SECOND = at(60), at(60, day=1)
BOOKS = {"path", "batch", "fold", "closed_on", "length"}
"""Columns that say in which files and nights events came; the rest must not depend on it."""
OF_BATCHES = {"files", "batches"}


def first_night() -> Events:
    """The events of the first night that typed files can hold: all but those that are no events."""
    return _known(a_bit_of_everything())


def second_night() -> Events:
    """Those of the second."""
    return _known(night_after())


def _known(events: Events) -> Events:
    return {source: [row for row in rows if row["event_type"] != "OTHER"] for source, rows in events.items()}


def of_marks(events: Events, marks: Iterable[str]) -> Events:
    """The events once for each mark, of instances of their own."""
    there = list(marks)
    return {source: [marked(row, mark) for mark in there for row in rows] for source, rows in events.items()}


def content(source: str, rows: Iterable[Row], format: str) -> bytes:
    """The rows as a file."""
    names = [column.name for column in CONTRACTS[source].columns]
    if format == "json":
        return "".join(json.dumps(_texts(row), ensure_ascii=False) + "\n" for row in rows).encode()
    if format == "csv":
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_texts(row) for row in rows)
        return text.getvalue().encode()
    schema = pa.schema([(column.name, ARROW[column.type]) for column in CONTRACTS[source].columns])
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema), out)
    return out.getvalue()


def put(project: Project, name: str, events: Events, format: str = "json") -> None:
    """Add events as one more file per input."""
    for source in SOURCES:
        (project.folder / source / name).write_bytes(content(source, events[source], format))


def tables(project: Project) -> dict[str, list[str]]:
    """The content of all tables, without what tells in which files and nights events came."""
    found = contents(project, leave_out=BOOKS)
    return {name: rows for name, rows in found.items() if name not in OF_BATCHES}


def require_equal(expected: dict[str, list[str]], project: Project, but: Iterable[str] = ()) -> None:
    """Nothing was lost and nothing was added."""
    found = tables(project)
    different = {name: rows for name, rows in changed(expected, found).items() if name not in set(but)}
    assert different == {}, pformat(different)


class Saved:
    """A warehouse as it was, to start from again and again."""

    def __init__(self, project: Project) -> None:
        self.warehouse, self.copy = project.folder / "warehouse", project.folder / "saved"
        shutil.copytree(self.warehouse, self.copy)

    def restore(self) -> None:
        """Put it back."""
        shutil.rmtree(self.warehouse, ignore_errors=True)
        shutil.copytree(self.copy, self.warehouse)


def _texts(row: Row) -> Row:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}
