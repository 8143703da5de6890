"""What the bench is to show: each target beside what was measured of it."""

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from itertools import pairwise

from benchmarks.measure import DUCKDB, EMBEDDED, FLOOR, SPARK, Measure, Results

HEADINGS = ("what", "must", "embedded", "Spark", "DuckDB", "floor, embedded", "floor, Spark")
LARGE = 10_000_000
"""Messages from which a night has the targets of 15 million, and not those of 1 million."""


@dataclass(frozen=True)
class Row:
    """A line of the table, in the order of `HEADINGS`; a dash where nothing was measured."""

    what: str
    must: str
    embedded: str = "-"
    spark: str = "-"
    duckdb: str = "-"
    floor_embedded: str = "-"
    floor_spark: str = "-"

    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        return astuple(self)


def rows(results: Results) -> list[Row]:
    """The table, of what was measured."""
    return [row for of_experiment in TABLE for row in of_experiment(results)]


def _small(results: Results) -> Iterator[Row]:
    for case in results.cases("small"):
        yield _row(results, "small", case, f"small, {case}", "embedded 5 s, Spark 35 s", _seconds)


def _cold(results: Results) -> Iterator[Row]:
    for case in results.cases("cold"):
        is_large = any(m.messages >= LARGE for m in results.all() if m.key[:2] == ("cold", case))
        must = "embedded 2.5 x DuckDB in 12 GiB, Spark 5 x" if is_large else "embedded 2 x DuckDB, Spark 90 s"
        yield _row(results, "cold", case, f"{case}, without activation", must, _compared(results))


def _activation(results: Results) -> Iterator[Row]:
    for case in results.cases("activation"):
        must = "embedded 60 s, Spark 150 s at 15 million"
        yield _row(results, "activation", case, f"{case}, its activation", must, _of_step("activation"))


def _history(results: Results) -> Iterator[Row]:
    for case in (*results.cases("history")[1:2], *results.cases("history")[-1:]):
        must = "30th: embedded faster than DuckDB over all, reads what the 2nd does"
        yield _row(results, "history", case, case, must, _with_reads)


def _memory(results: Results) -> Iterator[Row]:
    for case in results.cases("memory"):
        what = f"{case}, Spark's driver of 2 GiB, embedded pool of 4 GiB"
        yield _row(results, "memory", case, what, "done", _compared(results))


def _skew(results: Results) -> Iterator[Row]:
    cases = results.cases("skew")
    for case in cases[1:]:
        cell = _times_of(results, "skew", cases[0], lambda m: m.seconds / m.events)
        yield _row(results, "skew", case, f"skew, {case}: time per event, x even", "1.3", cell)


def _growth(results: Results) -> Iterator[Row]:
    cases = results.cases("growth")
    for before, case in pairwise(cases):
        cell = _times_of(results, "growth", before, lambda m: m.seconds / m.messages)
        what = f"growth, {before} to {case}: time per message, times"
        yield _row(results, "growth", case, what, "1.3", cell)


def _rules(results: Results) -> Iterator[Row]:
    cases = results.cases("rules")
    for case in cases[1:]:
        cell = _times_of(results, "rules", cases[0], lambda m: m.seconds)
        yield _row(results, "rules", case, f"rules, {case}, x {cases[0]}", "1.3", cell)


def _commits(results: Results) -> Iterator[Row]:
    for case in results.cases("commits"):
        must = "15 commits, 150 Spark jobs"
        yield _row(results, "commits", case, f"commits and jobs, small, {case}", must, _commits_and_jobs)


def _queries(results: Results) -> Iterator[Row]:
    asked = {"next_100_messages": "embedded 1 s, Spark 2.5 s", "explain_message": "embedded 2 s, Spark 4.5 s"}
    for case in results.cases("queries"):
        for step, must in asked.items():
            what = f"{case}, {step.replace('_', ' ')}"
            yield _row(results, "queries", case, what, must, _of_step(step))


def _whatif(results: Results) -> Iterator[Row]:
    nights = {m.key[1:]: m for m in results.all() if m.experiment == "cold"}

    def cell(measure: Measure) -> str:
        night = nights.get(measure.key[1:])
        step = night.steps.get("schedules") if night else None
        beside = f", {measure.seconds / step:.1f} x schedules" if step else ""
        return f"{_seconds(measure)}{beside}"

    for case in results.cases("whatif"):
        must = "a third of the night's schedules step"
        yield _row(results, "whatif", case, f"{case}, what-if, start to exit", must, cell)


def _questions(results: Results) -> Iterator[Row]:
    for name in ("replay", "conformance"):
        for case in results.cases(name):
            must = "100,000 messages a second and core in the machine"
            yield _row(results, name, case, f"{case}, {name}, start to exit", must, _with_memory)


def _snapshot(results: Results) -> Iterator[Row]:
    for case in results.cases("snapshot"):
        must = "embedded 60 s, Spark 150 s at 2 million"
        what = f"{case} and five endpoints to two of them, from a snapshot"
        yield _row(results, "snapshot", case, what, must, _with_memory)


TABLE = (
    _small,
    _cold,
    _activation,
    _history,
    _memory,
    _skew,
    _growth,
    _rules,
    _commits,
    _queries,
    _whatif,
    _questions,
    _snapshot,
)
"""In the order of the experiments."""


def _row(
    results: Results, experiment: str, case: str, what: str, must: str, cell: Callable[[Measure], str]
) -> Row:
    """A line: `cell` says what is shown of a run of the pipeline; of the others it is the seconds."""

    def shown(system: str, show: Callable[[Measure], str]) -> str:
        measure = results.of(experiment, case, system)
        return show(measure) if measure else "-"

    return Row(
        what,
        must,
        shown(EMBEDDED, cell),
        shown(SPARK, cell),
        shown(DUCKDB, _seconds),
        shown(FLOOR + EMBEDDED, _seconds),
        shown(FLOOR + SPARK, _seconds),
    )


def _seconds(measure: Measure) -> str:
    return f"{measure.seconds:.1f} s"


def _compared(results: Results) -> Callable[[Measure], str]:
    def cell(measure: Measure) -> str:
        times = results.times_the_peer(measure)
        of_peer = f", {times:.1f} x" if times else ""
        return f"{measure.seconds:.1f} s{of_peer}, {measure.peak_bytes / 2**30:.1f} GiB"

    return cell


def _with_reads(measure: Measure) -> str:
    return f"{measure.seconds:.1f} s, {measure.bytes_read / 1e6:,.0f} MB read"


def _with_memory(measure: Measure) -> str:
    return f"{measure.seconds:.1f} s, {measure.peak_bytes / 2**30:.1f} GiB"


def _of_step(step: str) -> Callable[[Measure], str]:
    return lambda measure: f"{measure.steps[step]:.1f} s" if step in measure.steps else "-"


def _commits_and_jobs(measure: Measure) -> str:
    jobs = f", {measure.jobs} jobs" if measure.jobs is not None else ""
    return f"{measure.commits} commits{jobs}"


def _times_of(
    results: Results, experiment: str, base: str, number: Callable[[Measure], float]
) -> Callable[[Measure], str]:
    """How many times a number is that of another case on the same system."""

    def cell(measure: Measure) -> str:
        first = results.of(experiment, base, measure.system)
        return f"{number(measure) / number(first):.2f}" if first else "-"

    return cell
