"""How every command starts and ends: its log, its signals, its exit code."""

import atexit
import gc
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from pipelines.commands.signals import end_at_once_on_signals, wait_if_ending
from pipelines.commands.streams import protect_streams
from pipelines.config.errors import ConfigError, PipelineError, one_line
from pipelines.console.terminal import escape_invisible, escape_line

LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"
LONG_WORD = re.compile(r"\S{1001,}")
"""What no name or path is, and no terminal should get whole."""
SHOWN = 200
"""Characters of it that are shown."""
GARBAGE = 1_000_000
"""New objects after which Python looks for garbage; its default of 700 costs a command half a second."""

_suspects: list[str] = []


def suspect(root: str) -> None:
    """Look whether this warehouse is damaged, should the command fail over what is no user's fault."""
    _suspects.append(root)


def launch(main: Callable[[Sequence[str]], int], argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command's `main` and end the process with its exit code.

    A `PipelineError` is what a user can act on: its message alone, and its exit code. Anything else is a
    fault of ours: one line and exit code 1. The traceback of each is for `--verbose`.

    Args:
        main: the command.
        argv: its options; those of the process by default.
    """
    # What is imported stays, and plans are small objects by the ten thousand: most of them are no garbage.
    gc.freeze()
    gc.set_threshold(GARBAGE)
    protect_streams()
    end_at_once_on_signals()
    argv = sys.argv[1:] if argv is None else argv
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
        print(f"error: {cut_words(escape_invisible(line))}", file=sys.stderr)
        if verbose:
            print(escape_invisible(traceback.format_exc()), end="", file=sys.stderr)
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process: what is registered for its end runs, and threads that are left do not matter.

    Libraries in C++ may abort the process where they are torn down beside threads of theirs.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def cut_words(line: str) -> str:
    """A line without the rest of words that are longer than any name."""
    return LONG_WORD.sub(lambda word: f"{word[0][:SHOWN]}... ({len(word[0]):,} characters)", line)


class _Lines(logging.Formatter):
    """A record is one line, whatever names are in it; the traceback of an error follows."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return escape_line(super().formatMessage(record))


def _log_handler() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(LOG_FORMAT))
    return handler


def outcome_of(error: Exception, suspects: Sequence[str] | None = None) -> tuple[int, str]:
    """The exit code of a command that failed, and the line that says why.

    Args:
        error: what it raised.
        suspects: warehouses that may be damaged, where a program asks; a command names none, as those that it
            has opened may be.
    """
    if isinstance(error, PipelineError):
        return error.exit_code, str(error)
    # Import lazily: only failing commands need these.
    from pipelines.engine.environment import tight_limit

    if limit := tight_limit():
        return ConfigError.exit_code, limit
    from pipelines.engine.errors import fault_of, lacking

    fault = fault_of(error)
    if advice := lacking(fault):
        return 1, f"{fault}; {advice}"
    is_command = suspects is None
    if opened := _suspects if suspects is None else suspects:
        from pipelines.storage.damage import find_damage

        try:
            damage = [line for root in opened for line in find_damage(root)]
        except PipelineError as unreadable:
            return unreadable.exit_code, str(unreadable)
        if damage:
            return 1, "\n".join(map(one_line, damage))
    hint = " (run again with --verbose)" if is_command else ""
    return 1, f"{type(error).__name__}: {fault}{hint}"
