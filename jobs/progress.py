"""What a run is doing, said while it does it: one line a step on stderr, in a terminal and in a log alike."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(name: str) -> Iterator[list[str]]:
    """Say that a step begins and, with its seconds and what was appended to the list, that it is done."""
    is_terminal = sys.stderr.isatty()
    print(f"{name} ...", end="" if is_terminal else "\n", file=sys.stderr, flush=True)
    began, said = time.monotonic(), list[str]()
    try:
        yield said
    except BaseException:
        print(f"{name} failed after {time.monotonic() - began:.1f} s", file=sys.stderr)
        raise
    details = "; ".join(said)
    seconds = f"{time.monotonic() - began:.1f} s"
    start = "\r" if is_terminal else ""
    print(f"{start}{name} done in {seconds}{': ' + details if details else ''}", file=sys.stderr, flush=True)
