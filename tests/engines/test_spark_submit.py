"""Apache Spark as users start it: ./spark-submit.sh, beside the embedded engine on one warehouse; a shell."""

import os
import re
import shlex
import subprocess
from collections import Counter
from datetime import datetime
from pathlib import Path

import yaml
from pyspark.sql import SparkSession

from tests.support.apache_spark import SMALL_JOBS
from tests.support.factories import Row, at, by_source, endpoint_event, message_event, queue_event
from tests.support.harness import Project, difference
from tests.support.processes import ROOT, ended, finish, kill_when, written
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import changed, contents, table_names

NIGHTS = (
    a_bit_of_everything(),
    night_after(),
    by_source(
        message_event("RECEIVED", "c2/1", event_time=at(0, day=2)),
        # For what is closed, one night ago and two nights ago.
        message_event("SENT", "new/0", event_time=at(2, day=1)),
        message_event("DELIVERED", "c2/0", event_id="again", event_time=at(2)),
        endpoint_event("END_CONVERSATION", "c2", event_time=at(1, day=2)),
        queue_event("WAIT_STARTED", "waits", event_time=at(1, day=2)),
        message_event("SENT", "c2/9", event_time=at(60, day=2)),
    ),
)


def test_nights_alternate_between_the_engines(spark: SparkSession, tmp_path: Path) -> None:
    """The tables are those of the embedded engine alone, and each engine reads what the other has written.

    One night of Apache Spark has its tables by name.
    """
    alone, project = project_in(tmp_path / "alone"), project_in(tmp_path / "alternating")
    days = [at(90, day=number) for number in range(len(NIGHTS))]
    for night, as_of in zip(NIGHTS, days, strict=True):
        alone.add(night)
        finish("embedded", alone, as_of)

    project.add(NIGHTS[0])
    finish("embedded", project, days[0])
    project.add(NIGHTS[1])
    before = written(project)
    # Each engine takes up where the other one was killed, and replaces rows of the other's.
    assert kill_when("spark", project, days[1], lambda: written(project) >= before + 3)
    assert kill_when("embedded", project, days[1], lambda: written(project) >= before + 8)
    finish_by_name(project, days[1], tmp_path / "metastore")
    project.add(NIGHTS[2])
    finish("embedded", project, days[2])
    assert changed(contents(alone, leave_out={"path"}), contents(project, leave_out={"path"})) == {}
    for name in table_names(project):
        by_spark = read(spark, project, name)
        assert difference(comparable(by_spark), comparable(project.table(name))) == [], name


def finish_by_name(project: Project, as_of: datetime, metastore: Path) -> None:
    """Run a night and a query by the commands of the page, on a schema that is the project's warehouse."""
    text = (ROOT / "docs" / "running.md").read_text("utf-8").split("## Tables by name")[1].split("\n## ")[0]
    settings, hive_site, night, query = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    metastore.mkdir()
    (metastore / "hive-site.xml").write_text(hive_site.replace("/data/metastore", str(metastore)))
    content = yaml.safe_load(Path(project.config).read_text()) | yaml.safe_load(settings)
    config = project.folder / "by_name.yaml"
    config.write_text(yaml.safe_dump(content, allow_unicode=True))
    for before, after in (
        ("my/settings.yaml", shlex.quote(str(config))),
        ("2026-11-21T00:00:00Z", as_of.isoformat()),
        ("SCHEMA conversations", f'SCHEMA conversations LOCATION "{project.folder}/warehouse"'),
    ):
        assert before in night
        night = night.replace(before, after)
    run(night, metastore)

    rows = {name: len(project.table(name)) for name in table_names(project)}
    counted = " UNION ALL ".join(f'SELECT "{name}", count(*) FROM conversations.{name}' for name in rows)
    queues = Counter(row["queue"] for row in project.table("receive_schedule"))
    counts = [f"{name}\t{count}" for name, count in [*rows.items(), *queues.items()]]
    query = query.replace("-e '", f"{SMALL_JOBS} -e 'SHOW TABLES IN conversations; {counted}; ")
    assert sorted(run(query, metastore).splitlines()) == sorted([*rows, *counts])


def run(lines: str, metastore: Path) -> str:
    """What documented lines say on stdout, with this metastore in place of that of the page."""
    own = {
        "SPARK_CONF_DIR": str(metastore),
        "SPARK_SUBMIT_OPTS": f"-Dderby.stream.error.file={metastore}/derby.log",
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",
    }
    lines = "set -eu\nsource .venv/bin/activate\n" + lines.replace("/data/metastore", str(metastore))
    done = ended(["bash", "-c", lines], own)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def read(spark: SparkSession, project: Project, name: str) -> list[Row]:
    rows = spark.read.format("delta").load(f"{project.folder}/warehouse/{name}")
    found: list[Row] = rows.toArrow().to_pylist()
    return found


def comparable(rows: list[Row]) -> list[Row]:
    """The rows with maps in one order."""
    return [
        {name: sorted(value) if isinstance(value, list) else value for name, value in row.items()}
        for row in rows
    ]


def test_the_documented_shell_works_to_the_letter() -> None:
    text = (ROOT / "docs" / "running.md").read_text("utf-8").split("## In a pyspark shell")[1]
    line, snippet = re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL)[:2]
    # Without -i, a Python whose input is no terminal skips the start-up file that makes `spark`.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    env["PYSPARK_DRIVER_PYTHON_OPTS"] = "-i"
    shell = subprocess.run(
        ["bash", "-c", f"{line.rstrip()} {SMALL_JOBS}"],
        cwd=ROOT,
        env=env,
        input=snippet,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert "|as_of" in shell.stdout, shell.stderr
    assert "Error" not in shell.stderr
