"""Paths of Windows in settings, as far as another system can tell: `os` has the paths of Windows."""

import ntpath
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from pipelines.config.paths import Folder, local_part, local_path, overlap, table_path, with_slashes

INFO = SimpleNamespace(context={"directory": "C:\\work\\settings"})


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    system = SimpleNamespace(name="nt", sep="\\", path=ntpath)
    monkeypatch.setattr("pipelines.config.paths.os", system)


@pytest.mark.parametrize(
    ("read", "written", "path"),
    [
        # A path of tables is absolute with slashes, or a URI.
        (table_path, r"C:\data\events", "C:/data/events"),
        (table_path, "c:/data/events/", "c:/data/events"),
        (table_path, r"\\server\share\x", "//server/share/x"),
        (table_path, r"..\events", "C:/work/events"),
        (table_path, "s3a://bucket/events", "s3a://bucket/events"),
        (table_path, "file:///C:/data", "file:///C:/data"),
        # A path of rules is one of the system.
        (local_path, r"rules\levels.sql", r"C:\work\settings\rules\levels.sql"),
        (local_path, r"D:\rules", r"D:\rules"),
        (local_path, r"\\server\share\rules", r"\\server\share\rules"),
    ],
)
def test_a_path_of_the_settings(read: Callable[[str, Any], str], written: str, path: str) -> None:
    assert read(written, INFO) == path
    assert read is local_path or with_slashes(path) == path


def test_a_uri_of_a_file_names_a_path() -> None:
    uris = ("file:///C:/data/a%20b", "file:/C:/data", "file://server/share/data")
    assert [local_part(urlsplit(uri)) for uri in uris] == ["C:/data/a b", "C:/data", "//server/share/data"]


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("C:/data/events", r"c:\DATA", "lies in"),
        ("C:/data", "file:///C:/data/", "is"),
        ("C:/data", "D:/data/events", None),
        ("//server/share", "//server/share/x", "holds"),
        ("//server/share/x", "C:/x", None),
        ("C:/", "C:/x", "holds"),
    ],
)
def test_paths_that_share_files(one: str, other: str, how: str | None) -> None:
    assert overlap(one, other) == how


def test_a_folder_by_another_name_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a drive that stands for a folder."""
    asked = []

    def samefile(one: str, other: str) -> bool:
        asked.append((one, other))
        return (one, other) == ("s:\\", "c:\\data")

    monkeypatch.setattr("pipelines.config.paths._is_same", samefile)
    assert Folder.of("S:/events").is_in(Folder.of("C:/data"))
    assert asked == [("s:\\events", "c:\\data"), ("s:\\", "c:\\data")]
