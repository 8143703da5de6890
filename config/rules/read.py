"""Rule files to statements; the suffix says which form a file is written in."""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from config.errors import ConfigError
from config.rules.rule_file import RuleFile
from config.rules.tsql_rules import read_tsql_rules
from config.rules.yaml_rules import read_yaml_rules


class RuleReader(Protocol):
    """Reads one form of rule files; instance and effective_from count where a statement has none."""

    def __call__(
        self,
        path: str,
        *,
        instance: str | None = None,
        database: str | None = None,
        effective_from: datetime | None = None,
    ) -> RuleFile:
        """Return the statements in the order of the file."""


def read_rules(
    path: str,
    *,
    instance: str | None = None,
    database: str | None = None,
    effective_from: datetime | None = None,
) -> RuleFile:
    """Read the statements of a rule file, in its order.

    Raises:
        ConfigError: The suffix is not known, or the file has errors; one line for each.
    """
    if message := suffix_problem(path):
        raise ConfigError(f"{path}: {message}")
    return _READERS[_suffix(path)](path, instance=instance, database=database, effective_from=effective_from)


def suffix_problem(path: str) -> str | None:
    """Say that no form of rules has the suffix of this path; None if one has."""
    suffix = _suffix(path)
    if suffix in _READERS:
        return None
    return (
        f"rules can't be read from {suffix or 'a file without a suffix'}; write T-SQL (.sql) or YAML (.yaml)"
    )


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


_READERS: Mapping[str, RuleReader] = {
    ".sql": read_tsql_rules,
    ".yaml": read_yaml_rules,
    ".yml": read_yaml_rules,
}
