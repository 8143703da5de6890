"""Rules that are proposed: files in place of the settings' rule sources, or other settings."""

from pathlib import Path

import pytest
import yaml

from config.errors import ConfigError
from config.load import load_settings
from config.proposal import proposed_rules
from config.proposed_settings import proposed_settings
from tests.factories import NOON, catalog, create_rule
from tests.harness import Project
from tests.snapshots.test_with_events import Server, views


def test_rules_of_snapshots_stay_where_no_file_has_statements(tmp_path: Path) -> None:
    """Files take the place of rule files only: two databases have rules of snapshots, one gets a file's."""
    server = Server(tmp_path)
    rule = {"name": "Shown", "service_contract_id": 7, "local_service_id": None, "remote_service_name": None}
    given = views(conversation_priorities=[{**rule, "priority": 7}])
    server.snapshot(given, NOON)
    server.snapshot(given, NOON, database="C")
    server.project.set_rules([create_rule("Ours", 4, database="B", contract="Contract")])
    current = load_settings(server.path)
    proposed = tmp_path / "proposed.yaml"
    proposed.write_text(yaml.safe_dump({**server.settings, "rules": [{"path": "rules.yaml"}]}))
    by_file = proposed_rules(current, [str(tmp_path / "rules.yaml")])
    assert [(rule.database, rule.name) for rule in by_file.settings.rule_history] == [
        ("B", "Ours"),
        ("C", "Shown"),
    ]
    assert by_file.folded == proposed_settings(current, str(proposed)).folded


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
        proposed_rules(current, [str(file)])
    assert str(caught.value) == (
        f"{file}:{place}: nothing names its instance, and the catalog has SQL1, SQL2; "
        f"write --rules INSTANCE={file}"
    )
    [rule] = proposed_rules(current, [f"SQL2={file}"]).settings.rule_history
    assert (rule.instance, rule.database, rule.name) == ("SQL2", "B", "Gold")
