"""`priorities init` writes files that the checks take, and never over others."""

from pathlib import Path

import pytest

from pipelines import cli
from pipelines.commands.init import FILES
from pipelines.config.errors import ConfigError, OutputError
from pipelines.config.load import load_settings


def test_the_files_are_settings(tmp_path: Path) -> None:
    assert cli.run(["init", "--out", str(tmp_path / "new" / "folder")]) == 0
    settings = load_settings(tmp_path / "new" / "folder" / "priorities.yaml")
    assert [*settings.catalog.service_bindings()] == [
        ("SERVER1", "Sales", "OrderService", "OrderQueue"),
        ("SERVER1", "Sales", "ReplyService", "ReplyQueue"),
    ]


def test_the_rules_that_stand_in_comments_are_rules(tmp_path: Path) -> None:
    cli.run(["init", "--out", str(tmp_path)])
    rules = tmp_path / "rules.yaml"
    lines = [line[2:] for line in rules.read_text().splitlines() if line.startswith(("# - ", "#   "))]
    rules.write_text("\n".join(lines))
    assert len(load_settings(tmp_path / "priorities.yaml").rule_history) == 2


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match=f"{name} is there already; remove it, or name another folder"):
        cli.run(["init", "--out", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="can't be written"):
        cli.run(["init", "--out", str(tmp_path / "file")])


def test_the_first_line_names_a_schema_that_is_there(tmp_path: Path) -> None:
    cli.run(["init", "--out", str(tmp_path)])
    for name in FILES:
        first = (tmp_path / name).read_text().partition("\n")[0]
        assert (tmp_path / first.removeprefix("# yaml-language-server: $schema=")).is_file()
