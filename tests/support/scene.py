"""Two nights with a bit of everything, and what their tables are when nothing happens to them."""

import shutil
from collections.abc import Iterable
from pprint import pformat

from tests.support.factories import Events, at
from tests.support.harness import SOURCES, Project, marked
from tests.support.inputs import arrow_schema, write_rows
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


def put(project: Project, name: str, events: Events) -> None:
    """Add events as one more file per input, in the format that its name ends with."""
    for source in SOURCES:
        write_rows(project.folder / source / name, events[source], arrow_schema(source))


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
