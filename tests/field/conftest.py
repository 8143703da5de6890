"""Cases from the field, each in a copy of its own."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case
from tests.support.field import CLEAN, tables
from tests.support.open_case import OpenCase


@pytest.fixture
def open_case(session: SparkSession, tmp_path: Path) -> OpenCase:
    """A function that copies a case: `open_case("field-08-null-word", settings="settings-any.yaml")`."""

    def opened(name: str, *, settings: str = "settings.yaml") -> Case:
        return Case.copied(name, tmp_path / name, settings)

    return opened


@pytest.fixture(scope="module")
def clean(session: object, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    case = Case.copied(CLEAN, tmp_path_factory.mktemp("clean") / "case")
    assert case.nightly().code == 0
    return tables(case)
