"""Input files that are cut, spoilt, moved or changed: they are refused or rejected by name, or taken whole.

Each attack hits the second night's file of message events. The night is run; then the file is mended as its
message or the documentation says, and the night is run again: the tables are those of whole files.
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

from config.errors import InputError
from steps.take_in import CameIn, take_in
from tests.attack.scene import (
    FIRST,
    SECOND,
    Saved,
    content,
    first_night,
    project,
    put,
    require_equal,
    second_night,
    table,
    tables,
)
from tests.harness import Project

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


class Attacked:
    """A project after its first night, of each format, and what its second night gives."""

    def __init__(self, session: SparkSession, folder: Path, format: str) -> None:
        self.session, self.format = session, format
        self.project = project(folder, format)
        put(self.project, f"1.{format}", first_night(), format)
        self.project.run(session, FIRST)
        self.saved = Saved(self.project)
        put(self.project, f"2.{format}", second_night(), format)
        self.project.run(session, SECOND)
        self.expected = tables(self.project)
        self.file = self.project.folder / SOURCE / f"2.{format}"
        self.whole = content(SOURCE, second_night()[SOURCE], format)

    def again(self) -> None:
        """Back to the evening of the second night."""
        self.saved.restore()
        for file in self.file.parent.iterdir():
            if not file.name.startswith("1."):
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        self.file.write_bytes(self.whole)

    def night(self) -> str | None:
        """Run the second night; what stopped it, if anything did."""
        try:
            self.project.run(self.session, SECOND)
        except InputError as error:
            return str(error)
        return None


@pytest.fixture(scope="module", params=FORMATS)
def attacked(
    request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Attacked:
    return Attacked(session, tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.parametrize("attack", SPOIL)
def test_spoilt(attacked: Attacked, attack: str) -> None:
    attacked.again()
    attacked.file.write_bytes(SPOIL[attack](attacked.whole))
    said = attacked.night()
    if said is None:
        # Taken, and what was no event was rejected; the mended file comes under another name.
        attacked.file.with_name(f"mended.{attacked.format}").write_bytes(attacked.whole)
    else:
        assert "rows were rejected" in said or attacked.file.name in said, said
        refused = "rows were rejected" not in said
        mended = attacked.file if refused else attacked.file.with_name(f"mended.{attacked.format}")
        mended.write_bytes(attacked.whole)
    assert attacked.night() is None
    require_equal(attacked.expected, attacked.project, but=REJECTED)


@pytest.mark.parametrize("attacked", ["json", "csv"], indirect=True)
@pytest.mark.parametrize("form", HARMLESS)
def test_other_forms_of_text(attacked: Attacked, form: str) -> None:
    attacked.again()
    attacked.file.write_bytes(HARMLESS[form](attacked.whole))
    assert attacked.night() is None
    require_equal(attacked.expected, attacked.project)


def test_grown_after_it_was_taken(attacked: Attacked) -> None:
    """What a copy that was still under way looks like: half of the rows, then all of them."""
    attacked.again()
    half = second_night()[SOURCE][:3]
    attacked.file.write_bytes(content(SOURCE, half, attacked.format))
    assert attacked.night() is None
    attacked.file.write_bytes(attacked.whole)
    said = attacked.night()
    assert said is not None
    assert f"{attacked.file} has changed since it was taken" in said
    attacked.file.rename(attacked.file.with_name(f"again.{attacked.format}"))
    assert attacked.night() is None
    require_equal(attacked.expected, attacked.project)


@pytest.mark.parametrize("what", ["goes away", "grows"])
def test_changed_between_listing_and_reading(attacked: Attacked, what: str) -> None:
    attacked.again()
    if what == "grows":
        half = second_night()[SOURCE][:3]
        attacked.file.write_bytes(content(SOURCE, half, attacked.format))

    def changing(*given: Any) -> CameIn:
        if given[1] == SOURCE:
            attacked.file.unlink() if what == "goes away" else attacked.file.write_bytes(attacked.whole)
        return take_in(*given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("steps.fold.take_in", changing)
        said = attacked.night()
    assert said is not None
    assert str(attacked.file) in said
    attacked.file.write_bytes(attacked.whole)
    assert attacked.night() is None
    require_equal(attacked.expected, attacked.project)


def test_renamed_copied_deleted(attacked: Attacked) -> None:
    attacked.again()
    shutil.copy(attacked.file, attacked.file.with_name(f"copy.{attacked.format}"))
    assert attacked.night() is None
    require_equal(attacked.expected, attacked.project)
    attacked.file.rename(attacked.file.with_name(f"renamed.{attacked.format}"))
    assert attacked.night() is None
    require_equal(attacked.expected, attacked.project)
    for file in attacked.file.parent.iterdir():
        file.unlink()
    assert attacked.night() is None
    require_equal(attacked.expected, attacked.project)


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
    attacked.again()
    whole = pq.read_table(attacked.file)
    pq.write_table((DRIFT | TOLERATED)[drift](whole), attacked.file)
    said = attacked.night()
    if drift in DRIFT:
        assert said is not None
        assert attacked.file.name in said
        assert "column" in said
        attacked.file.write_bytes(attacked.whole)
        assert attacked.night() is None
    else:
        assert said is None
    require_equal(attacked.expected, attacked.project)


@pytest.mark.parametrize("attacked", ["csv"], indirect=True)
@pytest.mark.parametrize("drift", ["a column is missing", "one column more", "another order", "twice"])
def test_drift_of_csv_headers(attacked: Attacked, drift: str) -> None:
    attacked.again()
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
    said = attacked.night()
    if drift in ("a column is missing", "twice"):
        assert said is not None
        assert f"{attacked.file}:1: column message_type is" in said
        attacked.file.write_bytes(attacked.whole)
        assert attacked.night() is None
    else:
        assert said is None
    require_equal(attacked.expected, attacked.project)


@pytest.mark.parametrize("attacked", ["json"], indirect=True)
@pytest.mark.parametrize("drift", ["a number is text", "a field is missing", "one field more"])
def test_drift_of_json_fields(attacked: Attacked, drift: str) -> None:
    attacked.again()
    text = attacked.whole.decode()
    change = {
        "a number is text": text.replace('"size_bytes": 100', '"size_bytes": "100"'),
        # A field that may be null.
        "a field is missing": text.replace(', "queuing_order": null', ""),
        "one field more": text.replace("{", '{"comment": {"a": [1]}, '),
    }
    assert change[drift] != text
    attacked.file.write_text(change[drift])
    said = attacked.night()
    if drift == "a number is text":
        assert said is not None
        assert attacked.file.name in said
        assert "size_bytes" in said
        attacked.file.write_bytes(attacked.whole)
        assert attacked.night() is None
    else:
        assert said is None
    require_equal(attacked.expected, attacked.project)


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
