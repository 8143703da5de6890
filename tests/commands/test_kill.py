"""A nightly job that is killed, has no room, or meets another one; then it is run again.

The tables are those of a run that was left alone. tests/nightly/test_interrupted.py breaks off after every
commit; here whole processes end.
"""

import shutil
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.support.disks import disk_at, fills
from tests.support.factories import at
from tests.support.harness import Project
from tests.support.processes import PATIENCE, finish, kill_when, log_of, start, written
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import changed, contents, last_status

pytestmark = pytest.mark.long

KILLS = 2
FIRST, SECOND = at(60), at(60, day=1)


class Nights(NamedTuple):
    """A project with the events of two nights."""

    project: Project
    after_the_first: Path
    """A copy of its warehouse."""
    first: dict[str, list[str]]
    """The tables after the first night, without the paths of files."""
    second: dict[str, list[str]]
    """The tables after a second night that nobody kills."""


@pytest.fixture(scope="module")
def nights(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Nights:
    project = project_in(tmp_path_factory.mktemp("nights"))
    project.add(a_bit_of_everything())
    project.run(embedded, FIRST)
    first, after_the_first = contents(project, leave_out={"path"}), project.folder / "after_the_first"
    shutil.copytree(project.folder / "warehouse", after_the_first)
    project.add(night_after())
    project.run(embedded, SECOND)
    return Nights(project, after_the_first, first, contents(project))


@pytest.fixture
def two_nights(nights: Nights) -> Project:
    """The project before its second night."""
    warehouse = nights.project.folder / "warehouse"
    shutil.rmtree(warehouse)
    shutil.copytree(nights.after_the_first, warehouse)
    return nights.project


def test_a_killed_night_is_simply_run_again(two_nights: Project, nights: Nights) -> None:
    """It is killed at random moments after random commits, time and again."""
    random, killed = Random(1), 0
    first = written(two_nights)
    for _ in range(KILLS):
        commits, pause = written(two_nights) + random.randint(0, 6), random.random() / 2

        def now(commits: int = commits, pause: float = pause) -> bool:
            if written(two_nights) < commits:
                return False
            time.sleep(pause)
            return True

        killed += kill_when("embedded", two_nights, SECOND, now)
    assert killed
    assert written(two_nights) > first
    finish("embedded", two_nights, SECOND)
    assert changed(nights.second, contents(two_nights)) == {}
    assert last_status(two_nights) == dict.fromkeys((FIRST, SECOND), "succeeded")


def test_of_two_nights_at_once_one_writes(two_nights: Project, nights: Nights) -> None:
    """The other one says so and changes nothing."""
    both = [start("embedded", two_nights, SECOND) for _ in range(2)]
    assert sorted(night.wait(timeout=PATIENCE) for night in both) == [0, 5]
    said = log_of(two_nights)
    assert f"error: warehouse: another job is writing {two_nights.folder}/warehouse: nightly, since " in said
    assert changed(nights.second, contents(two_nights)) == {}
    assert len(two_nights.table("runs")) == 2


def test_a_full_disk_loses_nothing(nights: Nights, tmp_path: Path) -> None:
    whole = sum(file.stat().st_size for file in nights.after_the_first.rglob("*"))
    with disk_at(tmp_path / "warehouse") as disk:
        project = project_in(tmp_path)
        project.add(a_bit_of_everything())
        assert fills(disk, whole // 2, "embedded", project, FIRST)
        finish("embedded", project, FIRST)
        assert changed(nights.first, contents(project, leave_out={"path"})) == {}
