"""What a run writes of its expectations, and what reruns leave of them."""

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.expectations.read import read_expectations
from pipelines.expectations.write import write_expectations
from pipelines.nightly.runs import Run, RunFigures, write_run
from pipelines.storage.ages import find_ages
from pipelines.storage.maintain import maintain
from schemas.reading import as_of_key
from tests.support.factories import Row, at, catalog, ends_of, short_talk
from tests.support.harness import Project
from tests.support.written import received, warehouse_of

FIRST, SECOND = at(60), at(70)


def project_in(folder: Path, *expect: Row) -> Project:
    """Write the settings; of a folder that has a project, again."""
    return Project(folder, catalog=catalog(), **({"expect": list(expect)} if expect else {}))


def test_a_rerun_replaces_the_rows_of_its_as_of(session: SparkSession, tmp_path: Path) -> None:
    rows = [
        received("Q", position, arrived_at=at(30), as_of=as_of, as_of_key=as_of_key(as_of))
        for position, as_of in ((1, FIRST), (2, FIRST), (1, SECOND))
    ]
    unresolved = {
        "as_of": FIRST,
        "as_of_key": as_of_key(FIRST),
        "kind": "receive",
        "id": "m",
        "reason": "endpoint_unknown",
    }
    tables = {"receive_schedule": rows, "unresolved": [unresolved], "runs": []}
    warehouse = warehouse_of(session, tmp_path / "warehouse", tables)

    def run(as_of: datetime, *expect: Row) -> str:
        settings = project_in(tmp_path, *expect).settings()
        said = write_expectations(warehouse, settings, as_of, find_ages(warehouse, settings, as_of))
        write_run(warehouse, settings, Run.begin(as_of), "succeeded", RunFigures())
        return said

    def shown(as_of: datetime) -> list[tuple[object, ...]]:
        read = read_expectations(warehouse, project_in(tmp_path).settings(), as_of)
        return [(row["name"], row["value"], row["limit"], row["met"], row["messages"]) for row in read]

    assert run(FIRST) == "none"
    assert shown(FIRST) == []
    two: list[Row] = [{"name": "b", "unresolved": 0}, {"name": "a", "oldest_wait": "1 h"}]
    assert run(FIRST, *two) == "1 of 2 expectations met"
    # The order is that of the settings of its own run.
    assert shown(FIRST) == [("b", 1, 0, False, 1), ("a", 1800, 3600, True, 2)]
    assert run(SECOND, *two) == "2 of 2 expectations met"
    assert shown(SECOND) == [("b", 0, 0, True, 0), ("a", 2400, 3600, True, 1)]
    run(SECOND, {"name": "a", "oldest_wait": "10 min"})
    assert shown(SECOND) == [("a", 2400, 600, False, 1)]
    run(SECOND)
    assert shown(SECOND) == []
    assert len(shown(FIRST)) == 2
    # Of those that are expected now, the first is as it was measured, and the others are not.
    now = [two[0], {"name": "a", "oldest_wait": "10 min"}, {"name": "new", "unresolved": 0}]
    asked = read_expectations(warehouse, project_in(tmp_path, *now).settings(), FIRST)
    assert [(row["name"], row["value"], row["limit"], row["met"]) for row in asked] == [
        ("b", 1, 0, False),
        ("a", None, 600, False),
        ("new", None, 0, False),
    ]


@pytest.mark.slow
def test_pruned_days_are_refused_before_the_as_of_is_touched(session: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path)
    for day in (-9, -8):
        project.add(short_talk(f"day {day}", day, ends=True))
    project.take_in(session)
    half = short_talk("half", 0, ends=False)
    project.add({**half, "endpoint_events": [*half["endpoint_events"], ends_of("half", at(0))[0]]})
    project.take_in(session)
    maintain(project.warehouse(session).root, keep_event_days=2, keep_hours=0, spark=session)
    project = project_in(tmp_path, {"leaked_conversations": 0, "days": 2}, {"leaked_conversations": 0})

    with pytest.raises(ConfigError) as caught:
        project.run(session, FIRST)

    assert str(caught.value).startswith(
        f"{project.config}: expect[1].days: 7 days before 2026-11-20T13:00:00Z needs the log of "
        "2026-11-13T13:00:00Z, which "
    )
    assert str(caught.value).endswith("the first day left is 2026-11-18; write days: 2 or less")
    assert not (tmp_path / "warehouse" / "receive_schedule").exists()
    settings = project_in(tmp_path, {"leaked_conversations": 1, "days": 2}).settings()
    warehouse = project.warehouse(session)
    ages = find_ages(warehouse, settings, FIRST)
    assert write_expectations(warehouse, settings, FIRST, ages) == "1 of 1 expectation met"
    assert [row["value"] for row in project.table("expectations")] == [1]
