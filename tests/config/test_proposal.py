"""Rules that are proposed: files in place of the settings' rule sources, or other settings."""

from pathlib import Path

import yaml

from config.load import load_settings
from config.proposal import proposed_rules, proposed_settings
from tests.factories import NOON, create_rule
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
