"""Rule statements in the driver: as YAML, and as the level that an endpoint gets from them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import ladders_of, level_of
from pipelines.rules.statements import CRITERIA, DEFAULT_LEVEL

ANY = "ANY"
EVER = datetime(1970, 1, 1, tzinfo=UTC)
"""Before all events."""


@dataclass(frozen=True)
class Statement:
    """One statement of a rule file.

    Attributes:
        verb: create, alter or drop.
        settings: the rule's keys in the YAML form, without its name.
    """

    effective_from: str
    instance: str
    database: str
    verb: str
    name: str
    settings: Mapping[str, str | int]


def yaml_of(statements: Iterable[Statement]) -> str:
    """The statements as a rule file; every text in quotes, so that no name can be read as something else."""
    lines = []
    for s in statements:
        rule = json.dumps({"name": s.name, **s.settings}, ensure_ascii=False)
        lines += [
            f"- effective_from: {s.effective_from}",
            f"  instance: {json.dumps(s.instance)}",
            f"  database: {json.dumps(s.database)}",
            f"  {s.verb}: {rule}",
        ]
    return "\n".join([*lines, ""]) if lines else "[]\n"


class Rulebook:
    """The rules that CREATE statements make, for the level that the live engine would have logged."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        """Keep the created rules. Changes over time are left out: the log's levels then disagree."""
        rules: dict[tuple[str | None, ...], RuleVersion] = {}
        for s in statements:
            if s.verb == "create":
                named = [str(s.settings.get(criterion, ANY)) for criterion in CRITERIA]
                contract, local, remote = (None if name == ANY else name for name in named)
                level = int(s.settings.get("level", DEFAULT_LEVEL))
                rule = RuleVersion(s.instance, s.database, s.name, contract, local, remote, level, EVER)
                rules[s.instance, s.database, *rule.triple] = rule
        self._ladders = ladders_of(rules.values())

    def level(self, instance: str, database: str, contract: str, local: str, remote: str) -> int:
        """The level of an endpoint: that of the rule that decides, else the default."""
        ladder = self._ladders.get((instance, database))
        return level_of(ladder.decide((contract, local, remote)) if ladder else None)
