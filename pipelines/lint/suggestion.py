"""A rule that could be added, as T-SQL that can be run or put into a rule script."""

from datetime import UTC, datetime

from pipelines.config.rules.history import RuleVersion
from pipelines.config.rules.limits import NAME_LENGTH
from pipelines.config.rules.tsql_script import bracketed, create_statement
from pipelines.lint.standing_rules import Names, Place

_ANY_MOMENT = datetime(1, 1, 1, tzinfo=UTC)
"""A CREATE does not say when it takes effect."""


def suggested_rule(place: Place, names: Names, level: int) -> str:
    """Return USE and CREATE BROKER PRIORITY for endpoints with these names, which make the rule's name.

    A database without a name needs no USE.
    """
    instance, database = place
    name = " ".join(each for each in names if each is not None)[: NAME_LENGTH // 2]
    rule = RuleVersion(instance, database, name, *names, level, _ANY_MOMENT)
    use = f"USE {bracketed(database)}; " if database else ""
    return f"{use}{create_statement(rule)}".rstrip()
