"""Rule statements in the driver: as YAML, and as the level that an endpoint gets from them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ANY = "ANY"
DEFAULT_LEVEL = 5


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
        self._levels: dict[tuple[str, ...], int] = {}
        for s in statements:
            if s.verb == "create":
                criteria = (
                    str(s.settings.get(key, ANY)) for key in ("contract", "local_service", "remote_service")
                )
                self._levels[(s.instance, s.database, *criteria)] = int(
                    s.settings.get("level", DEFAULT_LEVEL)
                )

    def level(self, instance: str, database: str, contract: str, local: str, remote: str) -> int:
        """The level of an endpoint: the first of the eight steps that has a rule, else the default."""
        for c in (contract, ANY):
            for l_ in (local, ANY):
                for r in (remote, ANY):
                    level = self._levels.get((instance, database, c, l_, r))
                    if level is not None:
                        return level
        return DEFAULT_LEVEL
