"""Standard output and standard error of a job, also where one of them is closed, full, or read no more."""

import io
import os
import sys
import time
from typing import Any, TextIO

from pipelines.config.errors import OutputError
from pipelines.engine.errors import is_broken_pipe

STDIN, STDOUT, STDERR = range(3)
WAITS_FOR_ROOM = 0.01
"""Seconds after which a full pipe is tried again."""


def protect_streams() -> None:
    """Replace `sys.stdout` and `sys.stderr` by streams that say what a failed write means for the job.

    - Standard error: a line that can't be written is lost.
    - Standard output whose reader has gone (`| head`): the rest is lost, and the job ends as it would have.
    - Standard output that is closed or full: an error that names it.

    Only what Python prints goes to standard output from now on. What the engine and its processes print goes
    to standard error: answers in JSON stay JSON.
    """
    closed = {number for number in (STDIN, STDOUT, STDERR) if _is_closed(number)}
    _fill(closed)
    output = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    sys.stdout = _text(_Output(output, closed=STDOUT in closed), like=sys.stdout)
    sys.stderr = _text(_Remarks(STDERR), like=sys.stderr, line_buffering=True)


class _Raw(io.RawIOBase):
    """A stream whose writes wait for room, also where another process has made its pipe non-blocking."""

    def __init__(self, number: int) -> None:
        # open() knows the console of Windows, which takes text and no bytes of a code page.
        self._stream = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, data: Any) -> int:
        while (written := self._stream.write(data)) is None:
            time.sleep(WAITS_FOR_ROOM)
        return written


class _Remarks(_Raw):
    """Standard error; what can't be written is lost."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


class _Output(_Raw):
    """Standard output; behind its first failure everything is lost."""

    def __init__(self, number: int, *, closed: bool) -> None:
        super().__init__(number)
        self._is_closed = closed
        self._is_lost = False

    def write(self, data: Any) -> int:
        if self._is_lost:
            return len(data)
        try:
            if not self._is_closed:
                return super().write(data)
            reason = "it is closed"
        except OSError as error:
            if is_broken_pipe(error):
                self._is_lost = True
                return len(data)
            reason = error.strerror or str(error)
        self._is_lost = True
        raise OutputError(
            f"standard output can't be written ({reason}); send it to a file or to a program that reads it"
        )


def _text(raw: _Raw, *, like: TextIO | None, line_buffering: bool = False) -> TextIO:
    encoding = (like.encoding if like else None) or "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=line_buffering or raw.isatty(),
    )


def _is_closed(number: int) -> bool:
    # Python has no stream of what was closed at its start, even if another file has the number since.
    if (sys.stdin, sys.stdout, sys.stderr)[number] is None:
        return True
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


def _fill(closed: set[int]) -> None:
    """Open the null device under the numbers that are free: files of the job must not get them."""
    for number in closed:
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
