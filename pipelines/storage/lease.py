"""A lease: how jobs on several machines see which of them writes a warehouse behind a URI."""

import logging
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from uuid import uuid4

from pyarrow import fs

log = logging.getLogger(__name__)

RENEWED_EVERY = 10.0
"""Seconds after which a running job writes its lease again."""
WATCHED_FOR = 35.0
"""Seconds without a change after which a lease is taken for that of a job that died."""
SETTLED_AFTER = 2.0
"""Seconds after which a job reads its new lease back: of two that begin at once, the later one has it."""


class HeldError(Exception):
    """Another job holds the lease; the text is what that job wrote about itself."""


@contextmanager
def leased(store: fs.FileSystem, path: str, holder: str) -> Iterator[None]:
    """Hold the lease while the block runs.

    The holder writes the file again every few seconds. Another command watches whether the file changes, so
    clocks of two machines are never compared. The lease of a killed command stops changing and is taken over.
    A holder whose lease was taken over while its machine slept ends its process; it may be run again.

    Args:
        store: the file system.
        path: the lease's file in it.
        holder: one line for the next job to show.

    Raises:
        HeldError: another job holds it.
        OSError: the file can't be read or written.
    """
    found = _read(store, path)
    if found is not None and _changes(store, path, found):
        raise HeldError(_holder(found))
    own = f"{holder}\n{uuid4()}\n"
    _write(store, path, own)
    time.sleep(SETTLED_AFTER)
    found = _read(store, path)
    if not _is_of(found, own):
        raise HeldError(_holder(found or ""))
    ended = Event()
    renewing = Thread(target=_renew, args=(store, path, own, ended), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        if _is_of(_read(store, path), own):
            store.delete_file(path)


def _changes(store: fs.FileSystem, path: str, found: str) -> bool:
    """Whether a job that lives holds the lease: it is written again, not removed, while it is watched."""
    log.warning("%s: there is a lease; watching for up to %.0f s whether its job lives", path, WATCHED_FOR)
    end = time.monotonic() + WATCHED_FOR
    while time.monotonic() < end:
        time.sleep(min(1.0, WATCHED_FOR / 10))
        now = _read(store, path)
        if now != found:
            return now is not None
    log.warning("%s: its job (%s) is gone; taking it over", path, _holder(found))
    return False


def _renew(store: fs.FileSystem, path: str, own: str, ended: Event) -> None:
    count = 0
    while not ended.wait(RENEWED_EVERY):
        count += 1
        try:
            found = _read(store, path)
            if not _is_of(found, own):
                log.error(
                    "the lease %s was taken over by another job (%s); ending", path, _holder(found or "")
                )
                signal.raise_signal(signal.SIGTERM)
                return
            _write(store, path, f"{own}{count}\n")
        except OSError as error:
            log.warning("the lease %s could not be renewed: %s", path, error)


def _holder(found: str) -> str:
    return found.partition("\n")[0]


def _is_of(found: str | None, own: str) -> bool:
    return found is not None and found.startswith(own)


def _read(store: fs.FileSystem, path: str) -> str | None:
    try:
        with store.open_input_stream(path) as file:
            return str(file.read().decode(errors="replace"))
    except FileNotFoundError:
        return None


def _write(store: fs.FileSystem, path: str, text: str) -> None:
    with store.open_output_stream(path) as file:
        file.write(text.encode())
