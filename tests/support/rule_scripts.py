"""Rule statements, and scripts of instance I and database D."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from pipelines.rules.history import apply_statements
from pipelines.rules.statements import RuleDefaults, RuleFile, RuleStatement
from pipelines.rules.tsql_rules import read_tsql_rules

HAS_A = "EXISTS (SELECT * FROM sys.conversation_priorities WHERE name = N'A')"


def create(name: str, contract: str = "") -> str:
    """A CREATE of level 9; its contract is called C and the rule's name, unless another one is given."""
    return (
        f"CREATE BROKER PRIORITY {name} FOR CONVERSATION "
        f"SET (CONTRACT_NAME = {contract or 'C' + name}, PRIORITY_LEVEL = 9)"
    )


def read_script(folder: Path, script: str) -> RuleFile:
    """What a script says, written to r.sql."""
    path = folder / "r.sql"
    path.write_text(script)
    new_year = datetime(2026, 1, 1, tzinfo=UTC)
    return read_tsql_rules(str(path), RuleDefaults("I", new_year, "D"))


def accepted(statements: Iterable[RuleStatement]) -> list[RuleStatement]:
    """The statements without those that the history refuses."""
    left = list(statements)
    while refusals := apply_statements(left).refusals:
        refused = {id(each.statement) for each in refusals}
        left = [each for each in left if id(each) not in refused]
    return left
