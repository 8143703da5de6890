"""The ladder in plain Python: the rules of one database at a moment, by their names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from pipelines.config.rules.history import RuleVersion
from pipelines.config.rules.limits import STEPS

DatabaseKey: TypeAlias = tuple[str, str]
"""Instance and database."""

Names: TypeAlias = tuple[str | None, str | None, str | None]
"""Contract, local and remote service of an endpoint; None stands for a name that no rule mentions."""

Mask: TypeAlias = tuple[bool, bool, bool]
"""Which of contract, local and remote service are named."""


Groups: TypeAlias = Mapping[int, Mapping[Names, Sequence[RuleVersion]]]
"""Rules by their level, and by one of the names that they ask for."""


class RulesInForce:
    """Rules by their criteria; at one moment these are unique in a database.

    Finding the rules that fit an endpoint takes eight look-ups, however many rules there are.
    """

    def __init__(self, rules: Iterable[RuleVersion]) -> None:
        """Take the rules of one database at one moment."""
        self.rules = tuple(rules)
        self._by_triple = {rule.triple: rule for rule in self.rules}
        self._by_mask: dict[Mask, list[RuleVersion]] = {}
        for rule in self.rules:
            self._by_mask.setdefault(mask_of(rule.triple), []).append(rule)
        self._buckets: dict[tuple[Mask, Mask], Mapping[Names, Groups]] = {}

    def find_fitting(self, names: Names) -> Iterator[RuleVersion]:
        """Yield the rules that fit an endpoint, the one that decides first: in the order of the ladder."""
        contract, local, remote = names
        for by_contract, by_local, by_remote in STEPS:
            triple = (
                contract if by_contract else None,
                local if by_local else None,
                remote if by_remote else None,
            )
            rule = self._by_triple.get(triple)
            # A named criterion of None is a name that no rule mentions: such a triple is another step's.
            if rule is not None and mask_of(triple) == (by_contract, by_local, by_remote):
                yield rule

    def find_overlapping(self, names: Names, mask: Mask) -> Groups:
        """Return the rules with this mask that fit some endpoint with these names, by level and in groups.

        Here a name of None may be any name. The rules of a group have the group's name in common, one of
        those that they ask for and `names` does not have, so a check with that name holds for the whole
        group. It takes one look-up.
        """
        shared = _both(mask_of(names), mask)
        if (mask, shared) not in self._buckets:
            self._buckets[mask, shared] = self._grouped(mask, shared)
        return self._buckets[mask, shared].get(_masked(names, shared), {})

    def _grouped(self, mask: Mask, shared: Mask) -> Mapping[Names, Groups]:
        of_mask = self._by_mask.get(mask, [])
        added = [index for index in range(len(mask)) if mask[index] and not shared[index]]
        # By the criterion with the fewest names, so that groups are few and large.
        by = min(added, key=lambda index: len({rule.triple[index] for rule in of_mask}), default=None)
        of_group: Mask = (by == 0, by == 1, by == 2)
        buckets: dict[Names, dict[int, dict[Names, list[RuleVersion]]]] = {}
        for rule in of_mask:
            by_level = buckets.setdefault(_masked(rule.triple, shared), {})
            groups = by_level.setdefault(rule.level, {})
            groups.setdefault(_masked(rule.triple, of_group), []).append(rule)
        return buckets


def rules_in_force(
    versions: Iterable[RuleVersion], moment: datetime | None
) -> dict[DatabaseKey, RulesInForce]:
    """Return the rules that stand at a moment, by database in order; None is after the last statement."""
    found: dict[DatabaseKey, list[RuleVersion]] = {}
    for version in versions:
        if moment is None:
            stands = version.valid_to is None
        else:
            stands = version.valid_from <= moment and (version.valid_to is None or moment < version.valid_to)
        if stands:
            found.setdefault((version.instance, version.database), []).append(version)
    return {database_key: RulesInForce(found[database_key]) for database_key in sorted(found)}


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


def _both(mask: Mask, other: Mask) -> Mask:
    contract, local, remote = (one and two for one, two in zip(mask, other, strict=True))
    return contract, local, remote


def _masked(names: Names, mask: Mask) -> Names:
    contract, local, remote = (name if named else None for name, named in zip(names, mask, strict=True))
    return contract, local, remote
