"""What is measured of one run, and what a table of the report says of several."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

PIPELINE, PEER, FLOOR = "pipeline", "peer", "floor"


@dataclass(frozen=True)
class Measure:
    """One run of one system.

    Attributes:
        experiment, case: what was measured; the systems of a case did the same work.
        system: pipeline, peer or floor.
        events, bytes_in: rows and bytes of the inputs that the run was to take in.
        seconds: from the start of the process to its exit.
        cpu_seconds: processor time of all its processes.
        peak_bytes: the most resident memory of all its processes together.
        cores: how many it was allowed to use.
        bytes_out: size of the data files that it left.
        steps: seconds by step, in the order in which they ran.
        work: what Spark's event log says; see `event_log.Work`.
        rows: rows by table, of those that were compared with the peer.
        notes: what else the experiment measures, by name.
    """

    experiment: str
    case: str
    system: str
    events: int
    bytes_in: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    cores: int
    bytes_out: int = 0
    steps: Mapping[str, float] = field(default_factory=dict)
    work: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)

    def with_notes(self, notes: Mapping[str, Any]) -> "Measure":
        """The measure with further notes."""
        return replace(self, notes={**self.notes, **notes})

    def as_dict(self) -> dict[str, Any]:
        """The measure as JSON takes it."""
        return asdict(self)


@dataclass(frozen=True)
class Line:
    """A case of an experiment, over its rounds: medians of each number.

    Attributes:
        rate: events per second and core of the pipeline; None if the case has no inputs.
        to_peer, to_floor: how many times the peer's and the floor's seconds the pipeline takes; None if
            they did not run.
        cpu_to_peer, cpu_to_floor: the same in processor time, which says more on a machine that others use.
    """

    experiment: str
    case: str
    rounds: int
    events: int
    bytes_in: int
    bytes_out: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    rate: float | None
    steps: Mapping[str, float]
    work: Mapping[str, Any]
    peer_seconds: float | None
    floor_seconds: float | None
    to_peer: float | None
    to_floor: float | None
    cpu_to_peer: float | None
    cpu_to_floor: float | None
    notes: Mapping[str, Any]


def lines(measures: Sequence[Measure]) -> list[Line]:
    """Sum up the measures: one line per case that the pipeline ran, in the order of the runs."""
    cases = dict.fromkeys((m.experiment, m.case) for m in measures if m.system == PIPELINE)
    return [_line([m for m in measures if (m.experiment, m.case) == case]) for case in cases]


def _line(measures: Sequence[Measure]) -> Line:
    ours = [m for m in measures if m.system == PIPELINE]
    first = ours[0]
    seconds, cpu = median(m.seconds for m in ours), median(m.cpu_seconds for m in ours)
    peer, floor = (_of(measures, system, "seconds") for system in (PEER, FLOOR))
    peer_cpu, floor_cpu = (_of(measures, system, "cpu_seconds") for system in (PEER, FLOOR))
    return Line(
        experiment=first.experiment,
        case=first.case,
        rounds=len(ours),
        events=first.events,
        bytes_in=first.bytes_in,
        bytes_out=round(median(m.bytes_out for m in ours)),
        seconds=seconds,
        cpu_seconds=cpu,
        peak_bytes=round(median(m.peak_bytes for m in ours)),
        rate=first.events / seconds / first.cores if first.events else None,
        steps={name: median(m.steps.get(name, 0.0) for m in ours) for name in first.steps},
        work={name: _median([m.work.get(name) for m in ours]) for name in first.work},
        peer_seconds=peer,
        floor_seconds=floor,
        to_peer=seconds / peer if peer else None,
        to_floor=seconds / floor if floor else None,
        cpu_to_peer=cpu / peer_cpu if peer_cpu else None,
        cpu_to_floor=cpu / floor_cpu if floor_cpu else None,
        notes=first.notes,
    )


def _of(measures: Sequence[Measure], system: str, name: str) -> float | None:
    return _median([getattr(m, name) for m in measures if m.system == system])


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
