"""The examples of docs/lint.md have the findings that they stand for."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.config.catalog import Catalog, load_catalog
from pipelines.lint.findings import FindingCode
from pipelines.lint.run import lint_static
from pipelines.rules.history import apply_statements
from pipelines.rules.statements import RuleDefaults, RuleFile
from pipelines.settings.rule_sources import read_rules

PAGE = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```(yaml|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTIONS = {
    match[1]: match[2]
    for match in re.finditer(r"^### (R\d+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
}
WITH_EXAMPLE = [code for code, text in SECTIONS.items() if EXAMPLE.search(text)]
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
CATALOG = """
instances:
  - name: SQL1
    databases:
      - name: ShopDB
        honor_broker_priority: true
        queues: [{name: ShopQueue}]
        services: [{name: ShopService, queue: ShopQueue}]
"""
"""It has the names of the examples."""


def example_catalog(folder: Path) -> Catalog:
    (folder / "catalog.yaml").write_text(CATALOG)
    return load_catalog(str(folder / "catalog.yaml"))


def example_rules(folder: Path, code: str) -> RuleFile:
    found = EXAMPLE.search(SECTIONS[code])
    assert found, code
    path = folder / f"rules.{found[1]}"
    path.write_text(found[2])
    return read_rules(str(path), RuleDefaults(instance="SQL1", database="ShopDB", effective_from=LONG_AGO))


def test_every_code_has_a_section() -> None:
    assert list(SECTIONS) == [code.id for code in FindingCode]


def test_every_section_tells_the_severity() -> None:
    for code in FindingCode:
        if code.id.startswith("R1"):
            assert str(code.severity) == "error"
        else:
            assert SECTIONS[code.id].strip().lower().startswith(str(code.severity)), code


def test_some_sections_have_an_example() -> None:
    assert WITH_EXAMPLE == ["R201", "R202"]


@pytest.mark.parametrize("code", WITH_EXAMPLE)
def test_examples(code: str, tmp_path: Path) -> None:
    rule_file = example_rules(tmp_path, code)
    folded = apply_statements(rule_file.statements)
    findings = lint_static(folded, example_catalog(tmp_path), moment=None)
    assert code in {finding.code.id for finding in findings}
