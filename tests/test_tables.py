"""What a session has to have before tables are opened in it."""

import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import ConfigError
from pipelines.tables import open_table

ROOT = Path(__file__).parent.parent
DELTA = {"spark.sql.extensions": "some.Other,io.delta.sql.DeltaSparkSessionExtension"}
ZONE = "spark.sql.session.timeZone"


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


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "Z"])
def test_utc_has_many_names(spark: SparkSession, zone: str) -> None:
    session = spark.newSession()
    session.conf.set(ZONE, zone)
    with pytest.raises(ConfigError, match="did you mean runs"):
        open_table(session, "conf/local.yaml", "rums")


@pytest.mark.slow
def test_the_documented_shell_works_to_the_letter() -> None:
    text = (ROOT / "docs" / "notebooks.md").read_text("utf-8").split("## In a plain pyspark shell")[1]
    line, snippet = re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL)[:2]
    # Without -i, a Python whose input is no terminal skips the start-up file that makes `spark`.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    env["PYSPARK_DRIVER_PYTHON_OPTS"] = "-i"
    shell = subprocess.run(
        ["bash", "-c", line],
        cwd=ROOT,
        env=env,
        input=snippet,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "|as_of" in shell.stdout, shell.stderr
    assert "Error" not in shell.stderr
