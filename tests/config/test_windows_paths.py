"""Paths of Windows in settings, as far as another system can tell: `os` has the paths of Windows."""

import ntpath
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from pipelines.config.paths import Folder, local_part, local_path, overlap, table_path, with_slashes

INFO = SimpleNamespace(context={"directory": "C:\\work\\settings"})


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    system = SimpleNamespace(name="nt", sep="\\", path=ntpath)
    monkeypatch.setattr("pipelines.config.paths.os", system)


@pytest.mark.parametrize(
    ("written", "path"),
    [
        (r"C:\data\events", "C:/data/events"),
        ("c:/data/events/", "c:/data/events"),
        (r"\\server\share\x", "//server/share/x"),
        (r"events\endpoints", "C:/work/settings/events/endpoints"),
        (r"..\events", "C:/work/events"),
        ("s3a://bucket/events", "s3a://bucket/events"),
        ("file:///C:/data", "file:///C:/data"),
    ],
)
def test_a_path_of_tables_is_absolute_with_slashes_or_a_uri(written: str, path: str) -> None:
    assert table_path(written, INFO) == path  # type: ignore[arg-type]
    assert with_slashes(path) == path


@pytest.mark.parametrize(
    ("written", "path"),
    [
        (r"rules\levels.sql", r"C:\work\settings\rules\levels.sql"),
        (r"D:\rules", r"D:\rules"),
        (r"\\server\share\rules", r"\\server\share\rules"),
    ],
)
def test_a_path_of_rules_is_one_of_the_system(written: str, path: str) -> None:
    assert local_path(written, INFO) == path  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///C:/data/a%20b", "C:/data/a b"),
        ("file:/C:/data", "C:/data"),
        ("file://server/share/data", "//server/share/data"),
    ],
)
def test_a_uri_of_a_file_names_a_path(uri: str, path: str) -> None:
    assert local_part(urlsplit(uri)) == path


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
