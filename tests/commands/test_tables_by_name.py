"""The documented way to tables with names, to the letter: a night in one process, queries in others."""

import json
import os
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.support.harness import Project, one_log
from tests.support.processes import PATIENCE, ROOT
from tests.support.random_logs import project_of, random_logs, require_equal
from tests.support.warehouses import table_names

pytestmark = [pytest.mark.slow, pytest.mark.spark]

READ = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.enableHiveSupport().getOrCreate()
names = [row.tableName for row in spark.sql("SHOW TABLES IN conversations").collect()]
found = {}
for name in names:
    rows = spark.sql(f"SELECT to_json(struct(*)) AS line FROM conversations.{name}")
    found[name] = [row.line for row in rows.collect()]
with open(sys.argv[1], "w") as out:
    json.dump(found, out)
"""


def documented() -> list[str]:
    """The blocks of the section: settings, hive-site.xml, the commands of a night, the query."""
    text = (ROOT / "docs" / "running.md").read_text("utf-8")
    section = text.split("## Tables by name")[1].split("\n## ")[0]
    return re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)


class Shell:
    """Runs documented lines with the settings and the metastore of the test in place of those of the page."""

    def __init__(self, project: Project, metastore: Path) -> None:
        self._project, self._metastore = project, metastore

    def run(self, lines: str) -> str:
        """What the lines say on stdout."""
        lines = "source .venv/bin/activate\n" + lines.replace("/data/metastore", str(self._metastore))
        lines = lines.replace("my/settings.yaml", shlex.quote(self._project.config))
        done = subprocess.run(
            ["bash", "-euc", lines],
            cwd=ROOT,
            env=os.environ
            | {
                "SPARK_CONF_DIR": str(self._metastore),
                "SPARK_SUBMIT_OPTS": f"-Dderby.stream.error.file={self._metastore}/derby.log",
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout


def test_a_night_in_one_process_is_read_by_name_in_another(spark: SparkSession, tmp_path: Path) -> None:
    settings, hive_site, night, query = documented()
    log = one_log(random_logs(4, 71))
    by_name = project_of(tmp_path / "by name", log)
    by_name.add(log.events)
    content = yaml.safe_load(Path(by_name.config).read_text()) | yaml.safe_load(settings)
    Path(by_name.config).write_text(yaml.safe_dump(content, allow_unicode=True))
    metastore = tmp_path / "metastore"
    metastore.mkdir()
    (metastore / "hive-site.xml").write_text(hive_site.replace("/data/metastore", str(metastore)))
    shell = Shell(by_name, metastore)
    shell.run(night.replace("2026-11-21T00:00:00Z", log.as_of.isoformat()))
    assert not (by_name.folder / "warehouse").exists()

    (by_name.folder / "warehouse").symlink_to(metastore / "tables" / "conversations.db")
    require_equal(by_name, log)

    (tmp_path / "read.py").write_text(READ)
    shell.run(f"./spark-submit.sh '{tmp_path}/read.py' '{tmp_path}/read.json'")
    found = json.loads((tmp_path / "read.json").read_text())
    assert sorted(found) == table_names(by_name)
    for name, lines in found.items():
        path = str(by_name.folder / "warehouse" / name)
        expected = spark.read.format("delta").load(path).selectExpr("to_json(struct(*)) AS line")
        assert sorted(lines) == sorted(row.line for row in expected.collect()), name

    counts = Counter(row["queue"] for row in by_name.table("receive_schedule"))
    assert shell.run(query) == "".join(f"{queue}\t{count}\n" for queue, count in sorted(counts.items()))
