"""Processes that end early: killed at random moments, after every commit, asked to end, two at once."""

import os
import signal
import time
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.support.harness import Project
from tests.support.processes import PATIENCE, finish, kill_when, log_of, start, written
from tests.support.scene import (
    ENGINE,
    FIRST,
    SECOND,
    Saved,
    first_night,
    project,
    put,
    require_equal,
    second_night,
    tables,
)
from tests.support.warehouses import last_status

KILLS, ROUNDS = 50, 6


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
    made = project(folder)
    put(made, "1.jsonl", first_night())
    return made


def test_killed_at_random_moments(tmp_path: Path, alone: Alone) -> None:
    """From the start of the first night on: the tables are being created when many of the kills come."""
    random, kills, rounds = Random(7), 0, 0
    while kills < KILLS:
        rounds += 1
        attacked = begun(tmp_path / f"attacked_{rounds}")
        for as_of in (FIRST, SECOND):
            while True:
                job = start(ENGINE, attacked, as_of)
                time.sleep(random.uniform(0.2, 1.3) * alone.seconds)
                if job.poll() is not None:
                    assert job.returncode == 0, log_of(attacked)[-3000:]
                    break
                os.killpg(job.pid, signal.SIGKILL)
                job.wait()
                kills += 1
            if as_of == FIRST:
                put(attacked, "2.jsonl", second_night())
        require_equal(alone.expected, attacked)
    print(f"{kills} kills in {rounds} rounds")


def test_killed_after_every_commit(tmp_path: Path, alone: Alone) -> None:
    attacked, kills = begun(tmp_path / "attacked"), 0
    for as_of in (FIRST, SECOND):
        # An attempt does again what the one before did, and comes a commit further.
        for more in count(1):
            upto = written(attacked) + more

            def now(upto: int = upto) -> bool:
                return written(attacked) >= upto

            if not kill_when(ENGINE, attacked, as_of, now):
                break
            kills += 1
        if as_of == FIRST:
            put(attacked, "2.jsonl", second_night())
    require_equal(alone.expected, attacked)
    assert kills > 10


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_end(tmp_path: Path, alone: Alone, sign: signal.Signals) -> None:
    attacked, random, codes = begun(tmp_path / "attacked"), Random(sign), []
    for _ in range(ROUNDS):
        job = start(ENGINE, attacked, FIRST)
        time.sleep(random.uniform(0.3, 0.9) * alone.seconds)
        os.killpg(job.pid, sign)
        codes.append(job.wait(timeout=PATIENCE))
    # Python tells of a signal by a negative number.
    assert {128 - code if code < 0 else code for code in codes} <= {0, 128 + sign}, log_of(attacked)[-3000:]
    finish(ENGINE, attacked, FIRST)
    put(attacked, "2.jsonl", second_night())
    finish(ENGINE, attacked, SECOND)
    require_equal(alone.expected, attacked)
    assert last_status(attacked) == dict.fromkeys((FIRST, SECOND), "succeeded")


def test_two_at_once(tmp_path: Path, alone: Alone) -> None:
    """Of the same as_of and of two, one after the other by a random while."""
    attacked = begun(tmp_path / "attacked")
    finish(ENGINE, attacked, FIRST)
    put(attacked, "2.jsonl", second_night())
    saved, random = Saved(attacked), Random(3)
    for number in range(ROUNDS):
        saved.restore()
        first = start(ENGINE, attacked, SECOND)
        time.sleep(random.uniform(0, 0.9) * alone.seconds if number else 0)
        second = start(ENGINE, attacked, (FIRST, SECOND)[number % 2])
        codes = sorted(job.wait(timeout=PATIENCE) for job in (first, second))
        assert codes in ([0, 0], [0, 5]), log_of(attacked)[-3000:]
        for as_of in (FIRST, SECOND):
            finish(ENGINE, attacked, as_of)
        require_equal(alone.again, attacked)
