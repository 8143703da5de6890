"""Rule statements for tests of rules."""

from collections.abc import Iterable

from pipelines.config.rules.history import apply_statements
from pipelines.config.rules.statements import RuleStatement


def accepted(statements: Iterable[RuleStatement]) -> list[RuleStatement]:
    """The statements without those that the history refuses."""
    left = list(statements)
    while refusals := apply_statements(left).refusals:
        refused = {id(each.statement) for each in refusals}
        left = [each for each in left if id(each) not in refused]
    return left
