"""The first day left of the ledger: housekeeping prunes the rows that were closed before it.

The table `batches` has the day as a property. Housekeeping writes the property before it deletes rows, and
every reader passes over rows that were closed before the day. So a housekeeping that is killed in between
leaves the same ledger as one that has ended.
"""

import logging
from datetime import UTC, date, datetime, timedelta

from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant

log = logging.getLogger(__name__)
PROPERTY = "priorities.first_day"
"""The property of the table `batches` that has the first day left, such as 2026-11-20."""


def parse_first_day(value: str | None) -> date | None:
    """The first day left, from the value of the property; None without one."""
    return None if value is None else date.fromisoformat(value)


def start_of(day: date) -> datetime:
    """The first instant of a UTC day."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def choose_first_day(newest: datetime | None, keep_days: int) -> date | None:
    """The first day left if `keep_days` days before the newest moment of the log stay.

    Args:
        newest: `CompletedBatches.newest`.
        keep_days: number of days before the day of that moment.

    Returns:
        None without a moment, or if there are fewer days since the first date.
    """
    if newest is None:
        return None
    day = newest.astimezone(UTC).date()
    return None if keep_days > (day - date.min).days else day - timedelta(days=keep_days)


def require_left(first_day: date | None, since: datetime, *, subject: str, moment: datetime) -> None:
    """Refuse what needs the ledger at a moment whose day was pruned.

    Args:
        first_day: the first day left; None if none was pruned.
        since: the first moment that is needed.
        subject: what needs it, such as `command line: --as-of 2026-11-20T00:00:00Z`.
        moment: the moment that the user can choose later, such as the as_of.

    Raises:
        ConfigError: the day of `since` was pruned.
    """
    if first_day is None or since.astimezone(UTC).date() >= first_day:
        return
    earliest = start_of(first_day) + (moment - since)
    raise pruned_error(first_day, since, subject=subject, remedy=f"name {format_instant(earliest)} or later")


def require_days_before(
    first_day: date | None, as_of: datetime, days: float, *, subject: str, shorter: str
) -> None:
    """Refuse what needs the days before an as_of, one of which was pruned.

    Args:
        first_day: the first day left; None if none was pruned.
        as_of: the moment.
        days: how many before it are needed.
        subject: what needs them.
        shorter: how to ask for fewer days, before their number.

    Raises:
        ConfigError: the day that many days before as_of was pruned.
    """
    since = as_of - timedelta(days=days)
    if first_day is not None and since.astimezone(UTC).date() < first_day:
        left = (as_of - start_of(first_day)).days
        remedy = f"{shorter} {left} or less" if left > 0 else "name a later --as-of"
        raise pruned_error(first_day, since, subject=subject, remedy=remedy)


def pruned_error(first_day: date, since: datetime | None, *, subject: str, remedy: str) -> ConfigError:
    """The error of what needs a pruned day.

    Args:
        first_day: the first day left.
        since: the first moment that is needed; None for the whole log.
        subject: what needs it.
        remedy: what to do.
    """
    needed = "the whole log" if since is None else f"the log of {format_instant(since)}"
    return ConfigError(
        f"{subject} needs {needed}, which maintain --keep-event-days has pruned: the first "
        f"day left is {first_day}; {remedy}"
    )


def warn_of_pruned(first_day: date | None, what: str) -> None:
    """Warn that an answer about the whole log lacks pruned days.

    Args:
        first_day: the first day left; None if none was pruned.
        what: the figures, such as `the counts of endpoints`.
    """
    if first_day is not None:
        log.warning(
            "%s lack the conversations that closed before %s: maintain --keep-event-days has pruned them",
            what,
            first_day,
        )
