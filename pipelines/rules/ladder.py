"""The ladder in plain Python: which rules fit the names of an endpoint, and which decides.

Rules look at names only, and endpoints have few kinds of names: a kind is decided once, by look-ups.
Frames of endpoints go through the ladder of `pipelines/ladder`.
Which rule gave a level that only snapshots show is known where the snapshots around the creation agree.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

from pipelines.rules.history import RuleVersion
from pipelines.rules.statements import CRITERIA, DEFAULT_LEVEL, STEPS

DatabaseKey: TypeAlias = tuple[str, str]
"""Instance and database."""

Names: TypeAlias = tuple[str | None, str | None, str | None]
"""Contract, local and remote service of an endpoint; None stands for a name that no rule mentions."""

Mask: TypeAlias = tuple[bool, bool, bool]
"""Which of contract, local and remote service are named."""


Groups: TypeAlias = Mapping[int, Mapping[Names, Sequence[RuleVersion]]]
"""Rules by their level, and by one of the names that they ask for."""


class Ladder:
    """The rules of one database by their criteria, at one moment or over all time.

    At one moment the criteria are unique. Eight look-ups find the rules that fit an endpoint, however many
    rules there are.
    """

    def __init__(self, rules: Iterable[RuleVersion]) -> None:
        """Take the rules of one database, those of one moment or all versions."""
        self.rules = tuple(rules)
        self._by_triple: dict[Names, list[RuleVersion]] = {}
        for rule in self.rules:
            self._by_triple.setdefault(rule.triple, []).append(rule)
        self._buckets: dict[tuple[Mask, Mask], Mapping[Names, Groups]] = {}

    def find_fitting(self, names: Names) -> Iterator[RuleVersion]:
        """Yield the rules that fit an endpoint, the one that decides first: in the order of the ladder.

        Versions with the same criteria come in the order in which the ladder has taken them.
        """
        contract, local, remote = names
        for by_contract, by_local, by_remote in STEPS:
            triple = (
                contract if by_contract else None,
                local if by_local else None,
                remote if by_remote else None,
            )
            rules = self._by_triple.get(triple)
            # A named criterion of None is a name that no rule mentions: such a triple is another step's.
            if rules is not None and mask_of(triple) == (by_contract, by_local, by_remote):
                yield from rules

    def decide(self, names: Names) -> RuleVersion | None:
        """Return the rule that decides, of rules of one moment; None is the default."""
        return next(self.find_fitting(names), None)

    def find_candidates(self, names: Names) -> list[RuleVersion]:
        """Return the rules of one moment of which it is not known whether they decide, in ladder order.

        A name that no input has is empty. A candidate asks for such a name, fits all others, and stands
        before the rule that decides whatever that name is.
        """
        if "" not in names:
            return []
        certain = self.decide(names)
        steps = STEPS if certain is None else STEPS[: step_of(certain) - 1]
        contract, local, remote = (name or None for name in names)
        return [
            rule
            for mask in steps
            for groups in self.find_overlapping((contract, local, remote), mask).values()
            for candidates in groups.values()
            for rule in candidates
            if _asks_only_for_unknown(rule.triple, names)
        ]

    def decide_at(self, names: Names, moment: datetime | None) -> RuleVersion | None:
        """Return the version that decides at a moment, as `stands_at` takes it; None is the default."""
        return next((rule for rule in self.find_fitting(names) if stands_at(rule, moment)), None)

    def find_named(self, name: str) -> Sequence[RuleVersion]:
        """Return the rule of a name, or its versions."""
        return self._by_name.get(name, ())

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[RuleVersion]]:
        found: dict[str, list[RuleVersion]] = {}
        for rule in self.rules:
            found.setdefault(rule.name, []).append(rule)
        return found

    def find_overlapping(self, names: Names, mask: Mask) -> Groups:
        """Return the rules with this mask that fit some endpoint with these names, by level and in groups.

        Here a name of None may be any name. The rules of a group have the group's name in common, one of
        those that they ask for and `names` does not have, so a check with that name holds for the whole
        group. It takes one look-up.
        """
        shared = _both(mask_of(names), mask)
        if (mask, shared) not in self._buckets:
            self._buckets[mask, shared] = self._grouped(mask, shared)
        return self._buckets[mask, shared].get(masked(names, shared), {})

    @cached_property
    def _by_mask(self) -> Mapping[Mask, Sequence[RuleVersion]]:
        found: dict[Mask, list[RuleVersion]] = {}
        for rule in self.rules:
            found.setdefault(mask_of(rule.triple), []).append(rule)
        return found

    def _grouped(self, mask: Mask, shared: Mask) -> Mapping[Names, Groups]:
        of_mask = self._by_mask.get(mask, [])
        added = [index for index in range(len(mask)) if mask[index] and not shared[index]]
        # By the criterion with the fewest names, so that groups are few and large.
        by = min(added, key=lambda index: len({rule.triple[index] for rule in of_mask}), default=None)
        of_group: Mask = (by == 0, by == 1, by == 2)
        buckets: dict[Names, dict[int, dict[Names, list[RuleVersion]]]] = {}
        for rule in of_mask:
            by_level = buckets.setdefault(masked(rule.triple, shared), {})
            groups = by_level.setdefault(rule.level, {})
            groups.setdefault(masked(rule.triple, of_group), []).append(rule)
        return buckets


NO_RULES = Ladder(())
"""The ladder of a database without rules."""


def ladders_of(versions: Iterable[RuleVersion]) -> dict[DatabaseKey, Ladder]:
    """Return the ladder of each database, in their order."""
    found: dict[DatabaseKey, list[RuleVersion]] = {}
    for version in versions:
        found.setdefault((version.instance, version.database), []).append(version)
    return {database_key: Ladder(found[database_key]) for database_key in sorted(found)}


def ladders_at(versions: Iterable[RuleVersion], moment: datetime | None) -> dict[DatabaseKey, Ladder]:
    """Return the ladder of each database that has rules at a moment, as `stands_at` takes it."""
    return ladders_of(version for version in versions if stands_at(version, moment))


def stands_at(version: RuleVersion, moment: datetime | None) -> bool:
    """Say whether a version is valid at a moment; None is after the last statement, even in the future."""
    if moment is None:
        return version.valid_to is None
    return version.valid_from <= moment and (version.valid_to is None or moment < version.valid_to)


def find_periods(versions: Iterable[RuleVersion]) -> list[tuple[datetime | None, datetime | None]]:
    """Return the periods in which the same of some versions are valid: half-open, in order, of all time.

    The first has no start, the last no end: None.
    """
    bounds = {bound for version in versions for bound in (version.valid_from, version.valid_to)}
    return list(pairwise([None, *sorted(bound for bound in bounds if bound is not None), None]))


def level_of(rule: RuleVersion | None) -> int:
    """Return the level that a rule gives; None is the default."""
    return DEFAULT_LEVEL if rule is None else rule.level


def step_of(rule: RuleVersion) -> int:
    """Return the step of the ladder on which a rule is: 1 to 8."""
    return STEPS.index(mask_of(rule.triple)) + 1


def names_of(endpoint: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return contract, local and remote service of a row."""
    contract, local, remote = (endpoint[criterion] for criterion in CRITERIA)
    return contract, local, remote


def mask_of(names: Names) -> Mask:
    """Say which of the three are named."""
    contract, local, remote = names
    return contract is not None, local is not None, remote is not None


def join_names(names: Names, others: Names) -> Names:
    """Return what both name together, where they do not contradict each other."""
    contract, local, remote = (
        one if one is not None else other for one, other in zip(names, others, strict=True)
    )
    return contract, local, remote


def mirror_names(names: Names) -> Names:
    """Return the other end of a conversation: its local service is this one's remote service."""
    contract, local, remote = names
    return contract, remote, local


def masked(names: Names, mask: Mask) -> Names:
    """Return the names of a mask, None for the others."""
    contract, local, remote = (name if named else None for name, named in zip(names, mask, strict=True))
    return contract, local, remote


def _asks_only_for_unknown(asked: Names, names: Names) -> bool:
    """Whether a rule fits if the names that are not known are those that it asks for."""
    return all(wanted is None or name in ("", wanted) for wanted, name in zip(asked, names, strict=True))


def _both(mask: Mask, other: Mask) -> Mask:
    contract, local, remote = (one and two for one, two in zip(mask, other, strict=True))
    return contract, local, remote


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
