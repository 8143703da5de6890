"""Measure what the settings expect of an as_of, and write it."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from pipelines.config.errors import ConfigError
from pipelines.config.expectations import (
    DATA_AGE,
    LEAKED,
    LEVEL_AT_LEAST,
    OLDEST_WAIT,
    P95_WAIT,
    TRANSMISSION_AGE,
    UNRESOLVED as UNRESOLVED_ROWS,
    Expectation,
)
from pipelines.config.instants import format_instant
from pipelines.config.nearest import suggest_nearest
from pipelines.console.wording import format_count
from pipelines.engine.concurrency import run_concurrently
from pipelines.expectations.measure import (
    Measured,
    Measures,
    measure_leaks,
    measure_messages,
    measure_unresolved,
)
from pipelines.expectations.read import COLUMNS, not_met
from pipelines.questions.leaks import read_leaking
from pipelines.questions.open_messages import RECEIVE, TRANSMISSION, read_open
from pipelines.settings.load import Settings
from pipelines.storage.ages import Ages
from pipelines.storage.pruned_days import require_days_before
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import EXPECTATIONS, UNRESOLVED


def require_days_left(warehouse: Warehouse, settings: Settings, as_of: datetime) -> None:
    """Refuse an as_of if an expectation needs a day before it that was pruned.

    Raises:
        ConfigError: housekeeping has pruned the day.
    """
    for number, each in enumerate(settings.expect):
        if each.measure == LEAKED:
            key = f"{settings.path}: expect[{number}].days: {each.days:g} days"
            subject = f"{key} before {format_instant(as_of)}"
            require_days_before(warehouse.first_day, as_of, each.days, subject=subject, shorter="write days:")


def write_expectations(warehouse: Warehouse, settings: Settings, as_of: datetime, ages: Ages) -> str:
    """Replace the rows of this as_of in `expectations`; other rows stay.

    Args:
        warehouse: the tables; the schedules and `unresolved` have this as_of.
        settings: what is expected; nothing leaves the as_of without rows.
        as_of: the instant.
        ages: `find_ages` of it.

    Returns:
        How many expectations are met.

    Raises:
        ConfigError: a data_age is of a database that nothing shows.
    """
    measured = measure(warehouse, settings, as_of, ages)
    rows = []
    for each in settings.expect:
        found = measured[each.name]
        is_met = each.is_met(found.value, found.messages)
        values = (each.name, found.value, each.limit, is_met, found.messages)
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    warehouse.replace_rows_of(EXPECTATIONS, rows, as_of)
    if not rows:
        return "none"
    met = len(rows) - len(not_met(rows))
    return f"{met:,} of {format_count(len(rows), 'expectation')} met"


def measure(warehouse: Warehouse, settings: Settings, as_of: datetime, ages: Ages) -> Measures:
    """Measure all expectations at an as_of whose schedules are written; by name."""
    expectations = settings.expect
    received = _of(expectations, OLDEST_WAIT, P95_WAIT, LEVEL_AT_LEAST)
    sent = _of(expectations, TRANSMISSION_AGE)
    unresolved = _of(expectations, UNRESOLVED_ROWS)
    leaked = _of(expectations, LEAKED)

    def of_queues() -> Measures:
        return measure_messages(read_open(warehouse, RECEIVE, as_of), received, as_of=as_of)

    def of_transmission() -> Measures:
        return measure_messages(read_open(warehouse, TRANSMISSION, as_of), sent, as_of=as_of)

    def of_unresolved() -> Measures:
        return measure_unresolved(warehouse.read_as_of(UNRESOLVED, as_of), unresolved)

    def of_leaks(days: float) -> Measures:
        of_days = [each for each in leaked if each.days == days]
        return measure_leaks(read_leaking(warehouse, as_of, days=days), of_days)

    passes: list[Callable[[], Measures]] = [
        ask for ask, of in ((of_queues, received), (of_transmission, sent), (of_unresolved, unresolved)) if of
    ]
    passes += [partial(of_leaks, days) for days in sorted({each.days for each in leaked})]
    found = {each.name: _measure_age(ages, each, settings) for each in _of(expectations, DATA_AGE)}
    for measures in run_concurrently(warehouse.spark, *passes):
        found |= measures
    return found


def _measure_age(ages: Ages, expectation: Expectation, settings: Settings) -> Measured:
    """The largest age of the databases that fit; one that is gone counts only where it is named."""
    entry = expectation.entry
    fitting = [
        newest
        for (instance, database), newest in ages.newest.items()
        if entry.instance in (None, instance)
        and entry.database in (None, database)
        and (entry.database is not None or (instance, database) not in ages.gone)
    ]
    if not fitting and (entry.instance, entry.database) != (None, None):
        names = [place[1 if entry.database else 0] for place in ages.newest]
        raise ConfigError(
            f"{settings.path}: expect: {expectation.name!r}: no database of that name has data; "
            f"{suggest_nearest(entry.database or entry.instance or '', names)}"
        )
    oldest = min(fitting, default=None)
    return Measured(None if oldest is None else (ages.as_of - oldest).total_seconds(), None)


def _of(expectations: Sequence[Expectation], *measures: str) -> list[Expectation]:
    return [each for each in expectations if each.measure in measures]
