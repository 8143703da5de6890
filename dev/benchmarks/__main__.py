"""Measure a night: make bench CASE=backlog,skew ARGS="--messages 1000000,5000000 --engine embedded".

Logs are made once and kept; what a run leaves goes when it is done. Nothing counts unless the tables of each
engine are those of the peer, row by row.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil

from dev.benchmarks import report
from dev.benchmarks.bench import Bench
from dev.benchmarks.equality import UnequalError
from dev.benchmarks.experiments import BY_DEFAULT, EXPERIMENTS
from dev.benchmarks.measure import EMBEDDED, SPARK, Measure
from dev.benchmarks.options import Options
from dev.benchmarks.processes import PROJECT, ProcessFailedError

FIGURES = PROJECT / "dev" / "benchmarks" / "figures"
ENGINES = {"embedded": (EMBEDDED,), "spark": (SPARK,), "both": (EMBEDDED, SPARK)}


def main(argv: Sequence[str]) -> int:
    """Parse the command line, run the experiments, print and keep the tables."""
    options = _parser().parse_args(argv)
    failed = 0
    # It would be measured in place of the embedded engine.
    os.environ.pop("SPARK_REMOTE", None)
    # Whoever ends this process ends what it started, and keeps what was measured so far.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    measures: list[Measure] = []
    try:
        for messages in options.messages:
            _run(options, messages, measures)
    except (ProcessFailedError, UnequalError) as error:
        print(f"error: {error}", file=sys.stderr)
        failed = 1
    except KeyboardInterrupt:
        print("error: interrupted; this is what was measured before", file=sys.stderr)
        failed = 1
    if measures:
        report.show(measures)
        for path in report.keep(measures, FIGURES if options.publish else options.folder):
            print(f"kept in {path}")
    return failed


def _run(options: argparse.Namespace, messages: int, measures: list[Measure]) -> None:
    """Run the experiments on large nights of one size; what was measured counts even if one fails."""
    asked = Options(
        folder=options.folder.resolve(),
        engines=ENGINES[options.engine],
        messages=messages,
        memory=options.memory,
        rounds=options.rounds,
        nights=options.nights,
        keep=options.keep,
        project=options.project.resolve(),
    )
    bench = Bench(asked, measures)
    try:
        for name in options.case:
            EXPERIMENTS[name](bench)
    finally:
        bench.close()


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(size) for size in text.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not numbers of messages with commas")
    return sizes


def _names(text: str) -> list[str]:
    if text == "all":
        return list(EXPERIMENTS)
    names = text.split(",")
    unknown = sorted(set(names) - set(EXPERIMENTS))
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no such experiment: {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}"
        )
    return [name for name in EXPERIMENTS if name in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure a night on both engines.")
    parser.add_argument(
        "--case",
        type=_names,
        default=list(BY_DEFAULT),
        help=f"experiments, with commas: {', '.join(EXPERIMENTS)}, or all (default {','.join(BY_DEFAULT)})",
    )
    parser.add_argument("--engine", choices=list(ENGINES), default="both", help="default both")
    parser.add_argument(
        "--messages",
        type=_sizes,
        default=[1_000_000],
        help="the messages of the large nights, several sizes with commas (default 1000000)",
    )
    parser.add_argument("--rounds", type=int, default=1, help="how often each case runs (default 1)")
    parser.add_argument("--nights", type=int, default=30, help="nights of the history (default 30)")
    half = psutil.virtual_memory().total // 2**31
    parser.add_argument(
        "--memory", default=f"{half}g", help=f"of each engine and of DuckDB (default half of it, {half}g)"
    )
    parser.add_argument(
        "--publish", action="store_true", help="keep the results in dev/benchmarks/figures, to be committed"
    )
    parser.add_argument("--keep", action="store_true", help="leave the tables of finished runs on disk")
    parser.add_argument(
        "--folder",
        type=Path,
        default=PROJECT / "build" / "bench",
        help="for logs and runs (default build/bench)",
    )
    parser.add_argument(
        "--project",
        type=Path,
        default=PROJECT,
        help="another checkout whose nights are measured (default this one)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
