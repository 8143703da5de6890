"""One job at a time writes a warehouse."""

import errno
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from pipelines.config.errors import BusyError, ConfigError
from pipelines.config.instants import format_instant
from pipelines.storage.inputs.contract import first_line
from pipelines.storage.inputs.paths import file_system, local_path
from pipelines.storage.lease import HeldError, leased

LOCK = "_writer.lock"
"""The file that is locked. Its name begins with an underscore, so no engine takes it for data."""
HOLDER = "_writer.txt"
"""The file with one line about the job that has the lock. On Windows no other process reads a locked file."""
BUSY = "warehouse: another job is writing {}: {}; wait until it has ended, then run this again"
NAMED_WITHIN = 1
"""Seconds in which a job that has got the lock writes its line."""
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
"""What a file system without locks answers."""
log = logging.getLogger(__name__)


@contextmanager
def only_writer(root: str, job: str) -> Iterator[None]:
    """Hold the writer lock of this warehouse while the block runs.

    On a local disk the operating system holds the lock for the process and releases it when the process
    ends, however that happens: the files that a killed job leaves lock nothing. Behind a URI the file is a
    lease (`leased`).
    Where neither works, a warning says so (docs/operations.md, One writer at a time).

    Args:
        root: the warehouse's folder.
        job: what the next one is told.

    Raises:
        BusyError: another job is writing.
        ConfigError: the folder can't be written.
    """
    folder = local_path(root)
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
    holder = Path(folder, HOLDER)
    lock = FileLock(Path(folder, LOCK), timeout=0, fallback_to_soft=False)
    with ExitStack() as stack:
        try:
            os.makedirs(folder, exist_ok=True)
            stack.enter_context(lock)
        except Timeout:
            raise BusyError(BUSY.format(root, _line_in(holder))) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise _not_written(root, error) from error
            log.warning("%s can't be locked (%s); see that no other job writes it", root, error.strerror)
        try:
            holder.write_text(f"{_holder(job)}\n", encoding="utf-8")
        except OSError as error:
            raise _not_written(root, error) from error
        try:
            yield
        finally:
            with suppress(OSError):
                holder.unlink()


def _not_written(root: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"warehouse: {root} can't be written ({error.strerror}); give this user the right to write, or "
        "name another folder"
    )


def _line_in(holder: Path) -> str:
    """The line of the job that has the lock; the job writes it just after it has got the lock."""
    until = time.monotonic() + NAMED_WITHIN
    while True:
        with suppress(OSError):
            if line := holder.read_text(encoding="utf-8").strip():
                return line
        if time.monotonic() >= until:
            return "it has just begun"
        time.sleep(0.01)


def _holder(job: str) -> str:
    since = format_instant(datetime.now(UTC).replace(microsecond=0))
    return f"{job}, since {since}, process {os.getpid()} on {socket.gethostname()}"
