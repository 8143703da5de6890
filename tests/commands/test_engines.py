"""One warehouse, two engines: nights alternate between them, and what one has written all of them read."""

import pickle
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import TABLES
from tests.support.factories import Row, at, by_source, endpoint_event, message_event, queue_event
from tests.support.harness import Project, difference
from tests.support.processes import HAS_JAVA, ROOT, ended, finish, kill_when, written
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import changed, contents, table_names

READ = """
import pickle, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
found = {}
for name in sys.argv[3:]:
    found[name] = spark.read.format("delta").load(f"{sys.argv[1]}/{name}").toArrow().to_pylist()
with open(sys.argv[2], "wb") as out:
    pickle.dump(found, out)
"""

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


def read_by_spark(project: Project, names: list[str]) -> dict[str, list[Row]]:
    """All rows of the tables, as Apache Spark reads them in a process of its own."""
    script, out = project.folder / "read.py", project.folder / "read.pickle"
    script.write_text(READ)
    done = ended([ROOT / "spark-submit.sh", script, project.folder / "warehouse", out, *names])
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[Row]] = pickle.loads(out.read_bytes())
    return found


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(not HAS_JAVA, reason="no java on the PATH, so no Apache Spark")
def test_nights_alternate_between_the_engines(embedded: SparkSession, tmp_path: Path) -> None:
    alone, project = project_in(tmp_path / "alone"), project_in(tmp_path / "alternating")
    days = [at(90, day=number) for number in range(len(NIGHTS))]
    for night, as_of in zip(NIGHTS, days, strict=True):
        alone.add(night)
        alone.run(embedded, as_of)

    project.add(NIGHTS[0])
    finish("embedded", project, days[0])
    project.add(NIGHTS[1])
    before = written(project)
    # Each engine takes up where the other one was killed, and replaces rows of the other's.
    assert kill_when("spark", project, days[1], lambda: written(project) >= before + 3)
    assert kill_when("embedded", project, days[1], lambda: written(project) >= before + 8)
    finish("spark", project, days[1])
    project.add(NIGHTS[2])
    finish("embedded", project, days[2])
    assert changed(contents(alone, leave_out={"path"}), contents(project, leave_out={"path"})) == {}

    names = table_names(project)
    by_spark = read_by_spark(project, names)
    warehouse = project.warehouse(embedded)
    for name in names:
        by_delta_rs = project.table(name)
        by_embedded = warehouse.read(TABLES[name]).toArrow().to_pylist()
        assert difference(comparable(by_spark[name]), comparable(by_delta_rs)) == [], name
        assert difference(comparable(by_embedded), comparable(by_delta_rs)) == [], name


def comparable(rows: list[Row]) -> list[Row]:
    """The rows with maps in one order."""
    return [
        {name: sorted(value) if isinstance(value, list) else value for name, value in row.items()}
        for row in rows
    ]
