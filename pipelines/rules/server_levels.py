"""Which rule gave a level that only snapshots show: known where those around the creation agree."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from pipelines.config.rules.history import RuleVersion
from pipelines.rules.ladder import Ladder, Names, find_periods

Decision = tuple[datetime | None, datetime | None, RuleVersion | None]
"""A half-open period, open where it has None, and the version that decides in it; None is the default."""


def decisions(ladder: Ladder, names: Names, taken: Collection[datetime]) -> list[Decision]:
    """The periods of creation in which it is known which version decides.

    Args:
        ladder: all versions of the rules of a database.
        names: the endpoint's.
        taken: when snapshots with rules of the database were taken.

    Returns:
        Where rule files have the history, all periods. Where snapshots show it, those between two of them
        that show the same version. None where no input has rules, or a name that is not known decides.
    """
    if ladder.find_candidates(names):
        return []
    if ladder.rules and not _is_of_snapshots(ladder.rules, taken):
        periods = find_periods(ladder.find_fitting(names))
        return [(since, until, ladder.decide_at(names, since) if since else None) for since, until in periods]
    return list(_between(ladder, names, sorted(taken)))


def may_have_given(ladder: Ladder, names: Names, level: int) -> list[str]:
    """The rules with this level that fit at any time, also those that a name decides that is not known."""
    rules = [*ladder.find_candidates(names), *ladder.find_fitting(names)]
    return list(dict.fromkeys(rule.name for rule in rules if rule.level == level))


def _is_of_snapshots(rules: Sequence[RuleVersion], taken: Collection[datetime]) -> bool:
    """Whether all versions begin and end when a snapshot was taken."""
    return all(
        rule.valid_from in taken and (rule.valid_to is None or rule.valid_to in taken) for rule in rules
    )


def _between(ladder: Ladder, names: Names, taken: Sequence[datetime]) -> Iterator[Decision]:
    """The periods between snapshots around which one version decides; those without a change are one."""
    if not taken:
        return
    changes = {
        bound
        for rule in ladder.find_fitting(names)
        for bound in (rule.valid_from, rule.valid_to)
        if bound is not None and bound > taken[0]
    }
    since = taken[0]
    for change in sorted(changes):
        decided, before = ladder.decide_at(names, since), taken[bisect_left(taken, change) - 1]
        # A rule that changed without effect on these names is no change.
        until = change if ladder.decide_at(names, change) == decided else before
        if since < until:
            yield since, until, decided
        since = change
    if since < taken[-1]:
        yield since, taken[-1], ladder.decide_at(names, since)
