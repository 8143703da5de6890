"""What became of the rules of the past when their sources were edited."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pipelines.rules.history import RuleVersion

FOR_EVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, order=True)
class EditedPeriod:
    """A half-open interval in which a rule of a database is not what it was; an `until` of None is open."""

    instance: str
    database: str
    name: str
    since: datetime
    until: datetime | None


def find_edited_periods(before: Iterable[RuleVersion], after: Iterable[RuleVersion]) -> list[EditedPeriod]:
    """Compare two histories, instant by instant, and return where they differ.

    Returns:
        One item per rule and longest interval in which it is there in one history only, or asks for other
        names, or gives another level; ordered by instance, database, name and time. An ALTER that changes
        nothing is no difference.
    """
    old, new = _by_rule(before), _by_rule(after)
    found: list[EditedPeriod] = []
    for rule in sorted(old.keys() | new.keys()):
        was, is_now = old.get(rule, []), new.get(rule, [])
        if was == is_now:
            continue
        moments = sorted({moment for version in (*was, *is_now) for moment in _span(version)} - {FOR_EVER})
        open_since: datetime | None = None
        for moment in moments:
            differs = _at(was, moment) != _at(is_now, moment)
            if differs and open_since is None:
                open_since = moment
            elif not differs and open_since is not None:
                found.append(EditedPeriod(*rule, open_since, moment))
                open_since = None
        if open_since is not None:
            found.append(EditedPeriod(*rule, open_since, None))
    return found


def _by_rule(history: Iterable[RuleVersion]) -> dict[tuple[str, str, str], list[RuleVersion]]:
    rules: dict[tuple[str, str, str], list[RuleVersion]] = {}
    for version in history:
        rules.setdefault((version.instance, version.database, version.name), []).append(version)
    return rules


def _span(version: RuleVersion) -> tuple[datetime, datetime]:
    return version.valid_from, version.valid_to or FOR_EVER


def _at(versions: list[RuleVersion], moment: datetime) -> object:
    """What the rule says at a moment; None if it is not there."""
    for version in versions:
        since, until = _span(version)
        if since <= moment < until:
            return version.triple, version.level
    return None
