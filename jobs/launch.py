"""How every job starts and ends: its options, its session, its log, its exit code."""

import argparse
import gc
import logging
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NoReturn

from jobs.signals import end_at_once_on_signals, wait_if_ending
from jobs.streams import protect_streams
from pipelines.config.errors import ConfigError, PipelineError, one_line
from pipelines.config.instants import parse_instant
from pipelines.config.load import Settings, load_settings
from pipelines.console.terminal import visible, visible_line
from pipelines.engine.errors import fault_of, lacking
from pipelines.engine.session import open_session
from pipelines.storage.warehouse import Warehouse

LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"
GARBAGE = 1_000_000
"""So many objects more than before are worth a look for garbage; Python's own 700 takes half a second."""


class StoreOnce(argparse.Action):
    """The value of an option; another value for it would take the first one's place without a word."""

    _is_given = False

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Store the value."""
        if option_string and self._is_given and getattr(namespace, self.dest) != values:
            parser.error(f"{option_string} is given twice, with two values; keep one of the two")
        self._is_given = True
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """The options of a job: its own, and those that all jobs share.

    Errors are one line and exit code 2.
    """

    def __init__(self, description: str, *, example: str = "", config: bool = True) -> None:
        """Say what the command does and show one call of it; every job but the generator reads settings."""
        super().__init__(
            description=description,
            epilog=f"example: {example}" if example else None,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if config:
            self.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
        self.add_argument(
            "--verbose",
            action="store_true",
            help="log every write (table, rows, files, seconds), and show the traceback of an error",
        )

    def add_as_of(self, help: str, *, required: bool = False) -> None:
        """Add --as-of: an instant, in UTC unless it has an offset."""
        self.add_argument(
            "--as-of", required=required, type=instant, help=f"{help}, e.g. 2026-11-21T00:00:00Z"
        )

    def add_format(self) -> None:
        """Add --format: what is printed is for people or for programs."""
        self.add_argument("--format", choices=("table", "json"), default="table", help="default table")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line in one line.

        Raises:
            ConfigError: always.
        """
        raise ConfigError(f"command line: {message}; {self.prog} --help lists the options")


def instant(text: str) -> datetime:
    """Read an instant of the command line; one without an offset is UTC."""
    try:
        return parse_instant(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


LARGEST = 2_147_483_647
"""What engines take for a count of rows."""
CENTURY_DAYS = 36_500


def whole_number(least: int, most: int = LARGEST) -> Callable[[str], int]:
    """Read a whole number of the command line from `least` to `most`."""
    allowed = f"of {least} or more" if most == LARGEST else f"from {least} to {most}"

    def count(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {allowed}")
        return int(text)

    return count


def opened(options: Namespace, name: str) -> tuple[Settings, Warehouse]:
    """Read the settings that --config names, then open the session and the warehouse.

    Raises:
        ConfigError: the settings, the catalog or the rules are wrong (no engine was started for that), or
            the warehouse is one of an older version.
    """
    settings = load_settings(options.config)
    return settings, warehouse_of(settings, name)


def warehouse_of(settings: Settings, name: str) -> Warehouse:
    """Open the session and the warehouse, for a job that looks at its settings first.

    Raises:
        ConfigError: the warehouse is one of an older version, or shares files with an input.
    """
    warehouse = Warehouse(open_session(name, settings.warehouse), settings.warehouse)
    suspect(warehouse.root)
    settings.require_apart(warehouse.root)
    warehouse.require_this_shape()
    return warehouse


_suspects: list[str] = []


def suspect(root: str) -> None:
    """Look whether this warehouse is damaged, should the job fail over something that is no user's fault."""
    _suspects.append(root)


def launch(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Run a job's `main` and end the process with its exit code.

    A `PipelineError` is what a user can act on: its message alone, and its exit code. Anything else is a
    fault of ours: one line and exit code 1. The traceback of each is for `--verbose`.
    """
    # What was imported stays, and plans are small objects by the ten thousand: most of them are no garbage.
    gc.freeze()
    gc.set_threshold(GARBAGE)
    protect_streams()
    end_at_once_on_signals()
    argv = sys.argv[1:]
    verbose = "--verbose" in argv
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[_log_handler()])
    for chatty in ("py4j", "pyspark.sql.connect"):
        logging.getLogger(chatty).setLevel(logging.CRITICAL)
    try:
        try:
            code = main(argv)
        except SystemExit as ended:  # --help
            code = int(ended.code or 0)
        sys.stdout.flush()
    except Exception as error:
        wait_if_ending()
        code, line = outcome_of(error)
        print(f"error: {visible(line)}", file=sys.stderr)
        if verbose:
            print(visible(traceback.format_exc()), end="", file=sys.stderr)
    sys.exit(code)


class _Lines(logging.Formatter):
    """A record is one line, whatever names are in it; the traceback of an error follows."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return visible_line(super().formatMessage(record))


def _log_handler() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(LOG_FORMAT))
    return handler


def outcome_of(error: Exception) -> tuple[int, str]:
    """The exit code of a job that failed, and the line that says why."""
    if isinstance(error, PipelineError):
        return error.exit_code, str(error)
    fault = fault_of(error)
    if advice := lacking(fault):
        return 1, f"{fault}; {advice}"
    # Few jobs fail, and all would wait for it.
    from pipelines.storage.damage import damage_of

    if damage := [line for root in _suspects for line in damage_of(root)]:
        return 1, "\n".join(map(one_line, damage))
    return 1, f"{type(error).__name__}: {fault} (run again with --verbose)"
