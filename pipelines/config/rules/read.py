"""Rule files to statements; the suffix says which form a file is written in."""

import os
from collections.abc import Callable, Mapping

from pipelines.config.errors import ConfigError
from pipelines.config.rules.statements import RuleDefaults, RuleFile
from pipelines.config.rules.tsql_rules import read_tsql_rules
from pipelines.config.rules.yaml_rules import read_yaml_rules


def read_rules(path: str, defaults: RuleDefaults) -> RuleFile:
    """Read the statements of a rule file, in its order.

    Raises:
        ConfigError: The suffix is not known, or the file has errors; one line for each.
    """
    if message := suffix_problem(path):
        raise ConfigError(f"{path}: {message}")
    return _READERS[_suffix(path)](path, defaults)


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


_READERS: Mapping[str, Callable[[str, RuleDefaults], RuleFile]] = {
    ".sql": read_tsql_rules,
    ".yaml": read_yaml_rules,
    ".yml": read_yaml_rules,
}
