"""Disks of many sizes: wherever a night fills one, it says so, and the next attempt makes it good."""

from pathlib import Path

import pytest

from tests.attack.scene import (
    ENGINE,
    SECOND,
    first_night,
    project,
    put,
    require_equal,
    second_night,
    tables,
)
from tests.jobs.disks import disk_at, fills
from tests.jobs.processes import finish

pytestmark = pytest.mark.spark

SIZES = 4 if ENGINE == "spark" else 12


def test_a_disk_of_any_size(tmp_path: Path) -> None:
    filled = 0
    with disk_at(tmp_path / "warehouse") as disk:
        attacked = project(tmp_path)
        put(attacked, "1.jsonl", first_night())
        put(attacked, "2.jsonl", second_night())
        finish(ENGINE, attacked, SECOND)
        expected, whole = tables(attacked), disk.used()
        for size in range(1, SIZES + 1):
            filled += fills(disk, whole * size // (SIZES + 1), ENGINE, attacked, SECOND)
            finish(ENGINE, attacked, SECOND)
            require_equal(expected, attacked)
    assert filled >= SIZES - 1
