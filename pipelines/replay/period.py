"""The period that a replay plays, and how far around it the log is looked at."""

from dataclasses import dataclass
from datetime import datetime, timedelta

AROUND = timedelta(hours=24)
"""Medians and sessions are taken from so long before the period to so long after it. Our choice."""


@dataclass(frozen=True)
class Period:
    """The period [start, end)."""

    start: datetime
    end: datetime

    @property
    def around(self) -> "Period":
        """The span [start - 24 h, end + 24 h) in which service times and sessions are looked for."""
        return Period(self.start - AROUND, self.end + AROUND)
