"""A capture in the forms of clients: all of them are read."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import CASES, Case

FIELD = "field-37-client-exports"
FORMS = sorted(path.name.removeprefix("cap-") for path in (CASES / FIELD).glob("cap-*"))


def test_a_capture_in_two_forms_is_one(session: SparkSession, tmp_path: Path) -> None:
    """Its rules stay, whichever of the files goes."""
    case = Case.copied(FIELD, tmp_path / "case", "settings-datagrip.yaml")
    folder = case.folder / "cap-datagrip"
    markdown = case.folder / "cap-markdown" / "mill1.txt"
    case.publish("latest")
    markdown.rename(folder / "again.txt")
    case.publish("latest")
    (folder / "mill1.json").unlink()
    assert "1 rule versions" in case.published("latest").err
    (folder / "again.txt").unlink()
    assert "1 rule versions" in case.published("latest").err


@pytest.mark.parametrize("form", FORMS)
def test_the_rules_of_a_capture_in_any_form(session: SparkSession, tmp_path: Path, form: str) -> None:
    case = Case.copied(FIELD, tmp_path / "case", f"settings-{form}.yaml")
    found = case.job("rules", "--print-sql", "MILL1")
    assert (found.code, found.err) == (0, "")
    assert "CREATE BROKER PRIORITY [Rush]" in found.out
    assert "PRIORITY_LEVEL = 8" in found.out
