"""Rules that nearly fit an endpoint: one criterion has a near name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import Names, masked
from pipelines.rules.near_names import NearNames
from pipelines.rules.statements import CRITERIA, STEPS

IsInUse = Callable[[str, str], bool]
"""Says of a criterion and a rule's name there whether the name is in use, and so no misspelling."""


@dataclass(frozen=True)
class NearRule:
    """A rule that would fit an endpoint if one criterion had the endpoint's name, which is near.

    Attributes:
        rule: the rule.
        criterion: the one of CRITERIA that does not fit.
        rule_has: the rule's name there.
        endpoint_has: the endpoint's name there.
        edits: the edits between the two; 0 if only case and blanks differ.
        is_in_use: whether the rule's name is in use, too, so that both are names.
    """

    rule: RuleVersion
    criterion: str
    rule_has: str
    endpoint_has: str
    edits: int
    is_in_use: bool = False

    @property
    def name(self) -> tuple[str, str, str, str]:
        """The name that may be in use: instance, database, criterion and what the rule has there."""
        return self.rule.instance, self.rule.database, self.criterion, self.rule_has


class NearRules:
    """The rules of one database, to find those that nearly fit an endpoint without a look at each."""

    def __init__(self, rules: Iterable[RuleVersion], is_in_use: IsInUse) -> None:
        """Take the rules, those of one moment or all versions, and which of their names are in use."""
        names: dict[str, set[str]] = {criterion: set() for criterion in CRITERIA}
        self._beside: dict[tuple[str, Names], dict[str, list[RuleVersion]]] = {}
        """Rules by a criterion and the names beside it, then by its name."""
        for rule in rules:
            for criterion, name in zip(CRITERIA, rule.triple, strict=True):
                if name is not None:
                    names[criterion].add(name)
                    beside = self._beside.setdefault((criterion, _without(rule.triple, criterion)), {})
                    beside.setdefault(name, []).append(rule)
        self._in_use = {
            criterion: {name for name in of_criterion if is_in_use(criterion, name)}
            for criterion, of_criterion in names.items()
        }
        self._names = {
            criterion: NearNames(of_criterion, self._in_use[criterion])
            for criterion, of_criterion in names.items()
        }

    def find(self, names: tuple[str, str, str]) -> list[NearRule]:
        """Return the rules that miss an endpoint by one criterion, whose name is near.

        The nearest come first, equally near ones by name and `valid_from`.
        """
        found = []
        for index, (criterion, endpoint_has) in enumerate(zip(CRITERIA, names, strict=True)):
            near = self._names[criterion].find(endpoint_has)
            for mask in STEPS:
                if near and mask[index]:
                    beside = self._beside.get((criterion, _without(masked(names, mask), criterion)), {})
                    found += [
                        NearRule(
                            rule,
                            criterion,
                            rule_has,
                            endpoint_has,
                            near[rule_has],
                            rule_has in self._in_use[criterion],
                        )
                        for rule_has in beside.keys() & near.keys()
                        for rule in beside[rule_has]
                    ]
        return sorted(found, key=lambda near: (near.edits, near.rule.name, near.rule.valid_from))


def _without(names: Names, criterion: str) -> Names:
    contract, local, remote = (
        None if other == criterion else name for other, name in zip(CRITERIA, names, strict=True)
    )
    return contract, local, remote
