"""The form of a rule file is told by its suffix."""

from pathlib import Path

import pytest

from pipelines.config.rules.read import read_rules
from tests.support.cases import cases, lines_of_error

YAML = "- {effective_from: 2026-01-01, instance: I, database: D, drop: {name: R}}\n"
SQL = "USE D\n-- effective_from: 2026-01-01\nDROP BROKER PRIORITY R; PRINT 'x'"


@pytest.mark.parametrize("name", ["r.yaml", "r.yml", "R.YAML", "r.sql", "R.SQL"])
def test_forms(tmp_path: Path, name: str) -> None:
    is_sql = name.lower().endswith("sql")
    (tmp_path / name).write_text(SQL if is_sql else YAML)
    found = read_rules(str(tmp_path / name), instance="I")
    assert [statement.name for statement in found.statements] == ["R"]
    assert found.passed_over == is_sql


@pytest.mark.parametrize(
    ("name", "said"),
    cases("""
        r.sql   => r.sql: no such file; correct the path or create it
        r.txt   => r.txt: rules can't be read from .txt; write T-SQL (.sql) or YAML (.yaml)
        rules   => rules: rules can't be read from a file without a suffix; write T-SQL (.sql) or YAML (.yaml)
    """),
)
def test_refused(name: str, said: list[str]) -> None:
    assert lines_of_error(Path(), read_rules, name) == said
