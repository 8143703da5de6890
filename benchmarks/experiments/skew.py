"""Uneven logs against an even one: nothing may end up on one task, nor need more memory."""

from benchmarks.bench import Bench

MEMORY = "2g"

CASES = {
    "even": ("--skew", "0"),
    "90 % in one queue": ("--queue-skew", "0.9"),
    "half in one group": ("--queue-skew", "0.9", "--group-skew", "0.5"),
    "99 % at one level": ("--skew", "0", "--same-level", "0.99"),
}


def run(bench: Bench) -> None:
    """The same number of messages, spread differently, with a small driver.

    The backlog is a third, so that the skew is in what the schedules order and not only in what is over.
    """
    for name, options in CASES.items():
        log = bench.log(bench.messages, "--backlog", "0.33", *options)
        bench.compare("skew", name, log, memory=MEMORY)
