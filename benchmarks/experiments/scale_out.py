"""A standalone cluster on this machine: one executor of one core, then two."""

from benchmarks.bench import Bench

EXECUTORS = (1, 2)


def run(bench: Bench) -> None:
    """The same log on one and on two executors; starting the cluster is in the seconds, not in the steps.

    Driver and executors share the machine's cores, so this wants more cores than executors.
    """
    log = bench.log(bench.messages)
    for executors in EXECUTORS:
        name = f"{executors} one-core executor{'s' if executors > 1 else ''}"
        bench.compare("scale out", name, log, executors=executors)
