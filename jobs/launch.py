"""How every job starts and ends: its session, its log, its exit code."""

import argparse
import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NoReturn

from pyspark.sql import SparkSession

from jobs.interruption import INTERRUPTION, exit_code
from pipelines.errors import ConfigError, PipelineError
from pipelines.settings.instants import parse_instant
from pipelines.settings.model import SparkSchema

LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and exit code 2, and that offers `--verbose`."""

    def __init__(self, description: str) -> None:
        """Describe the command; the description is the first line of its help."""
        super().__init__(description=description, allow_abbrev=False)
        self.add_argument("--verbose", action="store_true", help="log every step and show tracebacks")

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


def whole_number(least: int) -> Callable[[str], int]:
    """Read a whole number of the command line that is not less than `least`."""

    def count(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
        return int(text)

    return count


def session(name: str, warehouse: str | SparkSchema | None) -> SparkSession:
    """Open the session that spark-submit configured; times are UTC, whatever the machine says.

    Tables that have names need a catalog that outlives the session: a metastore, which Spark finds by
    hive-site.xml. Nothing is asked of it for a warehouse that is a folder, or for none.
    """
    builder = SparkSession.builder.appName(name)
    if isinstance(warehouse, SparkSchema):
        builder = builder.enableHiveSupport()
    spark = builder.getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    INTERRUPTION.watch(spark)
    return spark


def launch(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Run a job's `main` and end the process with its exit code.

    A `PipelineError` is what a user can act on: its message alone, and its exit code. A signal is told
    by its name, and ends with 128 and its number. Anything else is a fault of ours: one line and exit
    code 1. The traceback of each is for `--verbose`.
    """
    argv = sys.argv[1:]
    verbose = "--verbose" in argv
    # What fails inside a stream's callback is told once, by the lines below.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format=LOG_FORMAT, stream=sys.stderr
    )
    INTERRUPTION.listen()
    try:
        code = main(argv)
    except Exception as error:
        code, line = _outcome(error)
        print(f"error: {line}", file=sys.stderr)
        if verbose:
            traceback.print_exc()
    sys.exit(code)


def _outcome(error: Exception) -> tuple[int, str]:
    """The exit code of a job that failed, and the line that says why."""
    if received := INTERRUPTION.acknowledge():
        return exit_code(received), f"ended by {received.name}; run it again, it takes up where it broke off"
    if isinstance(error, PipelineError):
        return error.exit_code, str(error)
    lines = str(error).strip().splitlines() or [""]
    return 1, f"{type(error).__name__}: {lines[0]} (run again with --verbose)"
