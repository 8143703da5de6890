"""Text files in the encodings that people save them in, and what is said of others."""

import codecs
import os
from pathlib import Path

import pytest

from pipelines.config.text_file import read_text
from tests.support.cases import lines_of_error

SCRIPT = "USE D;\r\nDROP BROKER PRIORITY [Größe 😀];\r\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_encodings(tmp_path: Path, mark: bytes, encoding: str) -> None:
    (tmp_path / "r.sql").write_bytes(mark + SCRIPT.encode(encoding))
    assert read_text(str(tmp_path / "r.sql")) == SCRIPT


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            SCRIPT.encode("cp1252", "replace"),
            ":2:25: is not UTF-8 (byte 33) and looks like code page 1252 ('[Größe ?];')",
        ),
        (SCRIPT.encode("utf-16-le"), ": is UTF-16 (little-endian) without a byte order mark"),
        ("DROP".encode("utf-16-be"), ": is UTF-16 (big-endian) without a byte order mark"),
        (b"DROP\0", ":1:5: a NUL character, which no text has"),
        (b"DROP \x81\xff", ":1:6: is not UTF-8 (byte 6)"),
        (codecs.BOM_UTF16_LE + b"x", ":1:1: is not UTF-16-LE (byte 3)"),
        (codecs.BOM_UTF32_LE + SCRIPT.encode("utf-32-le"), ": is UTF-32"),
    ],
)
def test_other_encodings(tmp_path: Path, content: bytes, line: str) -> None:
    (tmp_path / "r.sql").write_bytes(content)
    remedy = "save it as UTF-8, or as UTF-16 with a byte order mark"
    assert lines_of_error(tmp_path, read_text, str(tmp_path / "r.sql")) == [f"r.sql{line}; {remedy}"]


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for line in (
        "gone: no such file; correct the path or create it",
        "folder: can't be read (Is a directory); correct path or permissions",
        "pipe: is a device or a pipe; name a file",
    ):
        assert lines_of_error(tmp_path, read_text, str(tmp_path / line.partition(":")[0])) == [line]
