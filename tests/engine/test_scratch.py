"""The working folder of a process: it goes with the process, or the next one removes it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.engine.scratch import LOCK

SHOWS_ITS_FOLDER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from pipelines.engine.scratch import local_scratch
all_at_once = Barrier(16)
with ThreadPoolExecutor(16) as pool:
    [folder] = set(pool.map(lambda _: all_at_once.wait() >= 0 and local_scratch(), range(16)))
(folder / "rows").write_text("1")
print(folder, flush=True)
sys.stdin.read()
"""
"""A process has one folder, although sixteen threads ask for it at once."""


@contextmanager
def process(temporary: Path, **more: str) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """A process that keeps something, and its folder; it ends when its input does."""
    with subprocess.Popen(
        [sys.executable, "-c", SHOWS_ITS_FOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)} | more,
    ) as started:
        assert started.stdout
        yield started, Path(started.stdout.readline().strip())


def test_the_folder_goes_with_its_process_or_the_next_one_removes_it_and_nothing_else(tmp_path: Path) -> None:
    being_made = tmp_path / "conversation-priorities-made"
    others = tmp_path / "others"
    for folder in (being_made, others):
        folder.mkdir()
    with process(tmp_path) as (killed, left), process(tmp_path) as (_, living):
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert left.exists()
        with process(tmp_path) as (_, third):
            locks = {folder.with_name(f"{folder.name}{LOCK}") for folder in (living, third)}
            assert set(tmp_path.iterdir()) == {being_made, others, living, third} | locks
            assert (living / "rows").read_text() == "1"
    assert set(tmp_path.iterdir()) == {being_made, others}


def test_apache_spark_keeps_its_frames_where_its_other_working_files_are(tmp_path: Path) -> None:
    first, second = tmp_path / "not" / "there", tmp_path / "second"
    named = f"{first},{second}"
    with process(tmp_path, SPARK_LOCAL_DIRS=named, ENGINE="spark") as (_, folder):
        assert folder.parent == first
    assert list(first.iterdir()) == []
    with process(tmp_path, SPARK_LOCAL_DIRS="", ENGINE="spark") as (_, folder):
        assert folder.parent == tmp_path
    with process(tmp_path, SPARK_LOCAL_DIRS=named, ENGINE="embedded") as (_, folder):
        assert folder.parent == tmp_path
