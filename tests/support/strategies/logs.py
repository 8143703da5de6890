"""Whole logs with the catalog, rules and settings to run them with, and ways to deliver them in pieces."""

from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from hypothesis import strategies as st

from .base import Batch, Row, clocks, numbered, one_of, seldom
from .catalogs import catalogs, places
from .conversations import traffic
from .queues import queue_events
from .rules import rule_statements
from .spellings import spelled, with_guids


@dataclass(frozen=True)
class Log:
    """Valid events, each once, and what else a run needs."""

    endpoint_events: list[Row]
    message_events: list[Row]
    queue_events: list[Row] | None
    catalog: Row
    rules: list[Row]
    as_of: datetime
    top: int | None
    starvation: Row | None
    blocks: Row | None

    @property
    def events(self) -> Batch:
        """The events by source name, without queue_events where there is no such input."""
        sources: Batch = {"endpoint_events": self.endpoint_events, "message_events": self.message_events}
        if self.queue_events is not None:
            sources["queue_events"] = self.queue_events
        return sources

    @property
    def settings(self) -> dict[str, Any]:
        """What the model wants beside the events."""
        return {
            "catalog": self.catalog,
            "rules": self.rules,
            "as_of": self.as_of,
            "top": self.top,
            "starvation": self.starvation,
            "blocks": self.blocks,
        }


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """A log of a few conversations within twenty hours around midnight."""
    clock = draw(clocks())
    catalog = draw(catalogs())
    known_places = places(catalog)
    rules = draw(rule_statements(clock, known_places))
    events = draw(traffic(clock, known_places))
    queue_rows = draw(queue_events(clock, known_places, events))
    if seldom(draw, 2):
        sources = [events.endpoint_events, events.message_events, queue_rows or []]
        events.endpoint_events, events.message_events, replaced = draw(with_guids(sources))
        queue_rows = None if queue_rows is None else replaced
    starvation = {"after_seconds": one_of(draw, (3600, 5400, 4 * 3600)), "raise_by": one_of(draw, (1, 3))}
    blocks = {"fragment_bytes": 100, "fragments": one_of(draw, (1, 2, 3, 3, 5))}
    return Log(
        endpoint_events=numbered(draw, events.endpoint_events),
        message_events=numbered(draw, events.message_events),
        queue_events=None if queue_rows is None else numbered(draw, queue_rows),
        catalog=catalog,
        rules=rules,
        as_of=clock.as_of,
        top=one_of(draw, (None, None, 1, 2, 3)),
        starvation=starvation if seldom(draw, 3) else None,
        blocks=blocks if draw(st.booleans()) else None,
    )


def split(events: Batch, count: int, random: Random) -> list[Batch]:
    """Deal the events to the batches, one in five a second time, GUIDs in any spelling."""
    batches: list[Batch] = [{source: [] for source in events} for _ in range(count)]
    for source, rows in events.items():
        repeats = [row for row in rows if random.random() < 0.2]
        dealt = [*rows, *repeats]
        random.shuffle(dealt)
        for row in dealt:
            random.choice(batches)[source].append(spelled(row, random))
    return batches
