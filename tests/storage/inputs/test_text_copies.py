"""Lines that would fill the memory are left out of copies, and packed files are known by any ending."""

import bz2
import gzip
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.storage.inputs import text_copies as module
from pipelines.storage.inputs.paths import open_unpacked
from pipelines.storage.inputs.text_copies import TOO_LONG, copy_unreadable, with_original_names

LIMIT = 4096
PACKINGS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


def content(path: str) -> bytes:
    with open_unpacked(path) as stream:
        return bytes(stream.read())


def long(length: int) -> bytes:
    return b"x" * length


def left_out(line: bytes) -> bytes:
    told = {"bytes": len(line), "sha256": sha256(line).hexdigest()}
    return f"{TOO_LONG}{json.dumps(told, separators=(',', ':'))}".encode()


@pytest.mark.parametrize(
    ("packing", "before"), [("", 0), ("", 1), ("", LIMIT - 1), (".gz", LIMIT), (".bz2", 3 * LIMIT + 7)]
)
def test_long_lines_are_left_out(
    session: SparkSession, tmp_path: Path, packing: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 1000)
    head = b"".join(b"y" * 99 + b"\n" for _ in range(before // 100)) + b"z" * (before % 100) + b"\n"
    lines = [long(LIMIT), long(LIMIT + 1), b"short", long(5 * LIMIT), b"\r", long(LIMIT + 2)]
    file = tmp_path / f"a{packing}"
    file.write_bytes(PACKINGS[packing](head + b"\n".join(lines)))
    [copy] = copy_unreadable(session, [str(file)], LIMIT)
    assert copy != str(file)
    expected = [left_out(line) if len(line) > LIMIT else line for line in lines]
    assert content(copy) == head + b"\n".join(expected) + b"\n"
    assert with_original_names(f"{copy}: no", [str(file)], [copy]) == f"{file}: no"


@pytest.mark.parametrize("packing", PACKINGS)
def test_other_files_stay(session: SparkSession, tmp_path: Path, packing: str) -> None:
    file = tmp_path / f"a{packing}"
    short = (long(LIMIT) + b"\n") * 9
    for text in (b"", b"\n" * 9 * LIMIT, short, short.replace(b"\n", b"\r\n") + long(LIMIT)):
        file.write_bytes(PACKINGS[packing](text))
        assert copy_unreadable(session, [str(file)], LIMIT) == [str(file)]


def test_a_plain_file_is_not_read_whole(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a"
    file.write_bytes((long(LIMIT) + b"\n") * 100)
    monkeypatch.setattr(module, "open_unpacked", None)
    assert copy_unreadable(session, [str(file)], 2 * LIMIT + 2) == [str(file)]


def test_endings_in_capitals(session: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "a b[1].gZ"
    file.write_bytes(gzip.compress(b"text\n"))
    [link] = copy_unreadable(session, [str(file)], LIMIT)
    assert link.endswith(".gz")
    assert content(link) == b"text\n"


def test_what_is_broken_is_left_to_the_engine(session: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(bytes(range(256)) * 1000)[:-200])
    paths = [str(file), str(tmp_path / "none.gz")]
    assert copy_unreadable(session, paths, LIMIT) == paths
