"""What was read from one rule file."""

from dataclasses import dataclass

from config.rules.statements import RuleStatement


@dataclass(frozen=True)
class RuleFile:
    """The statements of a rule file in its order.

    `passed_over` counts the statements of a script that are not about rules; YAML has none.
    """

    path: str
    statements: tuple[RuleStatement, ...]
    passed_over: int = 0
