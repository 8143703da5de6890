"""Names, moments and odds that all strategies share.

Names look alike to everything that folds case, trims blanks, normalises Unicode or compares UTF-16 units, and
moments are few, so that ties are the rule and not the exception.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st

Row = dict[str, Any]
Batch = dict[str, list[Row]]
T = TypeVar("T")

INSTANCES = ("SQL1", "sql1", "SQL2")
DATABASES = ("Sales", "sales", "Stock")
QUEUES = ("Queue", "queue", "Queue ")
SERVICES = ("Orders", "orders", "Orders ", "\u00d3rders", "O\u0301rders", "ANY")
UNKNOWN_SERVICE = "Nowhere"
CONTRACTS = ("Gold", "gold", "Gold ", "ANY")
GROUPS = ("g1", "g1", "g1", "g2", "G1", "c1")
"""c1 is also the id of a conversation, and so of the group of an inferred target endpoint."""

ID_PREFIXES = ("", "C", "c", "\u00e7", "\uff5e", "\U0001f600")
"""The last two sort one way as UTF-8 and the other way as UTF-16."""

TRANSACTIONS = ("t1", "t2", "T1")

START = datetime(2026, 11, 20, 14, tzinfo=UTC)
HOURS = (0, 1, 2, 4, 6, 8, 9, 10, 12, 15, 18, 20)
TICKS = tuple(START + timedelta(hours=hours) for hours in HOURS)
LONG_AGO = START - timedelta(days=30)


@dataclass(frozen=True)
class Clock:
    """The moments of one log: the ticks, and the last microsecond before as_of."""

    as_of: datetime
    ticks: tuple[datetime, ...]

    def any(self, draw: st.DrawFn) -> datetime:
        """Any moment, as_of and later ones included."""
        return draw(st.sampled_from(self.ticks))

    def after(self, draw: st.DrawFn, moment: datetime) -> datetime:
        """Soon after the moment or at it; once in a while a clock is wrong."""
        if seldom(draw, 12):
            return self.any(draw)
        steps = draw(st.sampled_from((0, 1, 1, 2)))
        following = [tick for tick in self.ticks if tick >= moment] or [moment]
        return following[min(steps, len(following) - 1)]


@st.composite
def clocks(draw: st.DrawFn) -> Clock:
    """A clock whose as_of is one of the later ticks, mostly; one of them is midnight."""
    as_of = draw(st.sampled_from((*TICKS[-6:], *TICKS[-3:])))
    return Clock(as_of, tuple(sorted((*TICKS, as_of - timedelta(microseconds=1)))))


def seldom(draw: st.DrawFn, odds: int = 8) -> bool:
    """True once in `odds` times; false is the simpler example."""
    return draw(st.integers(1, odds)) == odds


def one_of(draw: st.DrawFn, values: Sequence[T]) -> T:
    """One of the values, the first being the simplest."""
    return draw(st.sampled_from(values))


def some_of(draw: st.DrawFn, values: Sequence[T], *, at_least: int, at_most: int) -> list[T]:
    """A few different ones of the values."""
    return draw(st.lists(st.sampled_from(values), min_size=at_least, max_size=at_most, unique=True))


def numbered(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    """The rows with an event_id each; the order of the ids is not that of the rows."""
    salt = draw(st.integers(0, 508))
    return [{**row, "event_id": f"e{(37 * number + salt) % 509}"} for number, row in enumerate(rows)]
