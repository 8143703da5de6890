"""Input files that are cut or spoilt: they are refused or rejected by name, or taken whole.

tests/storage/inputs/test_read.py has the forms of files that are read or refused, tests/ingest/test_ingest.py
files that change while a night reads them.
"""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import InputError
from tests.support.harness import Project
from tests.support.scene import (
    FIRST,
    SECOND,
    first_night,
    of_marks,
    put,
    require_equal,
    second_night,
    tables,
)
from tests.support.small_project import project_in

SOURCE = "message_events"
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
MARKS = [f"{number:02d}." for number, _ in enumerate(SPOIL)]
"""Of the instances of each attack."""


def after_the_first_night(session: SparkSession, folder: Path, format: str) -> Project:
    made = project_in(folder, format=format, marks=MARKS, rejected=1.0)
    put(made, f"1.{format}", of_marks(first_night(), MARKS))
    made.run(session, FIRST)
    return made


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_spoilt(session: SparkSession, tmp_path: Path, format: str) -> None:
    """Each attack hits a file of the second night, which is taken in; then the file is mended as its
    message or the documentation says. A plain run after the last one gives the tables of whole files.
    """
    attacked = after_the_first_night(session, tmp_path / "attacked", format)
    for mark, spoil in zip(MARKS, SPOIL.values(), strict=True):
        put(attacked, f"2.{mark}{format}", of_marks(second_night(), [mark]))
        file = attacked.folder / SOURCE / f"2.{mark}{format}"
        whole = file.read_bytes()
        file.write_bytes(spoil(whole))
        said = None
        try:
            attacked.take_in(session)
        except InputError as error:
            said = str(error)
        assert said is None or file.name in said
        # What was taken keeps its name: it comes again under another one, and what was an event is known.
        mended = file if said else file.with_name(f"mended.{file.name}")
        mended.write_bytes(whole)
    rejected = len(attacked.table("rejected_events"))
    attacked.run(session, SECOND)

    calm = after_the_first_night(session, tmp_path / "calm", format)
    put(calm, f"2.{format}", of_marks(second_night(), MARKS))
    calm.run(session, SECOND)
    require_equal(tables(calm), attacked, but=["rejected_events"])
    assert calm.table("rejected_events") == []
    assert len(attacked.table("rejected_events")) == rejected
