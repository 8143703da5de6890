"""Statements with names that the database lacks: the server refuses them, so what-if and lint do."""

from pathlib import Path

import pytest

from pipelines.config.errors import ConfigError
from pipelines.settings.load import load_settings
from pipelines.settings.proposal import keep_standing_rules, read_changes
from tests.field.running import Case

TAKEN = "(snapshot of 2026-11-20T10:00:00Z)"
MISSING = (
    f"MILL1.PressDB has no contract '//press/JobContrakt' {TAKEN}; did you mean '//press/JobContract'?",
    f"MILL1.PressDB has no local service '//press/Jobb' {TAKEN}; did you mean '//press/Job'?",
)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case.copied("field-36-change-on-capture", tmp_path / "case")


def read(case: Case, name: str, text: str | None = None) -> dict[str, int]:
    """The levels of the rules that a change leaves."""
    if text is not None:
        (case.folder / name).write_text(text)
    proposal = read_changes(load_settings(case.config), [str(case.folder / name)])
    return {rule.name: rule.level for rule in keep_standing_rules(proposal.settings.rule_history)}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing-contract.sql", MISSING),
        ("wrong-case-name.sql", ["did you mean 'Rush'?"]),
        ("wrong-case-db.sql", ["did you mean 'PressDB'?"]),
    ],
)
def test_a_change_is_refused_with_the_nearest_name(case: Case, name: str, says: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read(case, name)
    lines = str(caught.value).splitlines()
    assert all(said in line for said, line in zip(says, lines, strict=True))
    assert f"/{name}:" in lines[-1]


def test_names_that_the_script_creates_are_there(case: Case) -> None:
    creates = (
        "CREATE CONTRACT [//press/JobContrakt] ([//press/Do] SENT BY ANY);\n"
        "CREATE SERVICE [//press/Jobb] ON QUEUE JobQueue;\n"
    )
    missing = (case.folder / "missing-contract.sql").read_text()
    assert read(case, "creates.sql", missing.replace("GO\n", f"GO\n{creates}", 1)) == {"Rush": 8, "Typo": 9}


def test_a_remote_service_may_be_anywhere(case: Case) -> None:
    script = (
        "USE PressDB;\nGO\nCREATE BROKER PRIORITY Far FOR CONVERSATION SET "
        "(CONTRACT_NAME = [DEFAULT], REMOTE_SERVICE_NAME = N'//nowhere/S', PRIORITY_LEVEL = 9);\n"
    )
    assert read(case, "remote.sql", script) == {"Far": 9, "Rush": 8}


def test_a_script_that_drops_and_creates_is_read(case: Case) -> None:
    assert read(case, "drop-create.sql") == {"Rush": 9}


def test_lint_and_jobs_say_so_of_later_rule_files(case: Case) -> None:
    script = case.folder / "missing-contract.sql"
    script.write_text(script.read_text().replace("CREATE", "-- effective_from: 2026-12-01T00:00:00Z\nCREATE"))
    case.configure(rules=[{"path": script.name, "instance": "MILL1"}])
    said = case.job("rules", "--print-sql", "MILL1")
    assert (said.code, MISSING[0] in said.err) == (0, True)
    codes = [each["code"] for each in case.job("lint", "--static", "--format", "json").json]
    assert codes.count("R106") == 2
