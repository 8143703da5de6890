"""Cases from the field, each in a copy of its own."""

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, OpenCase


@pytest.fixture(scope="session")
def open_case(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> OpenCase:
    """A function that copies a case: `open_case("field-08-null-word", settings="settings-any.yaml")`."""

    def opened(name: str, *, settings: str = "settings.yaml") -> Case:
        return Case.copied(name, tmp_path_factory.mktemp("case") / name, settings)

    return opened
