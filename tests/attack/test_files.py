"""Input files that are cut, spoilt, moved or changed: they are refused or rejected by name, or taken whole.

Each attack hits a file of message events that comes in the second night. It is taken in; then the file is
mended as its message or the documentation says. Attacks of one format share a project, in which each has
instances of its own: a plain run after the last one gives the tables of whole files.
"""

import gzip
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
    project,
    put,
    require_equal,
    second_night,
    table,
    tables,
)

pytestmark = pytest.mark.spark

SOURCE = "message_events"
FORMATS = ("json", "csv", "parquet")
SPOIL: dict[str, Callable[[bytes], bytes]] = {
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
HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "a byte order mark": lambda whole: b"\xef\xbb\xbf" + whole,
    "CRLF": lambda whole: whole.replace(b"\n", b"\r\n"),
    "blank lines": lambda whole: whole.replace(b"\n", b"\n\n  \n"),
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


@pytest.mark.parametrize("attacked", ["json", "csv"], indirect=True)
@pytest.mark.parametrize("form", HARMLESS)
def test_other_forms_of_text(attacked: Attacked, form: str) -> None:
    attacked.begin()
    attacked.file.write_bytes(HARMLESS[form](attacked.whole))
    assert attacked.take_in() is None
    assert attacked.rejected() == 0


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


DRIFT: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a column is missing": lambda rows: rows.drop_columns(["message_type"]),
    "a column has another case": lambda rows: rows.rename_columns(
        ["Message_Type" if name == "message_type" else name for name in rows.column_names]
    ),
    "a column is text": lambda rows: rows.set_column(
        rows.column_names.index("size_bytes"), "size_bytes", rows["size_bytes"].cast(pa.string())
    ),
    "a column is a fraction": lambda rows: rows.set_column(
        rows.column_names.index("size_bytes"), "size_bytes", rows["size_bytes"].cast(pa.float64())
    ),
    "a time has no zone": lambda rows: rows.set_column(
        rows.column_names.index("event_time"), "event_time", rows["event_time"].cast(pa.timestamp("us"))
    ),
}
TOLERATED: dict[str, Callable[[pa.Table], pa.Table]] = {
    "one column more": lambda rows: rows.append_column("comment", pa.array(["x"] * len(rows))),
    "another order": lambda rows: rows.select(rows.column_names[::-1]),
    "a narrower number": lambda rows: rows.set_column(
        rows.column_names.index("size_bytes"), "size_bytes", rows["size_bytes"].cast(pa.int32())
    ),
}


@pytest.mark.parametrize("attacked", ["parquet"], indirect=True)
@pytest.mark.parametrize("drift", [*DRIFT, *TOLERATED])
def test_drift_of_typed_columns(attacked: Attacked, drift: str) -> None:
    """The second night's file has other columns than the first one's."""
    attacked.begin()
    whole = pq.read_table(attacked.file)
    pq.write_table((DRIFT | TOLERATED)[drift](whole), attacked.file)
    said = attacked.take_in()
    if drift in DRIFT:
        assert said is not None
        assert attacked.file.name in said
        assert "column" in said
        attacked.file.write_bytes(attacked.whole)
    else:
        assert said is None
        assert attacked.rejected() == 0


@pytest.mark.parametrize("attacked", ["csv"], indirect=True)
@pytest.mark.parametrize("drift", ["a column is missing", "one column more", "another order", "twice"])
def test_drift_of_csv_headers(attacked: Attacked, drift: str) -> None:
    attacked.begin()
    lines = [line.split(",") for line in attacked.whole.decode().splitlines()]
    place = lines[0].index("message_type")
    change: dict[str, Callable[[list[str]], list[str]]] = {
        "a column is missing": lambda line: line[:place] + line[place + 1 :],
        "one column more": lambda line: ["x", *line],
        "another order": lambda line: line[::-1],
        "twice": lambda line: [*line, line[place]],
    }
    text = "".join(",".join(change[drift](line)) + "\n" for line in lines)
    attacked.file.write_text(text)
    said = attacked.take_in()
    if drift in ("a column is missing", "twice"):
        assert said is not None
        assert f"{attacked.file}:1: column message_type is" in said
        attacked.file.write_bytes(attacked.whole)
    else:
        assert said is None
        assert attacked.rejected() == 0


@pytest.mark.parametrize("attacked", ["json"], indirect=True)
@pytest.mark.parametrize("drift", ["a number is text", "a field is missing", "one field more"])
def test_drift_of_json_fields(attacked: Attacked, drift: str) -> None:
    attacked.begin()
    text = attacked.whole.decode()
    change = {
        "a number is text": text.replace('"size_bytes": 100', '"size_bytes": "100"'),
        # A field that may be null.
        "a field is missing": text.replace(', "queuing_order": null', ""),
        "one field more": text.replace("{", '{"comment": {"a": [1]}, '),
    }
    assert change[drift] != text
    attacked.file.write_text(change[drift])
    said = attacked.take_in()
    if drift == "a number is text":
        assert said is not None
        assert attacked.file.name in said
        assert "size_bytes" in said
        attacked.file.write_bytes(attacked.whole)
    else:
        assert said is None
        assert attacked.rejected() == 0


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
