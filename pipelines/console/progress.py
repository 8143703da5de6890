"""Progress on stderr: one line when a step begins and one when it ends, in a terminal and in a log alike."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipelines.console.terminal import escape_line


@contextmanager
def step(name: str) -> Iterator[Callable[[str], None]]:
    """Print when the step begins, and how many seconds it took when it ends.

    Yields:
        A function that takes the details to print behind the duration.
    """
    details: list[str] = []
    print_line(f"{name} ...")
    began = time.monotonic()
    try:
        yield details.append
    except BaseException:
        print_line(f"{name} failed after {time.monotonic() - began:.1f} s")
        raise
    print_line(": ".join([f"{name} done in {time.monotonic() - began:.1f} s", *filter(None, details)]))


def print_line(line: str) -> None:
    """Print a line."""
    # One write: steps that run concurrently do not mix their lines.
    sys.stderr.write(f"{escape_line(line)}\n")
    sys.stderr.flush()
