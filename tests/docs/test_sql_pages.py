"""The T-SQL of the page about rules is well-formed, and what it says of rules is what is read."""

import re
from datetime import UTC, datetime
from pathlib import Path

from pipelines.rules.history import rule_history
from pipelines.rules.script_tokens import Source, tokenize
from pipelines.rules.statements import RuleDefaults
from pipelines.rules.tsql_rules import read_tsql_rules

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    return BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


def test_the_script_is_well_formed() -> None:
    [script] = blocks("rules.md")
    depth = 0
    for token in tokenize(Source("rules.md", script, script)).tokens:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        assert depth >= 0
    assert depth == 0


def test_the_example_of_the_rules_page(tmp_path: Path) -> None:
    path = tmp_path / "r.sql"
    path.write_text(blocks("rules.md")[0])
    new_year = datetime(2026, 1, 1, tzinfo=UTC)
    file = read_tsql_rules(str(path), RuleDefaults(instance="SHOP1", effective_from=new_year))
    versions = [(v.level, v.valid_from.isoformat(), v.triple) for v in rule_history(file.statements)]
    triple = ("OrderContract", "GoldCheckoutService", None)
    assert versions == [(9, "2026-01-01T00:00:00+00:00", triple), (8, "2026-11-20T15:00:00+00:00", triple)]
    assert rule_history(file.statements)[-1].valid_to == datetime(2026, 12, 1, tzinfo=UTC)
