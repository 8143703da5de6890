"""Files of events that are none, or that no engine reads: one line each that names the file."""

import json
import lzma
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.support.rejections import BODY, message, project

pytestmark = pytest.mark.slow

LINE = json.dumps(message("m1")).encode() + b"\n"
UNPACK = "files of this ending can't be read; unpack it, or pack it as .gz, .bz2 or .zst"
AS_LINES = "; export it as JSON lines"


def packed(codec: str) -> bytes:
    return bytes(pa.compress(LINE, codec=codec, asbytes=True))


def _tar(path: Path) -> None:
    (path.parent.parent / "m.jsonl").write_bytes(LINE * 3)
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        archive.add(path.parent.parent / "m.jsonl", "m.jsonl")


def _non_utf8(path: Path) -> None:
    Path(os.fsdecode(os.fsencode(path.parent) + b"/b\xff.jsonl")).write_bytes(LINE)


FILES: dict[str, tuple[str, bytes | Callable[[Path], object], str]] = {
    "xz": ("1.jsonl.xz", lzma.compress(LINE), UNPACK),
    "xz as text": ("1.jsonl", lzma.compress(LINE), f"it is compressed by xz{AS_LINES}"),
    "lz4": ("1.jsonl.lz4", packed("lz4"), UNPACK),
    "snappy": ("1.jsonl.snappy", packed("snappy"), UNPACK),
    "zstd as text": (
        "1.jsonl",
        packed("zstd"),
        f"it is compressed by zstd, though its name does not end with .zst{AS_LINES}",
    ),
    "tar": ("1.tar.gz", _tar, UNPACK),
    "tar as text": ("1.jsonl", _tar, "it is a tar archive; unpack it, and export it as JSON lines"),
    "an array": (
        "1.json",
        b"[" + LINE.strip() + b"," + LINE + b"]",
        "it is one JSON array; write one object a line",
    ),
    "an object over lines": (
        "1.json",
        json.dumps(message("m1"), indent=2).encode(),
        "it has an object over several lines; write one object a line",
    ),
    "a link to nothing": (
        "1.jsonl",
        lambda path: path.symlink_to("nothing"),
        "it is a link to nothing, a pipe or a device; put the file there, or remove it",
    ),
    "a pipe": (
        "1.jsonl",
        os.mkfifo,
        "it is a link to nothing, a pipe or a device; put the file there, or remove it",
    ),
    "UTF-16": (
        "1.jsonl",
        LINE.decode().encode("utf-16-le"),
        "it is UTF-16 LE without a byte order mark; save it as UTF-8",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_lines_is_named(session: SparkSession, tmp_path: Path, name: str) -> None:
    case = project(tmp_path / "p")
    folder = tmp_path / "p" / "message_events"
    folder.mkdir()
    (folder / "0.jsonl").write_bytes(LINE)
    file, content, says = FILES[name]
    if isinstance(content, bytes):
        (folder / file).write_bytes(content)
    else:
        content(folder / file)
    done = case.nightly()
    assert (done.code, done.err.splitlines()[-1].removeprefix("error:").strip()) == (
        3,
        f"{folder}/{file}: {says}",
    )
    assert "S3CRET" not in done.err


def test_a_name_that_is_no_utf_8(session: SparkSession, tmp_path: Path) -> None:
    case = project(tmp_path / "p")
    folder = tmp_path / "p" / "message_events"
    folder.mkdir()
    _non_utf8(folder / "1.jsonl")
    done = case.nightly()
    assert done.code == 3
    assert done.err.splitlines()[-1] == (
        f"error: {folder}: the name b'{folder}/b\\xff.jsonl' is no UTF-8; rename that file"
    )


@pytest.mark.spark
def test_a_row_in_place_of_a_header_is_not_shown(session: SparkSession, tmp_path: Path) -> None:
    case = project(tmp_path / "p", "csv")
    folder = tmp_path / "p" / "message_events"
    folder.mkdir()
    (folder / "1.csv").write_text(f"{BODY.replace(',', '')},m1,2026-11-20T09:00:00Z\n".replace('"', ""))
    done = case.nightly()
    assert (done.code, done.err.splitlines()[-1]) == (
        3,
        f"  {folder}/1.csv: has no column of message_events in its first line",
    )
    assert "S3CRET" not in str(case.table("runs"))
