"""A folder on the local disk for the temporary files of a process."""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from uuid import uuid4

from filelock import FileLock, Timeout

from pipelines.console.invocation import is_under_spark_submit

PREFIX = "conversation-priorities-"
LOCK = ".lock"
"""The end of the name of a file beside a folder; the process that uses the folder holds the file's lock."""

_one_at_a_time = Lock()
_folders: dict[Path, FileLock] = {}
"""The folder of this process, with its lock."""


def local_scratch() -> Path:
    """The folder of this process, where its engine has its own temporary files; it goes with the process.

    A process that was killed leaves its folder behind, and the next one to ask removes it.
    """
    with _one_at_a_time:
        return _made()


@cache
def _made() -> Path:
    parent = _parent()
    _remove_abandoned(parent)
    folder = parent / f"{PREFIX}{uuid4()}"
    # The lock comes first: a folder without one would be removed by others.
    lock = _lock_of(folder)
    lock.acquire()
    folder.mkdir(0o700)
    _folders[folder] = lock
    atexit.register(remove_local_scratch)
    return folder


def _lock_of(folder: Path) -> FileLock:
    return FileLock(folder.with_name(f"{folder.name}{LOCK}"), thread_local=False)


def _parent() -> Path:
    """The first of SPARK_LOCAL_DIRS under Apache Spark, else the system's folder for temporary files."""
    given = os.environ.get("SPARK_LOCAL_DIRS", "") if is_under_spark_submit() else ""
    parent = Path(given.split(",")[0].strip() or tempfile.gettempdir()).absolute()
    parent.mkdir(parents=True, exist_ok=True)
    return parent


def is_in_local_scratch(path: str) -> bool:
    """Whether a path leads into the folder of this process."""
    return any(path.startswith(f"{folder.as_posix()}/") for folder in _folders)


def remove_local_scratch() -> None:
    """Remove the folder of this process, if it has one."""
    for folder, lock in _folders.items():
        _remove(folder, lock)


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders whose lock no process holds."""
    for path in parent.glob(f"{PREFIX}*{LOCK}"):
        folder = path.with_name(path.name.removesuffix(LOCK))
        lock = _lock_of(folder)
        with suppress(Timeout, OSError):
            lock.acquire(timeout=0)
            _remove(folder, lock)


def _remove(folder: Path, lock: FileLock) -> None:
    """Remove a folder whose lock this process holds, then the lock unless Windows has a file in use."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        lock.release()
        with suppress(OSError):
            Path(lock.lock_file).unlink()
