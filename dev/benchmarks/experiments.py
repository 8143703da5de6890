"""The experiments by name; each measures one promise."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from dev.benchmarks.backlog_log import Skew
from dev.benchmarks.bench import Bench
from dev.benchmarks.case import Case
from dev.benchmarks.measure import EMBEDDED, SPARK
from dev.benchmarks.options import LAST_MIDNIGHT
from dev.benchmarks.server_views import Format
from schemas.events import CONTRACTS

SMALL = ("--services", "40", "--kinds", "100")
SMALL_MESSAGES = 2_000
"""Of a small night; a message makes five events."""
LITTLE_MEMORY = {EMBEDDED: "4g", SPARK: "2g"}
SKEWS: Mapping[str, Skew] = {
    "90 % in one queue": "queue",
    "half in one group": "group",
    "99 % at one level": "level",
}


def small(bench: Bench) -> None:
    """A first night of about 10,000 events and a second one on top, with activation, as `make run` has it."""
    for _ in range(bench.options.rounds):
        for case, as_of, new in _in_a_row(bench, "small", 2, 2 * SMALL_MESSAGES, *SMALL):
            ours = [case.night(engine, as_of, activation=True, new=new) for engine in bench.engines]
            bench.add(case.peer(as_of))
            for measure in ours:
                bench.add(case.compared(measure, as_of))


def cold(bench: Bench) -> None:
    """A first night without activation: everything is new."""
    bench.cold()


def activation(bench: Bench) -> None:
    """The cold night again with activation: nothing is new, so its own step is what it adds."""
    case = bench.cold()
    for engine in bench.engines:
        bench.add(replace(case.night(engine, LAST_MIDNIGHT, activation=True), experiment="activation"))


def queries(bench: Bench) -> None:
    """Two questions to the tables of the cold night."""
    case = bench.cold()
    for engine in bench.engines:
        bench.add(replace(case.ask(engine), experiment="queries"))


def whatif(bench: Bench) -> None:
    """Another level for one rule, of about a tenth of the endpoints: what changes in that night's backlog."""
    case = bench.cold()
    for engine in bench.engines:
        bench.add(replace(case.what_if(engine), experiment="whatif"))


def replay(bench: Bench) -> None:
    """The day of the cold night again, with one reader a queue."""
    case = bench.cold()
    begun = LAST_MIDNIGHT - timedelta(days=1)
    for engine in bench.engines:
        measure = case.answer(
            engine, "replay", "--from", begun.isoformat(), "--to", LAST_MIDNIGHT.isoformat(), "--readers", "1"
        )
        bench.add(replace(measure, experiment="replay"))


def conformance(bench: Bench) -> None:
    """What the receives of the cold night passed."""
    case = bench.cold()
    for engine in bench.engines:
        bench.add(replace(case.answer(engine, "conformance"), experiment="conformance"))


def snapshot(bench: Bench) -> None:
    """The first night of a server of which nothing but its views is known, without activation."""
    _of_server(bench, "snapshot", "parquet")


def capture(bench: Bench) -> None:
    """The same night from one capture, and from CSV files."""
    _of_server(bench, "capture", "capture", "csv")


def _of_server(bench: Bench, experiment: str, *formats: Format) -> None:
    for format in formats:
        log = bench.server(bench.messages, format)
        name = f"{bench.messages:,} messages, {format}"
        case = Case(bench.options, experiment, name, log, bench.messages, snapshot=format)
        for _ in range(bench.options.rounds):
            case.clear()
            for engine in bench.engines:
                bench.add(case.night(engine, LAST_MIDNIGHT))
        case.close()


def memory(bench: Bench) -> None:
    """The cold night with little memory: what does not fit is spilled."""
    log = bench.log(bench.messages)
    case = Case(bench.options, "memory", f"{bench.messages:,} messages", log, bench.messages)
    bench.compare(case, memory=LITTLE_MEMORY)
    case.close()


def backlog(bench: Bench) -> None:
    """A first night where half of the messages are open, without activation; Spark's jobs are counted."""
    bench.backlog()


def skew(bench: Bench) -> None:
    """The backlog night with messages that are spread differently: nothing may end up on one task."""
    bench.backlog()
    for name, skew in SKEWS.items():
        bench.compare_backlog("skew", f"{bench.messages:,} messages, {name}", skew)


def history(bench: Bench) -> None:
    """Equal nights in a row; the peer takes all of them at once, as of the last one."""
    last = LAST_MIDNIGHT + timedelta(days=bench.options.nights - 1)
    for case, as_of, new in _in_a_row(bench, "history", bench.options.nights, bench.messages):
        measures = [case.night(engine, as_of, new=new) for engine in bench.engines]
        if as_of == last:
            peer = case.peer(as_of)
            measures = [*(case.compared(measure, as_of) for measure in measures), peer]
        for measure in measures:
            bench.add(measure)


def commits(bench: Bench) -> None:
    """Two small nights again, with Spark's jobs counted."""
    for case, as_of, new in _in_a_row(bench, "commits", 2, 2 * SMALL_MESSAGES, *SMALL):
        for engine in bench.engines:
            bench.add(case.night(engine, as_of, activation=True, new=new, count_jobs=True))


def _in_a_row(
    bench: Bench, experiment: str, nights: int, messages: int, *more: str
) -> Iterator[tuple[Case, datetime, Collection[Path]]]:
    """Nights that bring the same number of messages each, one after the other into the same inputs.

    Yields:
        The case, named by its night; the end of the night; the files that it brought.
    """
    # What comes in after the last midnight is a night of its own, which is left out.
    days = ("--days", str(nights + 1), "--history", "daily")
    log = bench.log(messages * (nights + 1) // nights, *days, *more)
    case = Case(bench.options, experiment, "", log, messages // nights)
    case.clear()
    for number in range(nights):
        inputs = case.folder / "inputs"
        as_of = LAST_MIDNIGHT + timedelta(days=number)
        new = _bring(log / f"night={as_of - timedelta(days=1):%Y-%m-%d}", inputs)
        yield replace(case, name=f"night {number + 1} of {nights}", inputs_at=inputs), as_of, new
    case.close()


def _bring(night: Path, inputs: Path) -> list[Path]:
    """Put the files of a night into the inputs, as links; return them."""
    brought = []
    for source in CONTRACTS:
        (inputs / source).mkdir(parents=True, exist_ok=True)
        for file in sorted((night / source).glob("*.parquet")):
            os.link(file, inputs / source / file.name)
            brought.append(inputs / source / file.name)
    return brought


EXPERIMENTS: Mapping[str, Callable[[Bench], None]] = {
    each.__name__: each
    for each in (
        small,
        cold,
        activation,
        queries,
        whatif,
        replay,
        conformance,
        snapshot,
        capture,
        memory,
        history,
        backlog,
        skew,
        commits,
    )
}
"""In the order in which they run."""

BY_DEFAULT = ("small", "cold", "activation", "queries", "commits")
"""What runs unless others are asked for: these take minutes."""
