import os
import zipfile
from pathlib import Path

import pytest

from tools.package import package


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("pipelines", "schemas", "jobs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "pipelines" / "page.html").write_text("<html>")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.py").write_text("")
    return tmp_path


def test_holds_the_packages_with_their_resources_and_nothing_else(project: Path) -> None:
    (project / "jobs" / "__pycache__").mkdir()
    (project / "jobs" / "__pycache__" / "x.cpython-311.pyc").write_text("")
    (project / "jobs" / ".nightly.py.swp").write_text("")

    names = zipfile.ZipFile(package(project)).namelist()

    assert names == [
        "jobs/__init__.py",
        "pipelines/__init__.py",
        "pipelines/page.html",
        "schemas/__init__.py",
    ]


def test_the_same_sources_give_the_same_bytes_whatever_their_times(project: Path) -> None:
    first = package(project)
    content = first.read_bytes()
    first.unlink()
    os.utime(project / "jobs" / "__init__.py", (0, 0))

    assert package(project) == first
    assert first.read_bytes() == content


def test_an_unchanged_tree_is_not_packed_twice(project: Path) -> None:
    before = package(project).stat()

    assert package(project).stat().st_mtime_ns == before.st_mtime_ns


def test_zips_of_earlier_sources_go_after_a_day(project: Path) -> None:
    older = package(project)
    (project / "jobs" / "a.py").write_text("x")
    lately = package(project)
    os.utime(older, (0, 0))
    (project / "jobs" / "b.py").write_text("x")
    newest = package(project)

    assert sorted(older.parent.iterdir()) == sorted([lately, newest])


def test_a_change_of_name_or_content_gives_another_zip(project: Path) -> None:
    first = package(project)
    (project / "jobs" / "a.py").write_text("x")
    second = package(project)
    (project / "jobs" / "a.py").rename(project / "jobs" / "b.py")
    third = package(project)

    assert len({first, second, third}) == 3


def test_a_failure_leaves_no_partial_zip(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full_disk)

    with pytest.raises(OSError, match="no space left"):
        package(project)
    assert list((project / "build").iterdir()) == []
