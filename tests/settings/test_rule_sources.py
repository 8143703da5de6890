"""Which files a path of the settings stands for, and in which order they count."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.rules.statements import RuleDefaults
from pipelines.settings.rule_sources import (
    NoRuleFileError,
    RuleSources,
    natural_order,
    read_rules,
    rule_paths,
)
from tests.support.cases import lines_of_error

YAML = "- {effective_from: 2026-01-01, instance: I, database: D, drop: {name: R}}\n"
SQL = "USE D\n-- effective_from: 2026-01-01\nDROP BROKER PRIORITY R; PRINT 'x'"
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


@pytest.mark.parametrize(
    "names",
    [
        ["V001__a.sql", "V2__b.sql", "V010__c.sql"],
        ["V1__z.sql", "V1.1__a.sql", "V1_2__b.sql"],
        ["1_a.sql", "02_b.sql", "3_c.sql", "10_d.sql"],
        ["V1__a.sql", "V99__b.sql", "R__repeat.sql"],
        ["a/2.sql", "a/10.sql", "b/1.sql"],
        ["a.sql", "B.sql", "c.sql"],
    ],
)
def test_natural_order(names: list[str]) -> None:
    turned = names[::-1]
    assert sorted(turned, key=natural_order) == names


def test_a_folder_stands_for_the_files_below_it(tmp_path: Path) -> None:
    make(tmp_path, "V10.sql", "V2.SQL", "more/a.yaml", ".git/x.sql", ".keep", "note.txt", "U2__b.sql")
    found, others = rule_paths(str(tmp_path))
    assert [path.removeprefix(f"{tmp_path}/") for path in found] == ["more/a.yaml", "V2.SQL", "V10.sql"]
    assert [path.removeprefix(f"{tmp_path}/") for path in others] == ["note.txt", "U2__b.sql"]


def test_a_file_with_the_characters_of_a_pattern_is_a_file(tmp_path: Path) -> None:
    make(tmp_path, "r[1].sql", "r1.sql")
    assert rule_paths(f"{tmp_path}/r[1].sql")[0] == [f"{tmp_path}/r[1].sql"]
    (tmp_path / "r[1].sql").unlink()
    assert rule_paths(f"{tmp_path}/r[1].sql")[0] == [f"{tmp_path}/r1.sql"]


@pytest.mark.parametrize("name", ["r.yaml", "r.yml", "R.YAML", "r.sql", "R.SQL"])
def test_the_form_of_a_file_is_told_by_its_suffix(tmp_path: Path, name: str) -> None:
    is_sql = name.lower().endswith("sql")
    (tmp_path / name).write_text(SQL if is_sql else YAML)
    found = read_rules(str(tmp_path / name), RuleDefaults(instance="I"))
    assert [statement.name for statement in found.statements] == ["R"]
    assert found.passed_over == is_sql
    for other in ("r.txt", "rules"):
        [line] = lines_of_error(tmp_path, read_rules, other, RuleDefaults())
        assert line.endswith("; write T-SQL (.sql) or YAML (.yaml)")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone.sql", "there is no file gone.sql; correct the path or create the file"),
        ("x.txt", "rules can't be read from .txt; write T-SQL (.sql) or YAML (.yaml)"),
        ("none", "the folder none has no file .sql or .yaml; correct the path"),
        ("*.md", "the pattern *.md has no file .sql or .yaml; it has a.md; correct the path"),
        ("*.sql", "the pattern *.sql has no file .sql or .yaml; correct the path"),
    ],
)
def test_no_rule_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, message: str) -> None:
    make(tmp_path, "x.txt", "a.md")
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoRuleFileError) as caught:
        rule_paths(path)
    assert str(caught.value) == message


def test_a_folder_without_rules_is_told_once(tmp_path: Path) -> None:
    make(tmp_path, "a.sql", "b.sql")
    sources = RuleSources()
    sources.read(str(tmp_path), RuleDefaults(instance="I", effective_from=NEW_YEAR, database="D"))
    assert [file.notes for file in sources.files] == [(), ()]
    [note] = sources.unread
    assert str(note) == (
        f"{tmp_path}/a.sql:1:1: {tmp_path}: none of its 2 files has a rule statement that counts; take it "
        "out of rules:"
    )


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    make(tmp_path, "other/b.sql", "rules/a.sql", "rules/sub/c.sql")
    (tmp_path / "rules" / "linked").symlink_to(tmp_path / "other")
    (tmp_path / "rules" / "sub" / "loop").symlink_to(tmp_path / "rules")
    expected = ["a.sql", "linked/b.sql", "sub/c.sql"]
    for path in (f"{tmp_path}/rules", f"{tmp_path}/rules/**/*.sql"):
        found, _ = rule_paths(path)
        assert [each.removeprefix(f"{tmp_path}/rules/") for each in found] == expected
