"""Rule files to statements; the suffix says which form a file is written in."""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from pipelines.config.errors import ConfigError
from pipelines.config.rules.statements import RuleFile
from pipelines.config.rules.tsql_rules import read_tsql_rules
from pipelines.config.rules.yaml_rules import read_yaml_rules


class RuleReader(Protocol):
    """Reads one form of rule files; the keywords count where a statement says nothing of its own."""

    def __call__(
        self,
        path: str,
        *,
        instance: str | None = None,
        effective_from: datetime | None = None,
        database: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> RuleFile:
        """Return the statements in the order of the file."""


def read_rules(
    path: str,
    *,
    instance: str | None = None,
    effective_from: datetime | None = None,
    database: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> RuleFile:
    """Read the statements of a rule file, in its order.

    Args:
        path: the file.
        instance: of statements that name none.
        effective_from: moment of effect of statements that have none.
        database: of statements that name none, and of a script before its first USE.
        variables: values of $(name) in a script that sets none itself.

    Raises:
        ConfigError: The suffix is not known, or the file has errors; one line for each.
    """
    if message := suffix_problem(path):
        raise ConfigError(f"{path}: {message}")
    return _READERS[_suffix(path)](
        path, instance=instance, effective_from=effective_from, database=database, variables=variables
    )


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
