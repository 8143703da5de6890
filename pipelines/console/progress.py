"""What a run is doing, said while it does it: one line a step on stderr, in a terminal and in a log alike."""

import sys
import time
from collections.abc import Callable

from pipelines.console.terminal import escape_line


def step(name: str, work: Callable[[], str | None]) -> Callable[[], None]:
    """Make a task of work: one that says when it begins, and when it is done, in how many seconds.

    Args:
        name: the step.
        work: returns what it has done, in words, if there is more to say than that.
    """

    def task() -> None:
        _say(f"{name} ...")
        began = time.monotonic()
        try:
            details = work()
        except BaseException:
            _say(f"{name} failed after {time.monotonic() - began:.1f} s")
            raise
        _say(f"{name} done in {time.monotonic() - began:.1f} s{': ' + details if details else ''}")

    return task


def _say(line: str) -> None:
    # In one piece: steps may run side by side.
    sys.stderr.write(f"{escape_line(line)}\n")
    sys.stderr.flush()
