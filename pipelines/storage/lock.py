"""One job at a time writes a warehouse."""

import fcntl
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TextIO

from pipelines.config.errors import BusyError, ConfigError
from pipelines.config.instants import format_instant
from pipelines.storage.inputs.contract import first_line
from pipelines.storage.inputs.paths import file_system, on_local_disk
from pipelines.storage.lease import HeldError, leased

LOCK = "_writer.lock"
"""Its name begins with an underscore, so no engine takes it for data."""
BUSY = "warehouse: another job is writing {}: {}; wait until it has ended, then run this again"
NAMED_WITHIN = 1
"""Seconds in which who has the lock has written its name into it (our choice)."""
log = logging.getLogger(__name__)


@contextmanager
def only_writer(root: str, job: str) -> Iterator[None]:
    """Be the only job that writes this warehouse, for the time of the block.

    On a local disk the operating system holds the lock for the process and lets go of it when the process
    ends, however that happens, so nothing is left to remove. Behind a URI the file is a lease (`leased`).
    Where neither works, a warning says so (docs/operations.md, One writer at a time).

    Args:
        root: the warehouse's folder.
        job: what the next one is told.

    Raises:
        BusyError: another job is writing.
        ConfigError: the folder can't be written.
    """
    folder = on_local_disk(root)
    with _leased(root, job) if folder is None else _locked(root, folder, job):
        yield


@contextmanager
def _leased(root: str, job: str) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            store, path, _ = file_system(f"{root}/{LOCK}")
            stack.enter_context(leased(store, path, _holder(job)))
        except HeldError as held:
            raise BusyError(BUSY.format(root, held)) from None
        except (ConfigError, OSError) as error:
            log.warning("%s can't be guarded (%s); see that no other job writes it", root, first_line(error))
        yield


@contextmanager
def _locked(root: str, folder: str, job: str) -> Iterator[None]:
    try:
        os.makedirs(folder, exist_ok=True)
        lock = os.open(f"{folder}/{LOCK}", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ConfigError(
            f"warehouse: {root} can't be written ({error.strerror}); give this user the right to write, or "
            "name another folder"
        ) from error
    with os.fdopen(lock, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(BUSY.format(root, _named_in(file))) from None
        except OSError as error:
            # Some network file systems have no locks.
            log.warning("%s can't be locked (%s); see that no other job writes it", root, error.strerror)
        file.truncate(0)
        file.write(f"{_holder(job)}\n")
        file.flush()
        yield


def _named_in(file: TextIO) -> str:
    """Who holds the lock; it says so just after it got it, so it is waited for a moment."""
    until = time.monotonic() + NAMED_WITHIN
    while not (named := file.read().strip()) and time.monotonic() < until:
        time.sleep(0.01)
        file.seek(0)
    return named or "it has just begun"


def _holder(job: str) -> str:
    since = format_instant(datetime.now(UTC).replace(microsecond=0))
    return f"{job}, since {since}, process {os.getpid()} on {socket.gethostname()}"
