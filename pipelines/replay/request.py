"""The request of a replay: its period, queues and readers, and the variants of each queue that are played."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines.config.queue_filter import KnownQueues, QueueFilter, QueueName
from pipelines.settings.load import Settings
from pipelines.settings.proposal import Proposal

ACTUAL, PROPOSED = "actual", "proposed"
AROUND = timedelta(hours=24)
"""Medians of work and sessions are taken from this long before the period to this long after it: a day has
the busy and the quiet hours of a queue."""


@dataclass(frozen=True)
class Period:
    """The period [start, end)."""

    start: datetime
    end: datetime

    @property
    def around(self) -> "Period":
        """The span [start - 24 h, end + 24 h) from which medians and sessions are taken."""
        return Period(self.start - AROUND, self.end + AROUND)


@dataclass(frozen=True)
class ReplayRequest:
    """The request of a replay.

    Attributes:
        period: the period that is played.
        queues: by name, none for all; see `find_queues`.
        proposal: the settings and rules of the scenario `proposed`; without one there is no such scenario.
        as_if: as in a what-if.
        readers: the number of readers of each queue; None for the log's.
        curve: numbers of readers that are played beside it.
        top: TOP of both scenarios; None for that of the settings.
        drain: whether readers go on after the period, without arrivals, until all is served.
    """

    period: Period
    queues: Sequence[str] = ()
    proposal: Proposal | None = None
    as_if: datetime | None = None
    readers: int | None = None
    curve: Sequence[int] = ()
    top: int | None = None
    drain: bool = False


@dataclass(frozen=True)
class Variant:
    """One way to play each queue; `is_of_curve` if it is a point of the curve and no scenario."""

    scenario: str
    readers: int | None
    top: int | None
    is_of_curve: bool = False


def find_queues(settings: Settings, names: Sequence[str]) -> list[QueueName]:
    """Find the queues of the catalog that the names mean, in order; no names mean all queues.

    Raises:
        ConfigError: no queue has the name, or several have.
    """
    known = KnownQueues.of(settings.catalog)
    return sorted({QueueFilter(name).only(known) for name in names} or known.queues)


def list_variants(settings: Settings, request: ReplayRequest) -> list[Variant]:
    """List the scenarios, and then the points of their curves."""
    tops = {ACTUAL: request.top or settings.receive.top}
    if request.proposal:
        tops[PROPOSED] = request.top or request.proposal.settings.receive.top
    scenarios = [Variant(name, request.readers, top) for name, top in tops.items()]
    curve = [Variant(name, readers, top, True) for name, top in tops.items() for readers in request.curve]
    return scenarios + curve
