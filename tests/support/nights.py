"""Logs that are split over nights."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from tests.support.factories import Events
from tests.support.harness import SOURCES
from tests.support.strategies import Log
from tests.support.strategies.base import START

DAYS = (START + timedelta(hours=18), START + timedelta(hours=36), START + timedelta(hours=60))
"""Moments of three days; events happen at them, before them and after them."""


def stretched(log: Log, factor: int) -> Log:
    """The log with its twenty hours made days."""
    return at_other_times(log, lambda moment: START + (moment - START) * factor)


def at_other_times(log: Log, moved: Callable[[datetime], datetime]) -> Log:
    """The log with all its events and rules at other times."""
    sources = {
        source: [row | {"event_time": moved(row["event_time"])} for row in rows]
        for source, rows in log.events.items()
    }
    rules = [rule | {"effective_from": moved(rule["effective_from"])} for rule in log.rules]
    return replace(log, **sources, rules=rules)


def nights(events: Events, random: Random, days: Sequence[datetime] = DAYS) -> list[Events]:
    """The events by the day on which they happened, but one in ten came in any night, and some twice."""
    dealt: list[Events] = [{source: [] for source in SOURCES} for _ in days]
    for source, rows in events.items():
        for row in rows:
            own = sum(row["event_time"] >= day for day in days[:-1])
            night = random.randrange(len(days)) if random.random() < 0.1 else own
            dealt[night][source].append(row)
            if random.random() < 0.1:
                dealt[random.randrange(len(days))][source].append(dict(row))
    for night_events in dealt:
        for rows in night_events.values():
            random.shuffle(rows)
    return dealt
