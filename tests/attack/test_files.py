"""Input files that are cut, spoilt, moved or changed: they are refused or rejected by name, or taken whole.

Each attack hits a file of message events that comes in the second night. It is taken in; then the file is
mended as its message or the documentation says. Attacks of one format share a project, in which each has
instances of its own: a plain run after the last one gives the tables of whole files.
"""

import gzip
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pipelines.config.errors import InputError
from pipelines.ingest.read_input import InputBatch, read_new_input
from tests.support.harness import Project
from tests.support.scene import (
    FIRST,
    SECOND,
    content,
    first_night,
    of_marks,
    packed,
    project,
    put,
    require_equal,
    second_night,
    table,
    tables,
)

SOURCE = "message_events"
FORMATS = ("json", "csv", "parquet")
Change = Callable[[bytes], bytes]
SPOIL: dict[str, Change] = {
    "half of it": lambda whole: whole[: len(whole) // 2],
    "all but a byte": lambda whole: whole[:-1],
    "all but ten bytes": lambda whole: whole[:-10],
    "empty": lambda _: b"",
    "zeros behind it": lambda whole: whole + bytes(512),
    "zeros in it": lambda whole: whole[:200] + bytes(100) + whole[300:],
    "a byte that is no UTF-8": lambda whole: whole.replace(b"Order", b"Ord\xffr", 1),
    "another file of bytes": lambda _: gzip.compress(b"no such thing"),
    "UTF-16": lambda whole: whole.decode(errors="ignore").encode("utf-16"),
}
REJECTED = ("rejected_events",)
MARKS = [f"{number:02d}." for number in range(30)]
"""Of the instances of each attack; no format has more."""


class Attacked:
    """A project after its first night, of each format, whose second night comes attack by attack."""

    def __init__(self, session: SparkSession, folder: Path, format: str) -> None:
        self.session, self.folder, self.format = session, folder, format
        self.attacks = self.rejected_of_spoilt = 0
        self.project = self._after_the_first_night("attacked")

    def begin(self) -> None:
        """What the second night brings to the next instances: whole files, not taken yet."""
        mark = MARKS[self.attacks]
        self.attacks += 1
        self.events = of_marks(second_night(), [mark])
        put(self.project, f"2.{mark}{self.format}", self.events, self.format)
        self.file = self.project.folder / SOURCE / f"2.{mark}{self.format}"
        self.whole = self.file.read_bytes()
        self.rejected_before = self._rejected()

    def take_in(self) -> str | None:
        """Begin a night; what stopped it, if anything did."""
        try:
            self.project.take_in(self.session)
        except InputError as error:
            return str(error)
        return None

    def rejected(self) -> int:
        """Rows that were rejected in this attack."""
        return self._rejected() - self.rejected_before

    def finish(self) -> Project:
        """Run a plain night."""
        self.project.run(self.session, SECOND)
        return self.project

    def calm(self) -> Project:
        """A project that got the same, and to which nothing happened."""
        calm = self._after_the_first_night("calm")
        events = of_marks(second_night(), MARKS[: self.attacks])
        put(calm, f"2.{self.format}", events, self.format)
        calm.run(self.session, SECOND)
        return calm

    def _after_the_first_night(self, name: str) -> Project:
        made = project(self.folder / name, self.format, marks=MARKS, rejected=1.0)
        put(made, f"1.{self.format}", of_marks(first_night(), MARKS), self.format)
        made.run(self.session, FIRST)
        return made

    def _rejected(self) -> int:
        return len(self.project.table("rejected_events"))


@pytest.fixture(scope="module", params=FORMATS)
def attacked(
    request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Attacked:
    return Attacked(session, tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.parametrize("attack", SPOIL)
def test_spoilt(attacked: Attacked, attack: str) -> None:
    attacked.begin()
    attacked.file.write_bytes(SPOIL[attack](attacked.whole))
    said = attacked.take_in()
    assert said is None or attacked.file.name in said
    attacked.rejected_of_spoilt += attacked.rejected()
    # What was taken keeps its name: it comes again under another one, and what was an event is known.
    mended = attacked.file if said else attacked.file.with_name(f"mended.{attacked.file.name}")
    mended.write_bytes(attacked.whole)


def test_grown_after_it_was_taken(attacked: Attacked) -> None:
    """What a copy that was still under way looks like: half of the rows, then all of them."""
    attacked.begin()
    half = attacked.events[SOURCE][:3]
    attacked.file.write_bytes(content(SOURCE, half, attacked.format))
    assert attacked.take_in() is None
    attacked.file.write_bytes(attacked.whole)
    said = attacked.take_in()
    assert said is not None
    assert f"{attacked.file} has changed since it was taken" in said
    attacked.file.rename(attacked.file.with_name(f"again.{attacked.file.name}"))


@pytest.mark.parametrize("what", ["goes away", "grows"])
def test_changed_between_listing_and_reading(attacked: Attacked, what: str) -> None:
    attacked.begin()
    if what == "grows":
        half = attacked.events[SOURCE][:3]
        attacked.file.write_bytes(content(SOURCE, half, attacked.format))

    def changing(*given: Any) -> InputBatch:
        if given[2] == SOURCE:
            attacked.file.unlink() if what == "goes away" else attacked.file.write_bytes(attacked.whole)
        return read_new_input(*given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pipelines.ingest.ingest.read_new_input", changing)
        said = attacked.take_in()
    assert said is not None
    assert str(attacked.file) in said
    attacked.file.write_bytes(attacked.whole)


def test_renamed_copied_deleted(attacked: Attacked) -> None:
    attacked.begin()
    copy, renamed = (attacked.file.with_name(f"{what}.{attacked.file.name}") for what in ("copy", "renamed"))
    shutil.copy(attacked.file, copy)
    assert attacked.take_in() is None
    attacked.file.rename(renamed)
    assert attacked.take_in() is None
    copy.unlink()
    renamed.unlink()
    assert attacked.take_in() is None
    assert attacked.rejected() == 0


def typed(change: Callable[[pa.Table], pa.Table]) -> Change:
    """A change of the table in a Parquet file."""
    return lambda whole: packed(change(pq.read_table(io.BytesIO(whole))))


def cast(column: str, type: pa.DataType) -> Change:
    """Another type of a column in a Parquet file."""
    return typed(
        lambda rows: rows.set_column(rows.column_names.index(column), column, rows[column].cast(type))
    )


def in_each_line(change: Callable[[list[str], int], list[str]]) -> Change:
    """A change of the values of each line of a CSV file, which is told the place of message_type."""

    def changed(whole: bytes) -> bytes:
        lines = [line.split(",") for line in whole.decode().splitlines()]
        place = lines[0].index("message_type")
        return "".join(",".join(change(line, place)) + "\n" for line in lines).encode()

    return changed


def replaced(old: bytes, new: bytes) -> Change:
    """A change of the text wherever it stands."""
    return lambda whole: whole.replace(old, new)


CHANGES: dict[tuple[str, str], tuple[Change, str | None]] = {
    **{
        (format, what): (change, None)
        for format in ("json", "csv")
        for what, change in {
            "a byte order mark": lambda whole: b"\xef\xbb\xbf" + whole,
            "CRLF": replaced(b"\n", b"\r\n"),
            "blank lines": replaced(b"\n", b"\n\n  \n"),
        }.items()
    },
    ("json", "a number is text"): (replaced(b'"size_bytes": 100', b'"size_bytes": "100"'), "size_bytes"),
    # A field that may be null.
    ("json", "a field is missing"): (replaced(b', "queuing_order": null', b""), None),
    ("json", "one field more"): (replaced(b"{", b'{"comment": {"a": [1]}, '), None),
    ("csv", "a column is missing"): (
        in_each_line(lambda line, place: line[:place] + line[place + 1 :]),
        ":1: column message_type is",
    ),
    ("csv", "twice"): (in_each_line(lambda line, place: [*line, line[place]]), ":1: column message_type is"),
    ("csv", "one column more"): (in_each_line(lambda line, _: ["x", *line]), None),
    ("csv", "another order"): (in_each_line(lambda line, _: line[::-1]), None),
    ("parquet", "a column is missing"): (typed(lambda rows: rows.drop_columns(["message_type"])), "column"),
    ("parquet", "a column has another case"): (
        typed(
            lambda rows: rows.rename_columns(
                ["Message_Type" if name == "message_type" else name for name in rows.column_names]
            )
        ),
        "column",
    ),
    ("parquet", "a column is text"): (cast("size_bytes", pa.string()), "column"),
    ("parquet", "a column is a fraction"): (cast("size_bytes", pa.float64()), "column"),
    ("parquet", "a time has no zone"): (cast("event_time", pa.timestamp("us")), "column"),
    ("parquet", "a narrower number"): (cast("size_bytes", pa.int32()), None),
    ("parquet", "one column more"): (
        typed(lambda rows: rows.append_column("comment", pa.array(["x"] * len(rows)))),
        None,
    ),
    ("parquet", "another order"): (typed(lambda rows: rows.select(rows.column_names[::-1])), None),
}
"""By format, what is otherwise in a file of the second night, and what is said of it; None if it is taken."""


@pytest.mark.parametrize(("attacked", "what"), CHANGES, indirect=["attacked"])
def test_another_form_of_a_file(attacked: Attacked, what: str) -> None:
    attacked.begin()
    change, expected = CHANGES[attacked.format, what]
    assert change(attacked.whole) != attacked.whole
    attacked.file.write_bytes(change(attacked.whole))
    said = attacked.take_in()
    if expected is None:
        assert said is None
        assert attacked.rejected() == 0
    else:
        assert said is not None
        assert attacked.file.name in said
        assert expected in said
        attacked.file.write_bytes(attacked.whole)


def test_all_was_made_good(attacked: Attacked) -> None:
    """The last test of each format: after a plain run nothing is lost of any attack."""
    assert attacked.attacks
    calm = tables(attacked.calm())
    require_equal(calm, attacked.finish(), but=REJECTED)
    assert calm["rejected_events"] == []
    assert len(attacked.project.table("rejected_events")) == attacked.rejected_of_spoilt


def test_delta_inputs_that_change(session: SparkSession, tmp_path: Path) -> None:
    """Appended to: taken. Merged into or overwritten: refused with the version."""
    attacked: Project = project(tmp_path, "delta")
    put(attacked, "", first_night(), "delta")
    attacked.run(session, FIRST)
    put(attacked, "", second_night(), "delta")
    attacked.run(session, SECOND)
    expected = tables(attacked)
    path = str(attacked.folder / SOURCE)
    DeltaTable(path).optimize.compact()
    attacked.run(session, SECOND)
    require_equal(expected, attacked)
    rows = table(SOURCE, second_night()[SOURCE])
    write_deltalake(path, rows, mode="overwrite")
    with pytest.raises(InputError, match=f"{SOURCE}.*version"):
        attacked.run(session, SECOND)
