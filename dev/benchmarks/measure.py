"""What is measured of one run, and the medians of several."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median

EMBEDDED, SPARK, DUCKDB = "embedded", "Spark", "DuckDB"


@dataclass(frozen=True)
class Measure:
    """One run of one system.

    Attributes:
        experiment, case: what was measured; the systems of a case did the same work.
        system: embedded, Spark or DuckDB.
        messages: of the log.
        events, bytes_in: rows and bytes of the inputs that the run was to take in.
        seconds: from the start of the process to its exit.
        cpu_seconds: processor time of all its processes.
        peak_bytes: the most resident memory of all its processes together.
        bytes_read: see `processes.Finished`.
        bytes_out: size of the data files that it left.
        commits: Delta commits that it made.
        spark: what it cost Spark: `readings.costs_of`; nothing where that was not counted.
        steps: seconds by step, in the order in which they ended.
        rows: rows by table, of those that were compared with the peer.
        of: the moment and the commit of the code that was measured.
    """

    experiment: str
    case: str
    system: str
    messages: int
    events: int
    bytes_in: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    bytes_read: int = 0
    bytes_out: int = 0
    commits: int = 0
    spark: Mapping[str, int] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    of: str = ""

    @property
    def jobs(self) -> int | None:
        """Spark's jobs; None where they were not counted."""
        return self.spark.get("jobs")

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is a measure of."""
        return self.experiment, self.case, self.system


MEDIANS = ("seconds", "cpu_seconds", "peak_bytes", "bytes_read")


class Results:
    """Measures by experiment, case and system; where there are several rounds, the medians of them."""

    def __init__(self, measures: Iterable[Measure]) -> None:
        """Sum them up; the order of the runs stays."""
        rounds: dict[tuple[str, str, str], list[Measure]] = {}
        for measure in measures:
            rounds.setdefault(measure.key, []).append(measure)
        self._found = {key: _median(same) for key, same in rounds.items()}

    def all(self) -> list[Measure]:
        """One measure for each, in the order of the runs."""
        return list(self._found.values())

    def cases(self, experiment: str) -> list[str]:
        """The cases of an experiment, in the order of the runs."""
        return list(dict.fromkeys(case for name, case, _ in self._found if name == experiment))

    def of(self, experiment: str, case: str, system: str) -> Measure | None:
        """One of them; None if it was not measured."""
        return self._found.get((experiment, case, system))

    def times_the_peer(self, measure: Measure) -> float | None:
        """How many times the peer's seconds it took; None if the peer did not run."""
        peer = self.of(measure.experiment, measure.case, DUCKDB)
        return measure.seconds / peer.seconds if peer else None

    def times_the_peers_processor(self, measure: Measure) -> float | None:
        """The same of processor time, which says more on a machine that others use too."""
        peer = self.of(measure.experiment, measure.case, DUCKDB)
        return measure.cpu_seconds / peer.cpu_seconds if peer else None


def _median(rounds: list[Measure]) -> Measure:
    first = rounds[0]
    steps = {name: median(each.steps.get(name, 0.0) for each in rounds) for name in first.steps}
    numbers = {name: median(getattr(each, name) for each in rounds) for name in MEDIANS}
    return replace(first, steps=steps, **numbers)
