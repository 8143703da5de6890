"""What the bench is to show: each target, what was measured of it, and whether it is met."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dev.benchmarks.measure import EMBEDDED, SPARK, Measure, Results

HEADINGS = ("figure", "system", "target", "measured", "met")
LARGE = 10_000_000
"""Messages from which a settled night has the targets of 15 million, and not those of 1 million."""
MUCH_BACKLOG = 5_000_000
DIGITS = {"s": 1, "x": 2, "GiB": 1, "commits": 0, "jobs": 0}
"""Of the numbers in a unit, the digits behind the point."""

Number: TypeAlias = Callable[[Results, Measure], float | None]
"""The number of a run, which may need other runs of the call; None if one of them is missing."""


@dataclass(frozen=True)
class Row:
    """A line of the table, in the order of `HEADINGS`."""

    figure: str
    system: str
    target: str
    measured: str
    is_met: bool

    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        return self.figure, self.system, self.target, self.measured, "yes" if self.is_met else "no"


@dataclass(frozen=True)
class Target:
    """A number that a run must not exceed.

    Attributes:
        experiment, system: the runs that it is about.
        what: the number in words.
        most: the greatest that meets the target; for some it follows from the run.
        unit: of both; see `DIGITS`.
        number: of a run.
        least, below: the target is for logs of at least `least` and fewer than `below` messages.
    """

    experiment: str
    system: str
    what: str
    most: float | Number
    unit: str
    number: Number
    least: int = 0
    below: float = float("inf")

    def row(self, results: Results, measure: Measure) -> Row | None:
        """The line of a run; None if the target is not about it."""
        if measure.key[::2] != (self.experiment, self.system):
            return None
        if not self.least <= measure.messages < self.below:
            return None
        number = self.number(results, measure)
        most = self.most(results, measure) if callable(self.most) else self.most
        if number is None or most is None:
            return None
        figure = f"{self.experiment}, {measure.case}: {self.what}"
        return Row(figure, self.system, self._text(most), self._text(number), number <= most)

    def _text(self, value: float) -> str:
        return f"{value:.{DIGITS[self.unit]}f} {self.unit}"


def rows(results: Results) -> list[Row]:
    """The table, of what was measured."""
    found = (target.row(results, measure) for target in TARGETS for measure in results.all())
    return [row for row in found if row is not None]


def _seconds(_: Results, measure: Measure) -> float:
    return measure.seconds


def _of_peer(results: Results, measure: Measure) -> float | None:
    return results.times_the_peer(measure)


def _gibibytes(_: Results, measure: Measure) -> float:
    return measure.peak_bytes / 2**30


def _commits(_: Results, measure: Measure) -> float:
    return measure.commits


def _jobs(_: Results, measure: Measure) -> float | None:
    return measure.jobs


def _step(name: str) -> Number:
    return lambda _, measure: measure.steps.get(name)


def _reads_of_second(results: Results, measure: Measure) -> float | None:
    """What the last of several nights read, in times of what the second one did."""
    cases = results.cases(measure.experiment)
    second = results.of(measure.experiment, cases[1], measure.system) if len(cases) > 2 else None
    return measure.bytes_read / second.bytes_read if second and measure.case == cases[-1] else None


def _of_even(results: Results, measure: Measure) -> float | None:
    """Seconds per event, in times of those of the even log."""
    even = results.of("backlog", f"{measure.messages:,} messages", measure.system)
    return (measure.seconds / measure.events) / (even.seconds / even.events) if even else None


def _of_schedules(results: Results, measure: Measure) -> float | None:
    """Seconds in times of the cold night's schedules step."""
    night = results.of("cold", measure.case, measure.system)
    return measure.seconds / night.steps["schedules"] if night and "schedules" in night.steps else None


def _of_rate(_: Results, measure: Measure) -> float:
    """Two minutes for 10 million messages, on two cores."""
    return measure.messages * 12e-6


def _on_both(
    experiment: str,
    what: str,
    most: float | Number | Mapping[str, float],
    unit: str,
    number: Number,
    least: int = 0,
) -> list[Target]:
    """A target of each engine; `most` may be by engine."""
    return [
        Target(
            experiment,
            engine,
            what,
            most[engine] if isinstance(most, Mapping) else most,
            unit,
            number,
            least,
        )
        for engine in (EMBEDDED, SPARK)
    ]


WHOLE = "start to exit"
PEER = "against DuckDB"
TARGETS = (
    Target("backlog", EMBEDDED, PEER, 1.6, "x", _of_peer),
    Target("backlog", EMBEDDED, "peak memory", 8.0, "GiB", _gibibytes, least=MUCH_BACKLOG),
    Target("backlog", SPARK, WHOLE, 75.0, "s", _seconds, below=MUCH_BACKLOG),
    Target("backlog", SPARK, "Spark's jobs", 100, "jobs", _jobs),
    *_on_both("skew", "seconds per event, against the even log", 1.3, "x", _of_even),
    *_on_both("small", WHOLE, {EMBEDDED: 2.0, SPARK: 24.0}, "s", _seconds),
    *_on_both("commits", "Delta commits", 15, "commits", _commits),
    Target("commits", SPARK, "Spark's jobs", 100, "jobs", _jobs),
    Target("cold", EMBEDDED, PEER, 1.7, "x", _of_peer, below=LARGE),
    Target("cold", EMBEDDED, PEER, 1.8, "x", _of_peer, least=LARGE),
    Target("cold", SPARK, WHOLE, 90.0, "s", _seconds, below=LARGE),
    Target("cold", SPARK, PEER, 5.0, "x", _of_peer, least=LARGE),
    *_on_both(
        "activation", "its step", {EMBEDDED: 60.0, SPARK: 150.0}, "s", _step("activation"), least=LARGE
    ),
    Target("history", EMBEDDED, "against DuckDB over all nights", 0.4, "x", _of_peer),
    *_on_both("history", "bytes read, against the second night", 1.0, "x", _reads_of_second),
    *_on_both(
        "queries",
        "next 100 messages",
        {EMBEDDED: 1.0, SPARK: 2.5},
        "s",
        _step("next_100_messages"),
    ),
    *_on_both("queries", "explain a message", {EMBEDDED: 2.0, SPARK: 4.5}, "s", _step("explain_message")),
    *_on_both("whatif", "against the night's schedules step", 1 / 3, "x", _of_schedules),
    *_on_both("replay", WHOLE, _of_rate, "s", _seconds),
    *_on_both("conformance", WHOLE, _of_rate, "s", _seconds),
    *_on_both("snapshot", WHOLE, {EMBEDDED: 60.0, SPARK: 150.0}, "s", _seconds),
)
"""Those of the night that users wait for come first."""
