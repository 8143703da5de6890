"""Each measure on a night whose figures a reader can follow, and what a rerun leaves."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.expectations.read import read_expectations
from tests.support.expected_night import AS_OF, GOLD, events, project_in
from tests.support.factories import INITIATOR, TARGET, Row, at
from tests.support.harness import Project

MEASURED: list[tuple[Row, float | None, int | None, bool]] = [
    # Waits are 1200 and 600 s at level 9, 1800 and 0 s at level 5.
    ({"oldest_wait": "30 min"}, 1800, 4, True),
    ({"oldest_wait": "1799 s"}, 1800, 4, False),
    ({"oldest_wait": "1 h", "contract": GOLD}, 1200, 2, True),
    ({"oldest_wait": "1 h", "level": 9}, 1200, 2, True),
    ({"oldest_wait": "1 h", "queue": "TargetQueue"}, 1800, 4, True),
    ({"oldest_wait": "1 h", "queue": "SQL1.B.TargetQueue"}, 1800, 4, True),
    ({"oldest_wait": "1 h", "queue": "SQL2.C.TargetQueue"}, None, 0, True),
    ({"oldest_wait": "1 h", "queue": "TargetQueue", "instance": "SQL2"}, None, 0, True),
    ({"oldest_wait": "1 h", "database": "B", "service": TARGET, "remote_service": INITIATOR}, 1800, 4, True),
    ({"oldest_wait": "1 h", "service": INITIATOR}, None, 0, True),
    ({"oldest_wait": "1 h", "contract": GOLD, "min_messages": 2}, 1200, 2, True),
    ({"oldest_wait": "1 h", "contract": GOLD, "min_messages": 3}, 1200, 2, False),
    ({"oldest_wait": "1 h", "contract": "Misspelt", "min_messages": 1}, None, 0, False),
    # The rank is 0.95 * 3 = 2.85, between 1200 and 1800.
    ({"p95_wait": "1710 s"}, 1710, 4, True),
    ({"p95_wait": "1709 s"}, 1710, 4, False),
    ({"p95_wait": "1 h", "contract": GOLD}, 1170, 2, True),
    ({"level_at_least": 9, "share": 0.5}, 0.5, 4, True),
    ({"level_at_least": 9}, 0.5, 4, False),
    ({"level_at_least": 5}, 1, 4, True),
    ({"level_at_least": 9, "contract": GOLD}, 1, 2, True),
    ({"level_at_least": 9, "contract": "Misspelt"}, None, 0, True),
    # plain/2 waits at SQL1 since minute 20, and at SQL2, which forwards it, since minute 25.
    ({"transmission_age": "40 min"}, 2400, 2, True),
    ({"transmission_age": "39.9 min"}, 2400, 2, False),
    ({"transmission_age": "1 h", "instance": "SQL2", "contract": "Contract"}, 2100, 1, True),
    ({"transmission_age": "1 h", "service": INITIATOR, "remote_service": TARGET, "level": 5}, 2400, 2, True),
    ({"transmission_age": "1 h", "contract": GOLD}, None, 0, True),
    ({"unresolved": 0}, 1, 1, False),
    ({"unresolved": 1}, 1, 1, True),
    # The far sides of two conversations have ended; two more are idle for 20 minutes.
    ({"leaked_conversations": 2}, 2, None, True),
    ({"leaked_conversations": 1, "service": TARGET}, 2, None, False),
    ({"leaked_conversations": 0, "contract": GOLD}, 0, None, True),
    ({"leaked_conversations": 0, "instance": "SQL2"}, 0, None, True),
]


def shown(session: SparkSession, project: Project, as_of: Any = AS_OF) -> list[tuple[Any, ...]]:
    rows = read_expectations(project.warehouse(session), project.settings(), as_of)
    return [(row["name"], row["value"], row["limit"], row["met"], row["messages"]) for row in rows]


@pytest.mark.spark
def test_each_measure(session: SparkSession, tmp_path: Path) -> None:
    entries = [{"name": f"entry {number}", **entry} for number, (entry, *_) in enumerate(MEASURED)]
    project = project_in(tmp_path, entries)
    project.add(events())
    project.run(session, AS_OF)

    found = [(name, value, messages, met) for name, value, _, met, messages in shown(session, project)]

    assert found == [
        (f"entry {number}", pytest.approx(value), messages, met)
        for number, (_, value, messages, met) in enumerate(MEASURED)
    ]
    assert shown(session, project)[1][2] == 1799
    (run,) = project.table("runs")
    assert dict(run["row_counts"])["expectations"] == len(MEASURED)
    assert "expectations" not in dict(run["reconciliation"])


def test_a_rerun_replaces_the_rows_of_its_as_of(session: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path, [{"name": "b", "unresolved": 0}, {"name": "a", "oldest_wait": "1 h"}])
    project.add(events())
    project.run(session, AS_OF)
    project.run(session, at(70))
    before = [("b", 1, 0, False, 1), ("a", 1800, 3600, True, 4)]
    assert shown(session, project) == before

    project = project_in(tmp_path, [{"name": "a", "oldest_wait": "10 min"}])
    project.run(session, at(70))
    assert shown(session, project, at(70)) == [("a", 2400, 600, False, 4)]
    # The order is that of the settings of its own run.
    assert shown(session, project) == before

    project = project_in(tmp_path, None)
    project.run(session, at(70))
    assert shown(session, project, at(70)) == []
    assert shown(session, project) == before
    assert {row["as_of"] for row in project.table("expectations")} == {AS_OF}


def test_without_expectations_the_table_is_there_and_empty(session: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path, None)
    project.add(events())
    project.run(session, AS_OF)

    assert project.table("expectations") == []
