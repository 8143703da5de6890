"""The options that several commands share, the types of their values, and the default of --config."""

import argparse
import os
from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from pipelines.config.errors import ConfigError
from pipelines.config.instants import LATEST, AsOf, parse_instant
from pipelines.config.nearest import nearest, suggest_nearest
from pipelines.console.invocation import name_command, remember_config

VARIABLE = "PRIORITIES_CONFIG"
FILE = "priorities.yaml"
LARGEST = 2_147_483_647
"""What engines take for a count of rows."""
CENTURY_DAYS = 36_500
PUBLISHED = "an as_of that was run, or latest: the newest that was published (default latest)"
DESCRIBED = "the instant to describe, or latest: that of the newest snapshot or event"


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
    """The options of a command: its own, and those that several commands share.

    Errors are one line and exit code 2.
    """

    def __init__(
        self,
        command: str,
        description: str,
        *,
        example: str = "",
        config: bool = True,
        program: str | None = None,
    ) -> None:
        """Say what the command does and show one call of it; nearly every command reads settings.

        Args:
            command: its name.
            description: what it does.
            example: the options of one call.
            config: whether it can't do without settings.
            program: what starts it, if it is no command of the package.
        """
        prog = program or name_command(command)
        super().__init__(
            prog=prog,
            description=description,
            epilog=f"example: {prog} {example}" if example else None,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.shared = self.add_argument_group("options of several commands")
        self._has_config = config
        self._requires_as_of = False
        if config:
            self.add_config()
        self.shared.add_argument(
            "--verbose",
            action="store_true",
            help="log every write (table, rows, files, seconds), and show the traceback of an error; "
            "nightly also shows more notes, counts of events and the first rows of the schedules",
        )

    def add_config(self) -> None:
        """Add --config: the settings file."""
        self.shared.add_argument(
            "--config",
            metavar="FILE",
            help=f"settings file (default {VARIABLE}, else {FILE} in this folder or one above it)",
        )

    def add_as_of(self, help: str = PUBLISHED) -> None:
        """Add --as-of: an instant, in UTC unless it has an offset, or `latest`."""
        self.shared.add_argument("--as-of", type=instant_or_latest, help=f"{help}, e.g. 2026-11-21T00:00:00Z")

    def add_required_as_of(self) -> None:
        """Add --as-of to a command that publishes one."""
        self.add_as_of(DESCRIBED)
        self._requires_as_of = True

    def add_format(self, *further: str) -> None:
        """Add --format: what is printed is for people or for programs."""
        self.shared.add_argument(
            "--format", choices=("table", "json", *further), default="table", help="default table"
        )

    def add_wide(self) -> None:
        """Add --wide: tables with whole ids, whatever the width of the terminal."""
        self.shared.add_argument(
            "--wide", action="store_true", help="tables as wide as they are, with all columns and whole ids"
        )

    def add_limit(self, default: int, what: str = "rows of each part") -> None:
        """Add --limit: how many rows are printed."""
        self.shared.add_argument(
            "--limit", type=whole_number(1), default=default, help=f"{what} (default {default})"
        )

    def add_out(self) -> None:
        """Add --out: where the tables of an answer are kept."""
        self.shared.add_argument("--out", metavar="DIR", help="a folder for the tables of the answer")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """Read the command line; in a shell that asks how a word may go on, answer that and end."""
        if "_ARGCOMPLETE" in os.environ:
            from argcomplete import autocomplete

            autocomplete(self)
        for word in takewhile(lambda word: word != "--", args or ()):
            option = word.partition("=")[0]
            if option.startswith("--") and option not in self._option_string_actions:
                close = nearest(option, self._option_string_actions)
                self.error(f"unknown option {option}" + (f"; the nearest is {close}" if close else ""))
        options = super().parse_args(args, namespace)
        if self._requires_as_of and options.as_of is None:
            self.error("give --as-of, the instant to describe, or --as-of latest, that of the newest data")
        remember_config(getattr(options, "config", None))
        if self._has_config:
            options.config = find_settings(options.config)
        return options

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


def instant_or_latest(text: str) -> AsOf:
    """Read an as_of of the command line."""
    if text == LATEST:
        return LATEST
    try:
        return instant(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or {LATEST}") from None


def duration(least: float) -> Callable[[str], float]:
    """Read a duration of the command line of `least` seconds or more, such as 5min."""

    def seconds(text: str) -> float:
        # Import lazily: few commands have durations, and pydantic takes a quarter of a second.
        from pydantic_core import PydanticCustomError

        from pipelines.config.expectations import parse_duration

        try:
            found = parse_duration(text)
        except PydanticCustomError as error:
            raise argparse.ArgumentTypeError(error.message()) from None
        if found < least:
            raise argparse.ArgumentTypeError(f"{text!r} is less than {least:g} s; write {least:g} s or more")
        return found

    return seconds


def list_of(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """Read words that commas part."""

    def words(text: str) -> list[str]:
        found = [word.strip() for word in text.split(",")]
        for word in found:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"{word!r} is unknown; {suggest_nearest(word, allowed)}")
        return found

    return words


def allowed_numbers(least: int, most: int = LARGEST) -> str:
    """Say which whole numbers an option or an argument takes."""
    return f"of {least} or more" if most == LARGEST else f"from {least} to {most}"


def whole_number(least: int, most: int = LARGEST) -> Callable[[str], int]:
    """Read a whole number of the command line from `least` to `most`."""
    allowed = allowed_numbers(least, most)

    def count(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {allowed}")
        return int(text)

    return count


def find_settings(given: str | None = None, *, otherwise: str = "") -> str:
    """Return the settings file: the given one, else PRIORITIES_CONFIG, else the nearest priorities.yaml.

    The nearest is that of the current folder, or of the first folder above it that has one.

    Args:
        given: the value of --config.
        otherwise: what else the command takes instead of settings, for the error.

    Raises:
        ConfigError: there is none.
    """
    if found := given or os.environ.get(VARIABLE):
        return found
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return os.path.relpath(folder / FILE, here)
    raise ConfigError(
        f"settings: none found; name the file with --config or {VARIABLE}, or run this in a folder with a "
        f"{FILE}, or below it; init writes one{otherwise}"
    )
