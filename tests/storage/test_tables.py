"""What a session has to have before tables are opened in it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.storage.tables import open_table
from tests.support.factories import at
from tests.support.processes import run_program
from tests.support.report_warehouse import settings_in
from tests.support.written import ended_run, warehouse_of

DELTA = {"spark.sql.extensions": "some.Other,io.delta.sql.DeltaSparkSessionExtension"}
ZONE = "spark.sql.session.timeZone"
COUNTS = """
import sys
from pipelines.storage.tables import open_table
print(open_table(*sys.argv[1:]).count())
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
        open_table(session, "conf/local.yaml", "runs")
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_a_table_is_opened_by_settings_and_name(session: SparkSession, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    warehouse_of(session, tmp_path / "warehouse", {"runs": [ended_run("one", at(60))]})
    for opened in (open_table(settings, "runs"), open_table(session, settings, "runs")):
        assert opened.sparkSession is session
        assert [row.status for row in opened.collect()] == ["succeeded"]
    assert open_table(settings, "receive_schedule").isEmpty()
    with pytest.raises(ConfigError, match="did you mean 'runs'"):
        open_table(settings, "rums")


def test_without_a_session_the_embedded_engine_is_opened(tmp_path: Path) -> None:
    """In a process of its own, as a user has it; no session was ever made there."""
    done = run_program(tmp_path, COUNTS, settings_in(tmp_path), "runs", JAVA_HOME="/no/java/here")
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
