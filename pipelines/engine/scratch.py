"""A folder on the local disk for what a process keeps while it runs."""

import atexit
import fcntl
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TextIO

from pipelines.console.invocation import is_under_spark_submit

PREFIX = "conversation-priorities-"
LOCK = "in_use"

_one_at_a_time = Lock()
_folders: dict[Path, TextIO] = {}
"""The folder of this process, with the lock that says so for as long as the process lives."""


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
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    # Others look for the lock by its name, so it is held before it has it.
    unnamed = folder / f"{LOCK}.new"
    lock = unnamed.open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    unnamed.rename(folder / LOCK)
    _folders[folder] = lock
    atexit.register(remove_local_scratch)
    return folder


def _parent() -> Path:
    """The first of SPARK_LOCAL_DIRS under Apache Spark, else the system's folder for temporary files."""
    given = os.environ.get("SPARK_LOCAL_DIRS", "") if is_under_spark_submit() else ""
    parent = Path(given.split(",")[0].strip() or tempfile.gettempdir()).absolute()
    parent.mkdir(parents=True, exist_ok=True)
    return parent


def is_in_local_scratch(path: str) -> bool:
    """Whether a path leads into the folder of this process."""
    return any(path.startswith(f"{folder}/") for folder in _folders)


def remove_local_scratch() -> None:
    """Remove the folder of this process, if it has one."""
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders whose lock nobody holds; one without a lock is just being made."""
    for path in parent.glob(f"{PREFIX}*/{LOCK}"):
        try:
            with path.open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)
        except OSError:
            continue
