"""Statements with names that the database lacks: the server refuses them, so what-if and lint do."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def case(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    copied = Case.copied("field-36-change-on-capture", tmp_path_factory.mktemp("case") / "case")
    copied.publish("latest")
    return copied


def change(case: Case, name: str) -> tuple[int, str, str]:
    found = case.job("whatif", "--change", case.folder / name)
    return found.code, found.out, found.err


def test_a_contract_and_a_local_service_that_are_not_there(case: Case) -> None:
    code, out, err = change(case, "missing-contract.sql")
    assert (code, out) == (2, "")
    contract, service = err.splitlines()
    assert "MILL1.PressDB has no contract '//press/JobContrakt'" in contract
    assert "did you mean '//press/JobContract'?" in contract
    assert "MILL1.PressDB has no local service '//press/Jobb'" in service
    assert "missing-contract.sql:3:1: " in service


def test_names_that_the_script_creates_are_there(case: Case) -> None:
    script = case.folder / "creates.sql"
    missing = (case.folder / "missing-contract.sql").read_text()
    creates = (
        "CREATE CONTRACT [//press/JobContrakt] ([//press/Do] SENT BY ANY);\n"
        "CREATE SERVICE [//press/Jobb] ON QUEUE JobQueue;\n"
    )
    script.write_text(missing.replace("GO\n", f"GO\n{creates}", 1))
    assert change(case, "creates.sql")[0] == 0


def test_a_remote_service_may_be_anywhere(case: Case) -> None:
    script = case.folder / "remote.sql"
    script.write_text(
        "USE PressDB;\nGO\nCREATE BROKER PRIORITY Far FOR CONVERSATION SET "
        "(CONTRACT_NAME = [DEFAULT], REMOTE_SERVICE_NAME = N'//nowhere/S', PRIORITY_LEVEL = 9);\n"
    )
    assert change(case, "remote.sql")[0] == 0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wrong-case-name.sql", "did you mean 'Rush'?"),
        ("wrong-case-db.sql", "did you mean 'PressDB'?"),
    ],
)
def test_other_files_are_refused_with_the_nearest_name(case: Case, name: str, says: str) -> None:
    code, _, err = change(case, name)
    assert code == 2
    assert says in err


def test_a_script_that_drops_and_creates_is_read(case: Case) -> None:
    code, out, _ = change(case, "drop-create.sql")
    assert code == 0
    assert "3 " in out


def test_lint_and_nights_say_so_of_later_rule_files(case: Case, tmp_path: Path) -> None:
    later = Case.copied("field-36-change-on-capture", tmp_path / "later")
    script = later.folder / "missing-contract.sql"
    script.write_text(script.read_text().replace("CREATE", "-- effective_from: 2026-12-01T00:00:00Z\nCREATE"))
    settings = later.folder / "settings.yaml"
    settings.write_text(settings.read_text() + "rules: [{path: missing-contract.sql, instance: MILL1}]\n")
    night = later.nightly("latest")
    assert night.code == 0
    assert "has no contract '//press/JobContrakt'" in night.err
    found = later.job("lint", "--static", "--format", "json")
    codes = [each["code"] for each in found.json]
    assert codes.count("R106") == 2
