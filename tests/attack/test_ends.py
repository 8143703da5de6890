"""Processes that end early at random moments, killed or asked to end, and two of them at once.

tests/nightly/test_interrupted.py breaks off after every commit; here whole processes die, at any moment.
"""

import os
import signal
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.support.harness import Project
from tests.support.processes import PATIENCE, finish, log_of, start
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

ENDS, ROUNDS = 30, 4
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
    made = project(folder)
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
