"""A night on a disk that is full: it says so, and the next one makes it good."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.factories import at
from tests.harness import Project
from tests.jobs.processes import PATIENCE, finish, log_of, start
from tests.jobs.warehouses import changed, contents
from tests.steps.test_broken_off import a_bit_of_everything, project_in

pytestmark = pytest.mark.slow

AS_OF = at(60)


def mounted(*options: str) -> bool:
    return subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own below the project, for its warehouse."""
    disk = tmp_path / "warehouse"
    disk.mkdir()
    if os.geteuid() != 0 or not mounted("-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)):
        pytest.skip("only root may mount a disk")
    try:
        if not mounted("-o", "remount,size=64m", str(disk)):
            pytest.skip("a disk can't be made smaller here")
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*"))


def empty(folder: Path) -> None:
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()


def test_a_full_disk_loses_nothing(embedded: SparkSession, disk: Path, tmp_path: Path) -> None:
    project: Project = project_in(tmp_path)
    project.add(a_bit_of_everything())
    project.run(embedded, AS_OF)
    expected, whole = contents(project), size_of(disk)
    for share in (0.2, 0.8):
        empty(disk)
        assert mounted("-o", f"remount,size={int(whole * share)}", str(disk))
        assert start("embedded", project, AS_OF).wait(timeout=PATIENCE) == 1
        last = log_of(project).rstrip().splitlines()[-1]
        assert last.startswith("error: ")
        assert "No space left on device" in last
        assert mounted("-o", "remount,size=64m", str(disk))
        finish("embedded", project, AS_OF)
        assert changed(expected, contents(project)) == {}
