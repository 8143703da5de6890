"""Rules that are proposed: a change of those that stand, files in place of all, or other settings."""

import logging
from operator import attrgetter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from pipelines.config.errors import ConfigError
from pipelines.rules.statements import RuleStatement
from pipelines.settings.load import Settings, load_settings
from pipelines.settings.proposal import Proposal, keep_standing_rules, read_changes, read_replacement
from pipelines.settings.proposed_settings import read_proposed_settings
from tests.rules.test_rule_history import row, scripts
from tests.support.cases import lines_of_error
from tests.support.factories import NOON, catalog, create_rule
from tests.support.harness import Project
from tests.support.model.whatif import changed, standing
from tests.support.rule_versions import day
from tests.support.snapshot_views import Server, views
from tests.support.view_rows import priority

SCRIPT = "USE B; CREATE BROKER PRIORITY Gold FOR CONVERSATION;"
ENTRY = "- {effective_from: 2026-01-01, database: B, create: {name: Gold}}"


def test_of_several_instances_the_command_line_names_one(tmp_path: Path) -> None:
    current = Project(tmp_path, catalog=catalog()).settings()
    for name, content, place in (("r.sql", SCRIPT, "1:8"), ("r.yaml", ENTRY, "1:3")):
        file = tmp_path / name
        file.write_text(content)
        assert lines_of_error(tmp_path, read_replacement, current, [str(file)]) == [
            f"{name}:{place}: nothing names its instance, and the catalog has SQL1, SQL2; "
            f"write --rules INSTANCE={name}"
        ]
        [rule] = read_replacement(current, [f"SQL2={file}"]).settings.rule_history
        assert (rule.instance, rule.database, rule.name) == ("SQL2", "B", "Gold")


def shown_and_filed(tmp_path: Path) -> tuple[Settings, Path]:
    """Settings without and with a file of rules for B; snapshots of B and C show another rule."""
    server = Server(tmp_path)
    given = views(conversation_priorities=[priority("Shown", 7, service_contract_id=7)])
    server.snapshot(given, NOON)
    server.snapshot(given, NOON, database="C")
    server.project.set_rules([create_rule("Ours", 4, database="B", contract="Contract")])
    both = tmp_path / "both.yaml"
    both.write_text(yaml.safe_dump({**server.settings, "rules": [{"path": "rules.yaml"}]}))
    return load_settings(server.path), both


def test_rules_of_snapshots_stay_where_no_file_has_statements(tmp_path: Path) -> None:
    current, both = shown_and_filed(tmp_path)
    by_file = read_replacement(current, [str(tmp_path / "rules.yaml")])
    assert stand(by_file) == [("B", "Ours", 4), ("C", "Shown", 7)]
    assert by_file.folded == read_proposed_settings(current, str(both)).folded


def stand(proposal: Proposal) -> list[tuple[str, str, int]]:
    rules = keep_standing_rules(proposal.settings.rule_history)
    return [(rule.database, rule.name, rule.level) for rule in rules]


def test_a_change_is_laid_over_rules_of_files_and_of_snapshots(tmp_path: Path) -> None:
    current = load_settings(shown_and_filed(tmp_path)[1])
    change = tmp_path / "change.sql"
    change.write_text(
        "USE C; ALTER BROKER PRIORITY Shown FOR CONVERSATION SET (PRIORITY_LEVEL = 1);\n"
        "USE B; DROP BROKER PRIORITY Ours; CREATE BROKER PRIORITY Ours FOR CONVERSATION;"
    )
    assert stand(read_changes(current, [f"SQL1={change}"])) == [("B", "Ours", 5), ("C", "Shown", 1)]
    change.write_text("USE B; ALTER BROKER PRIORITY Shown FOR CONVERSATION SET (PRIORITY_LEVEL = 1);")
    [line] = lines_of_error(tmp_path, read_changes, current, [f"SQL1={change}"])
    assert line.startswith("change.sql:1:8: ALTER 'Shown' in SQL1.B: there is no such rule")


def test_rules_say_how_many_they_replace(tmp_path: Path) -> None:
    current = load_settings(shown_and_filed(tmp_path)[1])
    other = tmp_path / "other.yaml"
    for database, replaced in (("B", 1), ("C", 2)):
        other.write_text(f"[{{instance: SQL1, database: {database}, create: {{name: Other}}}}]")
        assert read_replacement(current, [str(other)]).replaced == replaced
    assert read_changes(current, [str(other)]).replaced is None


def test_no_rules_are_an_empty_list(tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog(), rules=[create_rule("Gold", 9)])
    none, empty = tmp_path / "none.yaml", tmp_path / "empty.yaml"
    none.write_text("[]")
    empty.write_text("# nothing\n")
    proposal = read_replacement(project.settings(), [str(none)])
    assert (proposal.replaced, proposal.settings.rule_history) == (1, ())
    with pytest.raises(ConfigError, match="has no rule statement; for no rules at all name a YAML file with"):
        read_replacement(project.settings(), [str(empty)])


def test_rules_of_a_database_that_nothing_else_names_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    current = Project(tmp_path, catalog=catalog(), rules=[create_rule("Gold", 9)]).settings()
    file = tmp_path / "r.sql"
    file.write_text("USE a;\nCREATE BROKER PRIORITY Gold FOR CONVERSATION;")
    with caplog.at_level(logging.WARNING):
        read_replacement(current, [f"SQL1={file}"])
    [told] = [record.getMessage() for record in caplog.records]
    assert told.startswith(f"{file}:2:1: neither catalog, snapshots nor rule files of the settings have")
    with pytest.raises(ConfigError, match="have the database 'a' of SQL1"):
        read_changes(current, [f"SQL1={file}"])


@settings(max_examples=20)
@given(scripts(), st.data())
def test_a_change_leaves_what_its_statements_leave_in_their_order(
    tmp_path_factory: pytest.TempPathFactory, script: list[RuleStatement], data: st.DataObject
) -> None:
    """Statements are cut in three: rules of the settings, and two files of changes with any dates."""
    folder = tmp_path_factory.mktemp("cut")
    rows = [row(said) for said in sorted(script, key=lambda said: said.effective_from)]
    one, two = sorted(data.draw(st.integers(0, len(rows))) for _ in range(2))
    changes = [{**each, "effective_from": day(data.draw(st.integers(1, 31)))} for each in rows[one:]]
    places = {"instances": [{"name": "I", "databases": [{"name": "D"}]}]}
    current = Project(folder, catalog=places, rules=rows[:one]).settings()
    files = {folder / "one.yaml": changes[: two - one], folder / "two.yaml": changes[two - one :]}
    for path, part in files.items():
        written = [{**each, "effective_from": each["effective_from"].isoformat()} for each in part]
        path.write_text(yaml.safe_dump(written))
    if not changes:
        [line] = lines_of_error(folder, read_changes, current, [*map(str, files)])
        assert "has no rule statement" in line
        return
    found = keep_standing_rules(read_changes(current, [*map(str, files)]).settings.rule_history)
    words = attrgetter("name", "triple", "level")
    assert {words(rule) for rule in found} == {words(rule) for rule in standing(changed(rows[:one], changes))}


def test_a_difference_writes_names_as_options_take_them(tmp_path: Path) -> None:
    def config(*queues: str) -> str:
        database = {"name": "D.x", "queues": [{"name": name} for name in queues]}
        places = {"instances": [{"name": "SQL 1", "databases": [database]}]}
        return Project(tmp_path, catalog=places).config

    current = load_settings(config("Q"))
    other = config()
    [line] = lines_of_error(tmp_path, read_proposed_settings, current, other)
    assert "the queue [SQL 1].[D.x].Q is missing" in line
