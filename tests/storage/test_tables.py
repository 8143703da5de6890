"""What a session has to have before tables are opened in it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.storage.tables import open_warehouse
from schemas.outputs import RECEIVE_SCHEDULE, RUNS
from tests.support.factories import at
from tests.support.processes import run_program
from tests.support.report_warehouse import settings_in
from tests.support.written import ended_run, warehouse_of

DELTA = {"spark.sql.extensions": "some.Other,io.delta.sql.DeltaSparkSessionExtension"}
ZONE = "spark.sql.session.timeZone"
COUNTS = """
import sys
from pipelines.storage.tables import open_warehouse
from schemas.outputs import RUNS
print(open_warehouse(sys.argv[1])[1].read(RUNS).count())
"""


@pytest.mark.parametrize(
    ("conf", "complaint"),
    [
        ({ZONE: "UTC"}, "this session lacks Delta: start it with --properties-file"),
        ({ZONE: "UTC", "spark.sql.extensions": None}, "this session lacks Delta"),
        (DELTA | {ZONE: "Europe/Berlin"}, 'spark.conf.set("spark.sql.session.timeZone", "UTC")'),
    ],
    ids=["plain", "null", "time zone"],
)
def test_a_session_that_lacks_something_is_told_what_to_add(conf: dict[str, Any], complaint: str) -> None:
    session: Any = SimpleNamespace(conf=conf)
    with pytest.raises(ConfigError) as error:
        open_warehouse("conf/local.yaml", session)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_a_warehouse_is_opened_by_its_settings(session: SparkSession, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    warehouse_of(session, tmp_path / "warehouse", {"runs": [ended_run("one", at(60))]})
    for given in (None, session):
        _, warehouse = open_warehouse(settings, given)
        assert warehouse.spark is session
        assert [row.status for row in warehouse.read(RUNS).collect()] == ["succeeded"]
        assert warehouse.read(RECEIVE_SCHEDULE).isEmpty()


def test_without_a_session_the_embedded_engine_is_opened(tmp_path: Path) -> None:
    """In a process of its own, as a user has it; no session was ever made there."""
    done = run_program(tmp_path, COUNTS, settings_in(tmp_path), JAVA_HOME="/no/java/here")
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
