"""tools/package.py: the zip of the packages for Spark."""

import os
import zipfile
from pathlib import Path

import pytest

from tools.package import package

PACKED = ["jobs/__init__.py", "pipelines/__init__.py", "pipelines/page.html", "schemas/__init__.py"]
OTHERS = ["other/x.py", "jobs/__pycache__/x.cpython-311.pyc", "jobs/.nightly.py.swp"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (*PACKED, *OTHERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def test_the_same_sources_give_the_same_bytes_and_are_not_packed_twice(project: Path) -> None:
    first = package(project)
    assert zipfile.ZipFile(first).namelist() == PACKED
    content, before = first.read_bytes(), first.stat().st_mtime_ns
    assert package(project).stat().st_mtime_ns == before
    first.unlink()
    os.utime(project / "jobs" / "__init__.py", (0, 0))
    assert package(project) == first
    assert first.read_bytes() == content


def test_a_change_of_name_or_content_gives_another_zip_and_old_ones_go_after_a_day(project: Path) -> None:
    first = package(project)
    (project / "jobs" / "a.py").write_text("x")
    second = package(project)
    os.utime(first, (0, 0))
    (project / "jobs" / "a.py").rename(project / "jobs" / "b.py")
    third = package(project)
    assert len({first, second, third}) == 3
    assert sorted(first.parent.iterdir()) == sorted([second, third])


def test_a_failure_leaves_no_partial_zip(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="no space left"):
        package(project)
    assert list((project / "build").iterdir()) == []
