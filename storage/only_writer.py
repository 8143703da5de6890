"""One job at a time writes a warehouse."""

import fcntl
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from config.errors import BusyError, ConfigError
from config.instants import format_instant
from storage.inputs.places import on_local_disk

LOCK = "_writer.lock"
"""Its name begins with an underscore, so no engine takes it for data."""
log = logging.getLogger(__name__)


@contextmanager
def only_writer(root: str, job: str) -> Iterator[None]:
    """Be the only job that writes this warehouse, for the time of the block.

    The operating system holds the lock for the process and lets go of it when the process ends, however
    that happens, so nothing is left to remove. A warehouse that is not on a local disk is not guarded: the
    scheduler has to see to it (docs/operations.md, One writer at a time).

    Args:
        root: the warehouse's folder.
        job: what the next one is told.

    Raises:
        BusyError: another job is writing.
        ConfigError: the folder can't be written.
    """
    folder = on_local_disk(root)
    if folder is None:
        yield
        return
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
            raise BusyError(
                f"warehouse: another job is writing {root}: {file.read().strip() or 'it has just begun'}; "
                "wait until it has ended, then run this again"
            ) from None
        except OSError as error:
            # Some network file systems have no locks.
            log.warning("%s can't be locked (%s); see that no other job writes it", root, error.strerror)
        file.truncate(0)
        since = format_instant(datetime.now(UTC).replace(microsecond=0))
        file.write(f"{job}, since {since}, process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
