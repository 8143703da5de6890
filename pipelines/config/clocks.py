"""The offset of a server's clock from UTC, as its captures show it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class ShownClock:
    """What a capture shows: the names of its server, its moment (UTC), and its minutes ahead of UTC."""

    names: frozenset[str]
    taken_at: datetime
    minutes: int

    @property
    def local(self) -> datetime:
        """The moment on the server's clock."""
        return self.taken_at.replace(tzinfo=None) + timedelta(minutes=self.minutes)


@dataclass(frozen=True)
class OffsetPeriod:
    """Local times of a server with one offset.

    Attributes:
        minutes: the clock is ahead of UTC.
        since: the first of them; None for all before `until`.
        until: the last of them; None for all from `since` on.
    """

    minutes: int
    since: datetime | None
    until: datetime | None

    def has(self, local: datetime) -> bool:
        """Whether it has a local time."""
        return (self.since is None or self.since <= local) and (self.until is None or local <= self.until)


def offset_periods(clocks: Iterable[ShownClock], instance: str) -> tuple[OffsetPeriod, ...]:
    """The local times of an instance whose offset its captures show; few, as clocks change twice a year.

    A row has the offset of the newest capture at or before it, else of the first after it. Between two
    captures with different offsets it is not known: those times are in no period, or in two.

    Args:
        clocks: of all captures.
        instance: its name, or the server's own.
    """
    own = sorted((each for each in clocks if instance in each.names), key=lambda each: each.taken_at)
    runs: list[list[ShownClock]] = []
    for each in own:
        if runs and runs[-1][-1].minutes == each.minutes:
            runs[-1].append(each)
        else:
            runs.append([each])
    last = len(runs) - 1
    return tuple(
        OffsetPeriod(
            run[0].minutes,
            None if number == 0 else run[0].local,
            None if number == last else run[-1].local,
        )
        for number, run in enumerate(runs)
    )


def offset_at(periods: Sequence[OffsetPeriod], local: datetime) -> int | None:
    """The minutes that a server's clock was ahead of UTC at a local time; None if that is not known."""
    found = {each.minutes for each in periods if each.has(local)}
    return found.pop() if len(found) == 1 else None
