"""Who holds a lease, who takes it over, and what becomes of the one who lost it."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from pyarrow import fs

from pipelines.storage import lease
from pipelines.storage.lease import HeldError, leased
from tests.support.processes import start_program

STORE = fs.LocalFileSystem()
QUICK = {"RENEWED_EVERY": 0.1, "WATCHED_FOR": 1.0, "SETTLED_AFTER": 0.1}
HOLDS = f"""
import sys, time
from pyarrow import fs
from pipelines.storage import lease
vars(lease).update({QUICK})
with lease.leased(fs.LocalFileSystem(), sys.argv[1], "the first"):
    print("holds", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in QUICK.items():
        monkeypatch.setattr(lease, name, seconds)


def holder(path: Path) -> "subprocess.Popen[str]":
    started = start_program(HOLDS, str(path))
    assert started.stdout is not None
    assert started.stdout.readline() == "holds\n"
    return started


def test_it_is_held_while_its_process_lives_and_taken_over_when_that_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    first = holder(path)
    with pytest.raises(HeldError, match=r"^the first$"), leased(STORE, str(path), "the second"):
        pass
    first.kill()
    first.communicate()
    assert path.read_text().startswith("the first\n")
    with leased(STORE, str(path), "the second"):
        assert path.read_text().startswith("the second\n")
    assert not path.exists()


def test_of_two_that_begin_at_once_the_later_one_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lease"

    def meanwhile(_: float) -> None:
        path.write_text("the later\nits own\n")

    monkeypatch.setattr(time, "sleep", meanwhile)
    with pytest.raises(HeldError, match=r"^the later$"), leased(STORE, str(path), "the first"):
        pass
    assert path.read_text() == "the later\nits own\n"


def test_a_holder_that_lost_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    first = holder(path)
    path.write_text("the second\nits own\n")
    assert first.wait(timeout=20) == -signal.SIGTERM
    assert path.read_text() == "the second\nits own\n"
