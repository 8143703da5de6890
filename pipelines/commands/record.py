"""Take captures of a server at intervals, and say on standard output which files they are."""

import sys
import time
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pipelines.capture.connection import driver_errors, open_connection, server_of
from pipelines.capture.recorder import SAID_AGAIN_AFTER, Clock, Plan, Recorder, Reports, Source, only_recorder
from pipelines.capture.retention import delete_older
from pipelines.capture.run import Written
from pipelines.capture.script import capture_script
from pipelines.commands.signals import finish_on_first_signal
from pipelines.config.errors import PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.model import SparkSchema
from pipelines.console.terminal import escape_line
from pipelines.console.wording import format_count
from pipelines.server.captures.known import read_known
from pipelines.server.captures.objects import instant_of
from pipelines.settings.load import KNOWN_ONLY, load_settings

FULL_EVERY = 3600.0
"""Seconds between two full captures, unless given."""


def record(options: Namespace, string: str) -> int:
    """Take captures until --for is over or a signal comes, and return the exit code.

    Args:
        options: of the command.
        string: the connection string.

    Raises:
        BusyError: another recorder of this server writes into the folder.
        ConfigError: the settings that --keep needs are wrong, or the driver is not installed.
    """
    server = options.server or server_of(string)
    source = Source(
        connect=partial(open_connection, string),
        problems=partial(driver_errors, "the server answered", string),
        full=capture_script(options.database),
        light=capture_script(options.database, is_light=True),
        server=server,
    )
    plan = Plan(options.every, options.full_every or FULL_EVERY, vars(options)["for"])
    reports = _Printed(options.out, options.keep, _warehouse_of(options.config))
    clock = Clock()
    with only_recorder(options.out, server) as folder:
        finish_on_first_signal(clock.stop)
        written = Recorder(source, folder, plan, reports, clock).run()
    if not written and not reports.has_failed:
        print("error: capture: no capture was written", file=sys.stderr)
    return 0 if written else 1


def _warehouse_of(config: str | None) -> str | SparkSchema | None:
    return None if config is None else load_settings(config, KNOWN_ONLY).warehouse


class _Printed(Reports):
    """Reports as lines; what the warehouse has taken is deleted behind each full capture."""

    def __init__(self, folder: Path, keep: float | None, warehouse: str | SparkSchema | None) -> None:
        self._folder, self._keep, self._warehouse = folder, keep, warehouse
        self._said_at: dict[str, float] = {}
        self._newest: datetime | None = None
        """The newest moment of a capture that was written."""
        self.has_failed = False

    def wrote(self, written: Written, *, is_full: bool) -> None:
        print(escape_line(f"wrote {written.path}"), flush=True)
        taken_at = instant_of(written.lines.header["taken_at"])
        self._newest = max(taken_at, self._newest or taken_at)
        for warning in written.lines.warnings():
            self._warn(warning)
        if taken_at < self._newest:
            newest = format_instant(self._newest)
            self._warn(f"the server's clock has gone back: an earlier capture was taken at {newest}")
        if is_full and self._keep is not None:
            try:
                self._delete(self._newest, timedelta(seconds=self._keep))
            except PipelineError as error:
                self._warn(f"--keep: {error}")

    def failed(self, error: PipelineError) -> None:
        self.has_failed = True
        self._print("error", str(error))

    def skipped(self, beats: int) -> None:
        count = format_count(beats, "capture")
        self._print("warning", f"{count} skipped: one took longer than the interval of --every")

    def _warn(self, warning: str) -> None:
        now = time.monotonic()
        if now - self._said_at.get(warning, -SAID_AGAIN_AFTER) >= SAID_AGAIN_AFTER:
            self._said_at[warning] = now
            self._print("warning", warning)

    def _print(self, kind: str, text: str) -> None:
        """Print a line with the time, which a log of cron does not add."""
        now = format_instant(datetime.now(UTC).replace(microsecond=0))
        print(f"{kind}: {escape_line(text)} ({now})", file=sys.stderr)

    def _delete(self, newest: datetime, keep: timedelta) -> None:
        known = read_known(self._warehouse) if isinstance(self._warehouse, str) else []
        if not known:
            self._warn(
                "--keep: no capture was deleted, as the warehouse has taken none that can be read here"
            )
            return
        deleted = delete_older(self._folder, known, newest, keep)
        if deleted:
            count = format_count(len(deleted), "capture")
            print(f"deleted {count} that the warehouse has taken", file=sys.stderr)
