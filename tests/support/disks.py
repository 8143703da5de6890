"""A disk that can be too small."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from tests.support.harness import Project
from tests.support.packages import lacks
from tests.support.processes import PATIENCE, log_of, start

ROOMY = 64 << 20
"""Bytes of a disk that everything fits on."""


class Disk:
    """A file system in memory, mounted at a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resize(self, size: int = ROOMY) -> bool:
        """Give it so many bytes."""
        return _mount("-o", f"remount,size={size}", str(self.folder))

    def write_protect(self, *, on: bool) -> None:
        """Let nobody write there, or everybody again."""
        assert _mount("-o", f"remount,{'ro' if on else 'rw'}", str(self.folder))

    def used(self) -> int:
        """Bytes of what is on it."""
        return sum(file.stat().st_blocks * 512 for file in self.folder.rglob("*"))

    def empty(self) -> None:
        """Delete what is on it."""
        for each in self.folder.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()


@contextmanager
def disk_at(folder: Path) -> Iterator[Disk]:
    """Mount a roomy disk while the block runs; skip the test where that is not allowed."""
    folder.mkdir()
    if os.geteuid() != 0 or not _mount("-t", "tmpfs", "-o", f"size={ROOMY}", "tmpfs", str(folder)):
        lacks("MOUNT", "only root may mount a disk")
    try:
        disk = Disk(folder)
        if not disk.resize():
            lacks("MOUNT", "a disk can't be made smaller here")
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fills(disk: Disk, size: int, engine: str, project: Project, as_of: datetime) -> bool:
    """Run a night on an empty disk of this size: whether it filled it, and then it says what to do."""
    disk.empty()
    assert disk.resize(size)
    code = start(engine, project, as_of).wait(timeout=PATIENCE)
    assert disk.resize()
    if code:
        last = log_of(project).rstrip().splitlines()[-1]
        assert code == 1, last
        assert last.startswith("error: ")
        assert "No space left on device" in last
        assert last.endswith(
            "; make room on the disk of the warehouse or on that of working files (TMPDIR, or "
            "SPARK_LOCAL_DIRS), then run the same command again to resume"
        )
    return code != 0


def _mount(*options: str) -> bool:
    return subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0
