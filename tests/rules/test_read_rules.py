"""The form of a rule file is told by its suffix."""

from pathlib import Path

import pytest

from pipelines.errors import ConfigError
from pipelines.rules.read import read_rules


@pytest.mark.parametrize("name", ["r.yaml", "r.yml", "R.YAML"])
def test_yaml(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("- {effective_from: 2026-01-01, instance: I, database: D, drop: {name: R}}\n")
    assert [statement.name for statement in read_rules(str(path))] == ["R"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("r.sql", "r.sql: T-SQL rule scripts are not read yet; write the rules as YAML (.yaml)"),
        ("r.txt", "r.txt: rules can't be read from .txt; write YAML (.yaml)"),
        ("rules", "rules: rules can't be read from a file without a suffix; write YAML (.yaml)"),
    ],
)
def test_refused(name: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_rules(name)
    assert str(caught.value) == line
