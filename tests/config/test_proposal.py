"""Rules that are proposed: a change of those that stand, files in place of all, or other settings."""

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from pipelines.config.errors import ConfigError
from pipelines.config.load import Settings, load_settings
from pipelines.config.proposal import Proposal, keep_standing_rules, read_changes, read_replacement
from pipelines.config.proposed_settings import read_proposed_settings
from pipelines.config.rules.history import RuleVersion
from tests.support.factories import NOON, Row, catalog, create_rule
from tests.support.harness import Project
from tests.support.model.whatif import changed, standing as standing_by_model
from tests.support.snapshot_views import Server, views
from tests.support.strategies import Log, logs

SCRIPT = "USE B; CREATE BROKER PRIORITY Gold FOR CONVERSATION;"
ENTRY = "- {effective_from: 2026-01-01, database: B, create: {name: Gold}}"


@pytest.mark.parametrize(("name", "content", "place"), [("r.sql", SCRIPT, "1:8"), ("r.yaml", ENTRY, "1:3")])
def test_of_several_instances_the_command_line_names_one(
    tmp_path: Path, name: str, content: str, place: str
) -> None:
    current = Project(tmp_path, catalog=catalog()).settings()
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        read_replacement(current, [str(file)])
    assert str(caught.value) == (
        f"{file}:{place}: nothing names its instance, and the catalog has SQL1, SQL2; "
        f"write --rules INSTANCE={file}"
    )
    [rule] = read_replacement(current, [f"SQL2={file}"]).settings.rule_history
    assert (rule.instance, rule.database, rule.name) == ("SQL2", "B", "Gold")


RULE = {"service_contract_id": 7, "local_service_id": None, "remote_service_name": None}


def shown_and_filed(tmp_path: Path) -> tuple[Settings, Path]:
    """The rule of SQL1.C is known from a snapshot, that of B from a file; B's snapshot has another one.

    Settings without and with the file.
    """
    server = Server(tmp_path)
    given = views(conversation_priorities=[{**RULE, "name": "Shown", "priority": 7}])
    server.snapshot(given, NOON)
    server.snapshot(given, NOON, database="C")
    server.project.set_rules([create_rule("Ours", 4, database="B", contract="Contract")])
    both = tmp_path / "both.yaml"
    both.write_text(yaml.safe_dump({**server.settings, "rules": [{"path": "rules.yaml"}]}))
    return load_settings(server.path), both


def test_rules_of_snapshots_stay_where_no_file_has_statements(tmp_path: Path) -> None:
    """Files take the place of rule files only: two databases have rules of snapshots, one gets a file's."""
    current, both = shown_and_filed(tmp_path)
    by_file = read_replacement(current, [str(tmp_path / "rules.yaml")])
    assert stand(by_file) == [("B", "Ours", 4), ("C", "Shown", 7)]
    assert by_file.folded == read_proposed_settings(current, str(both)).folded


def stand(proposal: Proposal) -> list[tuple[str, str, int]]:
    return [
        (rule.database, rule.name, rule.level) for rule in keep_standing_rules(proposal.settings.rule_history)
    ]


def test_a_change_is_laid_over_rules_of_files_and_of_snapshots(tmp_path: Path) -> None:
    current = load_settings(shown_and_filed(tmp_path)[1])
    change = tmp_path / "change.sql"
    change.write_text(
        "USE C; ALTER BROKER PRIORITY Shown FOR CONVERSATION SET (PRIORITY_LEVEL = 1);\n"
        "USE B; DROP BROKER PRIORITY Ours; CREATE BROKER PRIORITY Ours FOR CONVERSATION;"
    )
    assert stand(read_changes(current, [f"SQL1={change}"])) == [("B", "Ours", 5), ("C", "Shown", 1)]
    change.write_text("USE B; ALTER BROKER PRIORITY Shown FOR CONVERSATION SET (PRIORITY_LEVEL = 1);")
    with pytest.raises(
        ConfigError, match=r"change\.sql:1:8: ALTER 'Shown' in SQL1\.B: there is no such rule"
    ):
        read_changes(current, [f"SQL1={change}"])


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


@st.composite
def cut_logs(draw: st.DrawFn) -> tuple[Log, list[Row], list[Row], int]:
    """A log whose rule statements are cut in two where they take effect, the later ones with other dates."""
    log = draw(logs())
    in_effect = sorted(log.rules, key=lambda statement: statement["effective_from"])
    cut = draw(st.integers(0, len(in_effect)))
    days = draw(st.lists(st.integers(-1000, 1000), min_size=len(in_effect), max_size=len(in_effect)))
    changes = [
        {**statement, "effective_from": statement["effective_from"] + timedelta(days=day)}
        for statement, day in zip(in_effect[cut:], days, strict=False)
    ]
    return log, in_effect[:cut], changes, draw(st.integers(0, len(changes)))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(cut_logs())
def test_a_change_leaves_what_its_statements_leave_in_their_order(
    tmp_path_factory: pytest.TempPathFactory, cut: tuple[Log, list[Row], list[Row], int]
) -> None:
    log, rules, changes, second = cut
    folder = tmp_path_factory.mktemp("cut")
    current = Project(folder, catalog=without_undeclared(log.catalog), rules=rules).settings()
    names = []
    for name, part in (("one.yaml", changes[:second]), ("two.yaml", changes[second:])):
        (folder / name).write_text(yaml.safe_dump(list(map(dated, part)), allow_unicode=True))
        names.append(str(folder / name))
    if not changes:
        with pytest.raises(ConfigError, match="has no rule statement"):
            read_changes(current, names)
        return
    found = keep_standing_rules(read_changes(current, names).settings.rule_history)
    expected = standing_by_model(changed(rules, changes))
    assert {words(rule) for rule in found} == {words(replace(rule)) for rule in expected}


def words(rule: RuleVersion | Any) -> tuple[Any, ...]:
    return rule.instance, rule.database, rule.name, rule.triple, rule.level


def dated(statement: Row) -> Row:
    moment: datetime = statement["effective_from"]
    return {**statement, "effective_from": moment.isoformat()}


def without_undeclared(places: Row) -> Row:
    for instance in places["instances"]:
        for database in instance["databases"]:
            queues = {queue["name"] for queue in database["queues"]}
            database["services"] = [each for each in database["services"] if each["queue"] in queues]
    return places
