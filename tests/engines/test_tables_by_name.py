"""A warehouse that is a schema: its tables are in the schema's folder, and have names."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pyspark.sql import DataFrame, SparkSession

from pipelines.config.errors import ConfigError
from pipelines.config.model import SparkSchema
from pipelines.engine.frames import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import UNRESOLVED
from schemas.reading import as_of_key
from tests.support.apache_spark import SMALL_JOBS
from tests.support.factories import at
from tests.support.harness import one_log
from tests.support.processes import ROOT, ended
from tests.support.random_logs import project_of, random_logs, require_equal
from tests.support.warehouses import table_names

SCHEMA = SparkSchema.model_validate({"schema": "tables_by_name"})
NO_QUEUE = (None, None, None)
"""Instance, database and queue of `unresolved`."""


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The schema's folder, whose name needs quotes in SQL and escapes in a URI."""
    folder = tmp_path / "it's a folder"
    quoted = str(folder).replace("'", "\\'")
    spark.sql(f"CREATE SCHEMA {SCHEMA} LOCATION '{quoted}'")
    yield folder
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def rows(spark: SparkSession, *ids: str) -> DataFrame:
    return small_frame(
        spark,
        [(at(), as_of_key(at()), "receive", each, "endpoint_unknown", *NO_QUEUE) for each in ids],
        UNRESOLVED.struct,
    )


def ids(frame: DataFrame) -> list[str]:
    return sorted(row.id for row in frame.select("id").collect())


def names(spark: SparkSession) -> list[str]:
    return sorted(row.tableName for row in spark.sql(f"SHOW TABLES IN {SCHEMA}").collect())


def test_what_is_written_can_be_read_by_name_and_by_path(spark: SparkSession, folder: Path) -> None:
    warehouse = Warehouse(spark, SCHEMA)
    assert warehouse.root == f"file:{folder}"
    assert not warehouse.exists(UNRESOLVED)
    assert ids(warehouse.read(UNRESOLVED)) == names(spark) == []

    warehouse.replace(UNRESOLVED, rows(spark, "m1", "m2"))
    assert names(spark) == ["unresolved"]
    warehouse.replace(UNRESOLVED, rows(spark, "m3"))
    by_name = spark.table("tables_by_name.unresolved")
    assert ids(by_name) == ids(warehouse.read(UNRESOLVED)) == ["m3"]
    assert ids(Warehouse(spark, str(folder)).read(UNRESOLVED)) == ["m3"]
    assert by_name.schema == UNRESOLVED.struct


def test_tables_of_a_folder_get_their_names_with_the_next_write(spark: SparkSession, folder: Path) -> None:
    """That is also how a run goes on that was killed between a table's creation and its naming."""
    Warehouse(spark, str(folder)).replace(UNRESOLVED, rows(spark, "m1"))
    warehouse = Warehouse(spark, SCHEMA)
    assert ids(warehouse.read(UNRESOLVED)) == ["m1"]
    assert names(spark) == []

    warehouse.append(UNRESOLVED, rows(spark, "m2"))
    assert ids(spark.table("tables_by_name.unresolved")) == ["m1", "m2"]


def test_a_dropped_name_comes_back_with_all_rows(spark: SparkSession, folder: Path) -> None:
    warehouse = Warehouse(spark, SCHEMA)
    warehouse.replace(UNRESOLVED, rows(spark, "m1"))
    spark.sql("DROP TABLE tables_by_name.unresolved")
    assert ids(warehouse.read(UNRESOLVED)) == ["m1"]
    warehouse.append(UNRESOLVED, rows(spark, "m2"))
    assert ids(spark.table("tables_by_name.unresolved")) == ["m1", "m2"]


@pytest.mark.parametrize(
    ("schema", "what_to_do"),
    [
        (SparkSchema.model_validate({"schema": "table_by_name"}), "this session has no metastore"),
        (SparkSchema.model_validate({"catalog": "lake", "schema": "x"}), "or CREATE SCHEMA lake.x first"),
    ],
    ids=["schema", "catalog"],
)
def test_a_schema_that_is_not_there(spark: SparkSession, schema: SparkSchema, what_to_do: str) -> None:
    with pytest.raises(ConfigError) as error:
        Warehouse(spark, schema)
    assert str(error.value).startswith(f"warehouse: there is no schema {schema}; ")
    assert what_to_do in str(error.value)
    assert "\n" not in str(error.value)


# As documented: a night in one process, a query in another


def documented() -> list[str]:
    """The blocks of the section: settings, hive-site.xml, the commands of a night, the query."""
    text = (ROOT / "docs" / "running.md").read_text("utf-8")
    section = text.split("## Tables by name")[1].split("\n## ")[0]
    return re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)


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


def test_a_night_in_one_process_is_read_by_name_in_another(tmp_path: Path) -> None:
    settings, hive_site, night, query = documented()
    log = one_log(random_logs(1, 71))
    by_name = project_of(tmp_path / "by name", log)
    by_name.add(log.events)
    content = yaml.safe_load(Path(by_name.config).read_text()) | yaml.safe_load(settings)
    Path(by_name.config).write_text(yaml.safe_dump(content, allow_unicode=True))
    metastore = tmp_path / "metastore"
    metastore.mkdir()
    (metastore / "hive-site.xml").write_text(hive_site.replace("/data/metastore", str(metastore)))
    night = night.replace("my/settings.yaml", shlex.quote(by_name.config))
    run(night.replace("2026-11-21T00:00:00Z", log.as_of.isoformat()), metastore)
    assert not (by_name.folder / "warehouse").exists()

    (by_name.folder / "warehouse").symlink_to(metastore / "tables" / "conversations.db")
    require_equal(by_name, log)

    rows = {name: len(by_name.table(name)) for name in table_names(by_name)}
    counted = " UNION ALL ".join(f'SELECT "{name}", count(*) FROM conversations.{name}' for name in rows)
    query = query.replace("-e '", f"{SMALL_JOBS} -e 'SHOW TABLES IN conversations; {counted}; ")
    queues = Counter(row["queue"] for row in by_name.table("receive_schedule"))
    counts = [f"{name}\t{count}" for name, count in [*rows.items(), *queues.items()]]
    assert sorted(run(query, metastore).splitlines()) == sorted([*rows, *counts])
