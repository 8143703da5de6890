"""Random expectations of a moment: each measure, filters that fit or do not, limits at what comes out."""

from collections.abc import Callable, Sequence
from math import floor
from random import Random
from typing import Any

from tests.support.factories import Row
from tests.support.model.expectations import MEASURES, expectations
from tests.support.model.moment import Moment

PLACE = ("instance", "database", "queue")
NAMES = ("contract", "service", "remote_service")
KEYS: dict[str, Sequence[str]] = {
    "oldest_wait": (*PLACE, *NAMES, "level", "min_messages"),
    "p95_wait": (*PLACE, *NAMES, "level", "min_messages"),
    "transmission_age": ("instance", *NAMES, "level", "min_messages"),
    "level_at_least": (*PLACE, *NAMES, "min_messages"),
    "unresolved": ("min_messages",),
    "leaked_conversations": ("instance", "database", *NAMES, "days"),
}
"""The further keys of each measure, without share."""
DAYS = (0.125, 0.25, 0.4, 0.5, 7, None)
"""Some are times between ticks of a log; None is the default."""
FAR: dict[str, Any] = dict.fromkeys(("oldest_wait", "p95_wait", "transmission_age"), "1 h")
NOWHERE = "Nobody"
"""A contract, service, instance or database that nothing has."""


def random_entries(moment: Moment, count: int, number: int) -> list[Row]:
    """Entries with names of their own, keys in their alphabetical order; the same for the same number."""
    random = Random(number)
    found: dict[str, Row] = {}
    while len(found) < count:
        measure = random.choice(MEASURES)
        entry = {measure: FAR.get(measure, random.randint(1, 10)), **_filters(random, moment, measure)}
        (row,) = expectations(moment, [entry])
        entry |= _limit(random, measure, row["value"])
        if random.randrange(2):
            entry["name"] = f"entry {len(found)}"
        entry = dict(sorted(entry.items()))
        found.setdefault(expectations(moment, [entry])[0]["name"], entry)
    return list(found.values())


def _filters(random: Random, moment: Moment, measure: str) -> Row:
    """Some of what a message or an endpoint has; now and then a name that nothing has."""
    keys = KEYS[measure]
    if measure == "leaked_conversations":
        endpoint = random.choice(list(moment.state.known_endpoints.values()))
        there: Row = {
            "instance": endpoint.instance,
            "database": endpoint.database,
            **dict(
                zip(NAMES, (endpoint.contract, endpoint.local_service, endpoint.remote_service), strict=True)
            ),
            "days": random.choice(DAYS),
        }
    else:
        kind = "transmission" if measure == "transmission_age" else "receive"
        message = random.choice([each for each in moment.open_messages if each.kind == kind])
        instance, database, queue = message.place
        full = f"{instance}.{database}.{queue}"
        there = {
            "instance": instance,
            "database": database,
            "queue": random.choice((queue, full)),
            **dict(zip(NAMES, message.names, strict=True)),
            "level": random.choice((message.level, message.level, 10)),
            "min_messages": random.choice((0, 1, 2, 5, 1000)),
        }
    chosen = {key: there[key] for key in keys if there[key] is not None and random.randrange(5) < 2}
    others = [key for key in chosen if key in ("instance", "database", *NAMES)]
    if others and not random.randrange(10):
        chosen[random.choice(others)] = NOWHERE
    return chosen


def _limit(random: Random, measure: str, value: float | None) -> Row:
    """The value itself, or a step beside it."""
    if measure == "level_at_least":
        shares = (None, 0, 1, value, value and value / 2, value and min(1.0, value + 0.01))
        share = random.choice(shares)
        return {} if share is None else {"share": share}
    step = random.choice((-1, 0, 0, 1))
    if measure not in FAR:
        return {measure: max(0, int(value or 0) + step)}
    seconds = max(0, floor(value or 0) + step)
    forms: list[Callable[[int], str]] = [lambda each: f"{each} s", lambda each: f"{each}s"]
    if seconds % 60 == 0:
        forms.append(lambda each: f"{each // 60} min")
    if seconds % 90 == 0:
        forms.append(lambda each: f"{each / 3600:g}h")
    return {measure: random.choice(forms)(seconds)}
