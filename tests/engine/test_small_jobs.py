"""Apache Spark for little work and for much: in other ways, the same tables."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.engine.small_jobs import is_set_for_small_jobs, set_for_small_jobs, small_job_settings
from pipelines.storage import batches as done
from tests.support.factories import at
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import changed, contents

pytestmark = pytest.mark.long

MUCH = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.subexpressionElimination.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture
def much(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """The session as it is where much is expected; no night takes its work for little."""
    for name, value in MUCH.items():
        spark.conf.set(name, value)
    monkeypatch.setattr(done, "SMALL_LEDGER", -1)
    yield spark
    set_for_small_jobs(spark)


def test_much_gives_the_same_tables(much: SparkSession, tmp_path: Path) -> None:
    """A second night, which brings late events, once as much and once as little."""
    made = project_in(tmp_path)
    made.add(a_bit_of_everything())
    made.run(much, at(60))
    warehouse, before = tmp_path / "warehouse", tmp_path / "before"
    shutil.copytree(warehouse, before)
    made.add(night_after())
    made.run(much, at(60, day=1))
    assert not is_set_for_small_jobs(much)
    large = contents(made)
    shutil.rmtree(warehouse)
    shutil.copytree(before, warehouse)
    set_for_small_jobs(much)
    made.run(much, at(60, day=1))
    assert is_set_for_small_jobs(much)
    assert changed(contents(made), large) == {}


def test_what_was_expected_before_comes_back(much: SparkSession) -> None:
    with small_job_settings(much):
        assert is_set_for_small_jobs(much)
    assert {name: much.conf.get(name) for name in MUCH} == MUCH
