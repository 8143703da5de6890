"""A capture in the forms of clients: all of them are read."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import CASES, Case, table_of

pytestmark = pytest.mark.slow

FIELD = "field-37-client-exports"
FORMS = sorted(path.name.removeprefix("cap-") for path in (CASES / FIELD).glob("cap-*"))


def test_a_capture_in_two_forms_is_one(session: SparkSession, tmp_path: Path) -> None:
    """Its rules stay, whichever of the files goes."""
    case = Case.copied(FIELD, tmp_path / "case", "settings-datagrip.yaml")
    folder = case.folder / "cap-datagrip"
    markdown = case.folder / "cap-markdown" / "mill1.txt"
    case.fold()
    markdown.rename(folder / "again.txt")
    case.fold()
    for file in ("mill1.json", "again.txt"):
        (folder / file).unlink()
        assert "1 rule versions" in case.fold().err


def test_null_in_a_file_whose_every_field_is_quoted(session: SparkSession, tmp_path: Path) -> None:
    """Beside other names it is a name, and a night says so."""
    case = Case.copied(FIELD, tmp_path / "case", "settings-snap-dbeaver.yaml")
    rules = case.folder / "snap-dbeaver" / "conversation_priorities.csv"
    queue = case.folder / "snap-dbeaver" / "dbo.JobQueue.csv"
    queue.write_text(queue.read_text().replace('-000000000002","0"', '-000000000002","NULL"'))
    found = case.job("rules", "--print-sql", "MILL1")
    names = "contract_name, local_service_name, remote_service_name"
    assert f"conversation_priorities.csv: NULL in {names} is read as a name" in found.err
    rules.write_text("".join(line for line in rules.open() if "Rush" not in line))
    found = case.job("rules", "--print-sql", "MILL1")
    assert "NULL in contract_name, local_service_name is read as a name" in found.err
    assert found.out.count("REMOTE_SERVICE_NAME = ANY") == 2
    case.schedule("2026-11-20T11:00:00Z")
    assert len(table_of(case.folder / "warehouse-snap-dbeaver", "receive_schedule")) == 2


def test_the_rules_of_a_capture_in_any_form(tmp_path: Path) -> None:
    case = Case.copied(FIELD, tmp_path / "case")
    assert len(FORMS) == 12
    for form in FORMS:
        case.settings = f"settings-{form}.yaml"
        found = case.job("rules", "--print-sql", "MILL1")
        assert (found.code, found.err) == (0, ""), form
        assert "CREATE BROKER PRIORITY [Rush]" in found.out
        assert "PRIORITY_LEVEL = 8" in found.out
