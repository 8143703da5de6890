"""Take captures of one server at intervals, into a folder for each day."""

import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from filelock import FileLock, Timeout

from pipelines.capture.connection import Connection
from pipelines.capture.run import (
    PARTIAL,
    Lines,
    Problems,
    Written,
    broken,
    fetch,
    file_name,
    new_file,
    without_forbidden,
)
from pipelines.config.errors import BusyError, OutputError, PipelineError, ServerError
from pipelines.server.snapshots.views import ENDPOINTS

LOCK = ".recorder-"
"""Begins the name of the file that a recorder locks; the server's name follows."""
LONGEST_PAUSE = 600.0
"""Seconds between two attempts to connect."""
LEAST_PATIENCE = 60.0
"""Seconds that a capture may take at least before it counts as lost."""
INTERVALS_OF_PATIENCE = 10
SAID_AGAIN_AFTER = 3600.0
"""Seconds after which a warning that still holds is printed again."""
PACKED = ".gz"
CLOSES_WITHIN = 1.0
"""Seconds that the end of a connection is waited for."""


@dataclass(frozen=True)
class Plan:
    """When captures are taken, in seconds.

    Attributes:
        every: between two captures.
        full_every: between two full ones.
        until: how long it goes on; None until it is stopped.
    """

    every: float
    full_every: float
    until: float | None = None


@dataclass(frozen=True)
class Source:
    """How the server is asked.

    Attributes:
        connect: opens the connection for a block.
        problems: the context in which the driver is called.
        full, light: the scripts.
        server: the name that the user calls it by.
    """

    connect: Callable[[], AbstractContextManager[Connection]]
    problems: Problems
    full: str
    light: str
    server: str


@dataclass
class Clock:
    """Seconds since any moment, and a wait that `stop` ends."""

    stop: Event = field(default_factory=Event)

    def now(self) -> float:
        """The seconds."""
        return time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait, and return whether the recorder shall stop."""
        return self.stop.wait(max(0.0, seconds))


class Reports:
    """What a recorder tells; the default tells nothing."""

    def wrote(self, written: Written, *, is_full: bool) -> None:
        """A capture is in its place."""

    def failed(self, error: PipelineError) -> None:
        """A capture failed."""

    def skipped(self, beats: int) -> None:
        """Captures were skipped, because one took longer than the interval."""


class LockedFolder:
    """The folder of a recorder, which locks it for its server."""

    def __init__(self, folder: Path, server: str) -> None:
        """Name the folder and the server; nothing is locked yet."""
        self.path = folder
        self._server = server
        self._file = folder / f"{LOCK}{without_forbidden(server)}"
        self._lock = FileLock(self._file, timeout=0, fallback_to_soft=False)
        self._locked: tuple[int, int] | None = None
        """The file that is locked: its device and its number there."""

    def lock(self) -> bool:
        """Be the only recorder of this server in this folder, also if the folder was deleted meanwhile.

        Returns:
            Whether it was not locked before: the folder is new, or what was in it is gone.

        Raises:
            BusyError: there is another.
            OutputError: the folder can't be written.
        """
        if self._locked is not None and self._locked == self._identity():
            return False
        self.release()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise BusyError(
                f"capture: another recorder of {self._server} writes into {self.path}; end it, or name "
                "another --out"
            ) from None
        except OSError as error:
            raise OutputError(
                f"capture: {self.path} can't be written ({error.strerror}); name another --out"
            ) from error
        self._locked = self._identity()
        return True

    def release(self) -> None:
        """Let others lock it."""
        self._lock.release()
        self._locked = None

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._file)
        except OSError:
            return None
        return found.st_dev, found.st_ino


class Recorder:
    """Takes full captures, and light ones between them.

    A light capture has the endpoints of handles in queues and transmission queues alone; those that a
    capture since the last full one has shown are left out of its file.
    """

    def __init__(
        self, source: Source, folder: LockedFolder, plan: Plan, reports: Reports, clock: Clock
    ) -> None:
        """Name the server, the folder and the plan; nothing is read yet."""
        self._source, self._folder, self._plan = source, folder, plan
        self._reports, self._clock = reports, clock
        self._link = _Link(source.connect)
        self._full_at: float | None = None
        """When the beat of the last full capture was, in seconds of the plan."""
        self._server: str | None = None
        self._shown: set[str] = set()
        """The endpoints that captures have shown since the last full one."""

    def run(self) -> int:
        """Take captures until the plan or the clock ends it, and return how many were written.

        Raises:
            BusyError: the folder was deleted, and another recorder writes into the new one.
        """
        try:
            return self._record()
        finally:
            self._disconnect()

    def _record(self) -> int:
        plan, began = self._plan, self._clock.now()
        beat = written = skipped = 0
        pause = plan.every
        told_at: float | None = None
        while plan.until is None or beat * plan.every < plan.until:
            due = beat * plan.every
            if self._clock.wait(due - (self._clock.now() - began)):
                break
            following = beat + 1
            try:
                self._take(due)
            except OutputError as error:
                self._reports.failed(error)
                # Its answer was not read to the end.
                self._disconnect()
            except ServerError as error:
                self._reports.failed(error)
                self._disconnect()
                following = beat + math.ceil(pause / plan.every)
                pause = max(plan.every, min(2 * pause, LONGEST_PAUSE))
            else:
                written += 1
                pause = plan.every
            passed = self._clock.now() - began
            next_beat = max(following, math.ceil(passed / plan.every))
            skipped += next_beat - following
            if skipped and (told_at is None or passed - told_at >= SAID_AGAIN_AFTER):
                self._reports.skipped(skipped)
                skipped, told_at = 0, passed
            beat = next_beat
        if skipped:
            self._reports.skipped(skipped)
        return written

    def _take(self, due: float) -> None:
        if self._folder.lock():
            # What was shown before is in no file any more.
            self._full_at = None
        is_full = self._full_at is None or due - self._full_at >= self._plan.full_every
        attempt = _Attempt(lambda placing: self._write(placing, is_full=is_full))
        written, shown = attempt.result(max(LEAST_PATIENCE, INTERVALS_OF_PATIENCE * self._plan.every))
        server = written.lines.header["server"]
        # Another server answers under this name: what was shown before is not its own.
        self._full_at = due if is_full else self._full_at if server == self._server else None
        self._shown = shown if is_full else self._shown | shown
        self._server = server
        self._reports.wrote(written, is_full=is_full)

    def _write(
        self, placing: Callable[[], AbstractContextManager[None]], *, is_full: bool
    ) -> tuple[Written, set[str]]:
        """Write a capture, and return it with the endpoints that its file shows."""
        source, connection = self._source, self._link.connection()
        lines, kept = Lines(), _Endpoints(set() if is_full else self._shown)
        with ExitStack() as stack:
            partial = Path()
            for line in fetch(connection, source.full if is_full else source.light, source.problems):
                found = lines.add(line)
                if not partial.name:
                    name = file_name(lines.header)
                    # The UTC day of the capture.
                    folder = self._folder.path / str(lines.header["taken_at"])[:10]
                    prefix = f"{without_forbidden(source.server)}."
                    partial, file = stack.enter_context(new_file(folder, prefix, packed=True))
                if (text := kept.line(found, str(line))) is not None:
                    file.write(f"{text}\n")
            if not lines.is_whole:
                raise broken("no end line")
            file.close()
            with placing():
                path = _free_path(folder / f"{name}{PACKED}")
                os.replace(partial, path)
        return Written(path, lines), kept.new

    def _disconnect(self) -> None:
        self._link.close()
        self._link = _Link(self._source.connect)


class _Link:
    """A connection that is opened when it is first needed."""

    def __init__(self, connect: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._connect, self._closing = connect, ExitStack()
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        if self._connection is None:
            self._connection = self._closing.enter_context(self._connect())
        return self._connection

    def close(self) -> None:
        # A connection that was lost may fail, or wait for the server.
        thread = Thread(target=self._close, name="close", daemon=True)
        thread.start()
        thread.join(CLOSES_WITHIN)

    def _close(self) -> None:
        with suppress(Exception):
            self._closing.close()


class _Endpoints:
    """The lines of a capture without the endpoints that are left out of it."""

    def __init__(self, shown: set[str]) -> None:
        self._shown = shown
        self._left_out: dict[str, int] = {}
        self.new: set[str] = set()

    def line(self, found: dict[str, Any], line: str) -> str | None:
        """What the file has for a line; None if it leaves the line out."""
        if found.get("view") == ENDPOINTS:
            database = str(found.get("database"))
            if "row" in found:
                id = f"{found['row'].get('conversation_handle')} {database}"
                if id in self._shown:
                    self._left_out[database] = self._left_out.get(database, 0) + 1
                    return None
                self.new.add(id)
            elif left_out := self._left_out.get(database):
                return _text({**found, "count": found["count"] - left_out})
        elif found.get("end") is True and self._left_out:
            return _text({**found, "rows": found["rows"] - sum(self._left_out.values())})
        return line


class _Attempt:
    """Work in a thread of its own, as a driver that hangs can't be interrupted."""

    def __init__(self, work: Callable[[Callable[[], AbstractContextManager[None]]], Any]) -> None:
        self._work = work
        self._lock = Lock()
        self._is_lost = self._is_placed = False
        self._result: Any = None
        self._error: Exception | None = None

    def result(self, patience: float) -> Any:
        """Do the work and return its result.

        Raises:
            ServerError: it took longer; nothing of it is written any more.
        """
        thread = Thread(target=self._run, name="capture", daemon=True)
        thread.start()
        thread.join(patience)
        with self._lock:
            self._is_lost = thread.is_alive() and not self._is_placed
        if self._is_lost:
            raise ServerError(f"capture: the server has not answered for {patience:g} s")
        thread.join()
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._work(self._placing)
        except Exception as error:
            self._error = error

    @contextmanager
    def _placing(self) -> Iterator[None]:
        with self._lock:
            if self._is_lost:
                raise ServerError("capture: it came too late")
            yield
            self._is_placed = True


@contextmanager
def only_recorder(folder: Path, server: str) -> Iterator[LockedFolder]:
    """Be the only recorder of this server in this folder, and remove what a killed one left.

    Raises:
        BusyError: there is another.
        OutputError: the folder can't be written.
    """
    locked = LockedFolder(folder, server)
    locked.lock()
    try:
        _remove_partial(folder, server)
        yield locked
    finally:
        locked.release()


def _remove_partial(folder: Path, server: str) -> None:
    """Remove the unfinished files of a server."""
    pattern = re.compile(rf"\.{re.escape(without_forbidden(server))}\.[0-9a-f-]{{36}}{re.escape(PARTIAL)}")
    for path in folder.glob(f"????-??-??/.*{PARTIAL}"):
        if pattern.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()


def _free_path(path: Path) -> Path:
    """The path, or one with a number where a capture of the same second is there."""
    number, stem = 1, path.name.removesuffix(f".jsonl{PACKED}")
    while path.exists():
        number += 1
        path = path.with_name(f"{stem}-{number}.jsonl{PACKED}")
    return path


def _text(found: dict[str, Any]) -> str:
    return json.dumps(found, separators=(",", ":"))
