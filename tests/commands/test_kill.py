"""Nights that end early, have no room, or meet another one; then they are run again.

The tables are those of nights that were left alone. tests/nightly/test_interrupted.py breaks off after every
second commit; here whole processes end, at any moment. `make attack` tries many more of them.
"""

import os
import signal
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.support.disks import disk_at, fills
from tests.support.harness import Project
from tests.support.processes import PATIENCE, finish, log_of, start
from tests.support.scene import (
    ENGINE,
    FIRST,
    SECOND,
    Saved,
    first_night,
    put,
    require_equal,
    second_night,
    tables,
)
from tests.support.small_project import project_in
from tests.support.warehouses import last_status

pytestmark = pytest.mark.long

ENDS, ROUNDS, SIZES = (30, 4, 6) if os.environ.get("ATTACK") else (3, 1, 1)
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class Alone(NamedTuple):
    """Nights to which nothing happens: how long one takes, and the tables of both."""

    seconds: float
    expected: dict[str, list[str]]
    """After both nights."""
    again: dict[str, list[str]]
    """After the first one once more."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    left = begun(tmp_path_factory.mktemp("alone"))
    before = time.monotonic()
    finish(ENGINE, left, FIRST)
    seconds = time.monotonic() - before
    put(left, "2.jsonl", second_night())
    finish(ENGINE, left, SECOND)
    expected = tables(left)
    finish(ENGINE, left, FIRST)
    return Alone(seconds, expected, tables(left))


def begun(folder: Path) -> Project:
    """A project before its first night."""
    made = project_in(folder)
    put(made, "1.jsonl", first_night())
    return made


def test_ended_at_random_moments(tmp_path: Path, alone: Alone) -> None:
    """From the start of the first night on: the tables are being created when many of the ends come."""
    random, ends, rounds = Random(7), 0, 0
    while ends < ENDS:
        rounds += 1
        attacked = begun(tmp_path / f"attacked_{rounds}")
        for as_of in (FIRST, SECOND):
            code = -1
            while code:
                job, sign = start(ENGINE, attacked, as_of), random.choice(SIGNALS)
                time.sleep(random.uniform(0.2, 1.3) * alone.seconds)
                if job.poll() is None:
                    os.killpg(job.pid, sign)
                    ends += 1
                code = job.wait(timeout=PATIENCE)
                # Python tells of a signal by a negative number.
                assert code in (0, -sign, 128 + sign), log_of(attacked)[-3000:]
            if as_of == FIRST:
                put(attacked, "2.jsonl", second_night())
        require_equal(alone.expected, attacked)
        assert last_status(attacked) == dict.fromkeys((FIRST, SECOND), "succeeded")
    print(f"{ends} ends in {rounds} rounds")


def test_two_at_once(tmp_path: Path, alone: Alone) -> None:
    """Of the same as_of and of two, one after the other by a random while; if both work, one says so."""
    attacked = begun(tmp_path / "attacked")
    finish(ENGINE, attacked, FIRST)
    put(attacked, "2.jsonl", second_night())
    saved, random = Saved(attacked), Random(3)
    for number in range(ROUNDS):
        saved.restore()
        first = start(ENGINE, attacked, SECOND)
        time.sleep(random.uniform(0, 0.9) * alone.seconds if number else 0)
        second = start(ENGINE, attacked, (SECOND, FIRST)[number % 2])
        codes = sorted(job.wait(timeout=PATIENCE) for job in (first, second))
        assert codes in ([0, 0], [0, 5]) if number else codes == [0, 5], log_of(attacked)[-3000:]
        said = f"error: warehouse: another job is writing {attacked.folder}/warehouse: nightly, since "
        assert said in log_of(attacked)
        for as_of in (FIRST, SECOND):
            finish(ENGINE, attacked, as_of)
        require_equal(alone.again, attacked)


def test_a_disk_of_any_size(tmp_path: Path) -> None:
    """Wherever a night fills it, it says so, and the next attempt makes it good."""
    filled = 0
    with disk_at(tmp_path / "warehouse") as disk:
        attacked = begun(tmp_path)
        put(attacked, "2.jsonl", second_night())
        finish(ENGINE, attacked, SECOND)
        expected, whole = tables(attacked), disk.used()
        for size in range(1, SIZES + 1):
            filled += fills(disk, whole * size // (SIZES + 1), ENGINE, attacked, SECOND)
            finish(ENGINE, attacked, SECOND)
            require_equal(expected, attacked)
    assert filled >= max(1, SIZES - 1)


def test_a_warehouse_that_cannot_be_written(tmp_path: Path) -> None:
    """One night is there and the next one is refused; once it may write, it does."""
    with disk_at(tmp_path / "warehouse") as disk:
        attacked = begun(tmp_path)
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
