"""What was published, what came in since, and how old its data is."""

import logging
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.config.instants import AsOf
from pipelines.storage.published import batches_since, published_as_of
from tests.support.factories import Row, at, catalog
from tests.support.harness import Project
from tests.support.written import ended_run, warehouse_of


def test_all_batches_came_after_a_run_before_the_first_one(session: SparkSession, tmp_path: Path) -> None:
    counted = dict.fromkeys(("events", "accepted", "duplicates", "rejected"), 0)
    batches = [{"batch": number, "source": "s", "bindings": "b", **counted} for number in (1, 2)]
    runs = [
        ended_run("empty", at(), last_batch=None),
        ended_run("later", at(day=1), last_batch=1),
    ]
    warehouse = warehouse_of(session, tmp_path, {"batches": batches, "runs": runs})
    assert [batches_since(warehouse, at(day=day)) for day in (0, 1)] == [2, 1]


def run_of(as_of: datetime, newest_data: datetime | None, **changes: object) -> Row:
    return ended_run(f"{as_of} {changes}", as_of, newest_data=newest_data, **changes)


@pytest.mark.parametrize(
    ("as_of", "found", "warning"),
    [
        pytest.param(
            None,
            at(day=2),
            "the newest data is 47 h older than as_of: it is of 2026-11-20T13:00:00Z, "
            "as_of is 2026-11-22T12:00:00Z",
            id="the newest as_of, which was not run last",
        ),
        pytest.param(
            "latest",
            at(day=2),
            "the newest data is 47 h older than as_of: it is of 2026-11-20T13:00:00Z, "
            "as_of is 2026-11-22T12:00:00Z",
            id="latest",
        ),
        pytest.param(at(60), at(60), None, id="an hour"),
        pytest.param(
            at(61),
            at(61),
            "the newest data is 61 min older than as_of: it is of 2026-11-20T12:00:00Z, "
            "as_of is 2026-11-20T13:01:00Z",
            id="the last run of an as_of that was run twice",
        ),
        pytest.param(at(day=1), at(day=1), None, id="a run of an older version"),
    ],
)
def test_a_question_says_how_old_the_data_is(
    session: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    as_of: AsOf | None,
    found: datetime,
    warning: str | None,
) -> None:
    project = Project(tmp_path, catalog=catalog())
    runs = [
        run_of(at(day=2), at(60), started_at=at(day=3)),
        run_of(at(60), at(0), started_at=at(day=9)),
        run_of(at(61), at(0), started_at=at(day=5)),
        run_of(at(61), at(60), started_at=at(day=4)),
        run_of(at(61), None, status="failed", started_at=at(day=6)),
        run_of(at(day=1), None),
    ]
    warehouse = warehouse_of(session, tmp_path / "warehouse", {"runs": runs})
    with caplog.at_level(logging.WARNING):
        assert published_as_of(warehouse, project.settings(), as_of) == found
    assert [record.getMessage() for record in caplog.records] == ([warning] if warning else [])
