"""Disks of many sizes: wherever a night fills one, it says so, and the next attempt makes it good."""

from pathlib import Path

from tests.support.disks import disk_at, fills
from tests.support.processes import PATIENCE, finish, log_of, start
from tests.support.scene import (
    ENGINE,
    FIRST,
    SECOND,
    first_night,
    project,
    put,
    require_equal,
    second_night,
    tables,
)

SIZES = 6


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


def test_a_warehouse_that_cannot_be_written(tmp_path: Path) -> None:
    """One night is there and the next one is refused; once it may write, it does."""
    with disk_at(tmp_path / "warehouse") as disk:
        attacked = project(tmp_path)
        put(attacked, "1.jsonl", first_night())
        finish(ENGINE, attacked, FIRST)
        before = tables(attacked)
        put(attacked, "2.jsonl", second_night())
        disk.write_protect(on=True)
        assert start(ENGINE, attacked, SECOND).wait(timeout=PATIENCE) == 2
        last = log_of(attacked).rstrip().splitlines()[-1]
        assert last.startswith(f"error: warehouse: {tmp_path}/warehouse can't be written (Read-only")
        assert tables(attacked) == before
        disk.write_protect(on=False)
        finish(ENGINE, attacked, SECOND)
        assert {row["as_of"] for row in attacked.table("runs")} == {FIRST, SECOND}
