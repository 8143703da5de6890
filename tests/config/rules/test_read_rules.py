"""The form of a rule file is told by its suffix."""

from pathlib import Path

import pytest

from pipelines.config.errors import ConfigError
from pipelines.config.rules.read import read_rules


@pytest.mark.parametrize("name", ["r.yaml", "r.yml", "R.YAML"])
def test_yaml(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("- {effective_from: 2026-01-01, instance: I, database: D, drop: {name: R}}\n")
    assert [statement.name for statement in read_rules(str(path)).statements] == ["R"]


@pytest.mark.parametrize("name", ["r.sql", "R.SQL"])
def test_tsql(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("USE D\n-- effective_from: 2026-01-01\nDROP BROKER PRIORITY R; PRINT 'x'")
    found = read_rules(str(path), instance="I")
    assert [statement.name for statement in found.statements] == ["R"]
    assert found.passed_over == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("r.sql", "r.sql: no such file; correct the path or create it"),
        ("r.txt", "r.txt: rules can't be read from .txt; write T-SQL (.sql) or YAML (.yaml)"),
        (
            "rules",
            "rules: rules can't be read from a file without a suffix; write T-SQL (.sql) or YAML (.yaml)",
        ),
    ],
)
def test_refused(name: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_rules(name)
    assert str(caught.value) == line
