"""A capture in the forms of clients: all of them are read."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import CASES, Case

FIELD = "field-37-client-exports"
FORMS = sorted(path.name.removeprefix("cap-") for path in (CASES / FIELD).glob("cap-*"))


@pytest.mark.parametrize("form", FORMS)
def test_the_rules_of_a_capture_in_any_form(session: SparkSession, tmp_path: Path, form: str) -> None:
    case = Case.copied(FIELD, tmp_path / "case", f"settings-{form}.yaml")
    found = case.job("rules", "--print-sql", "MILL1")
    assert (found.code, found.err) == (0, "")
    assert "CREATE BROKER PRIORITY [Rush]" in found.out
    assert "PRIORITY_LEVEL = 8" in found.out
