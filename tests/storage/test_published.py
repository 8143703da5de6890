"""What was published, what came in since, and how old its data is."""

import logging
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import UnpublishedError
from pipelines.config.instants import AsOf
from pipelines.storage.published import batches_since, published_as_of
from tests.support.factories import at, catalog
from tests.support.harness import Project
from tests.support.written import batch, ended_run, warehouse_of


def test_all_batches_came_after_a_run_before_the_first_one(session: SparkSession, tmp_path: Path) -> None:
    batches = [batch(1), batch(2)]
    runs = [ended_run("empty", at(), last_batch=None), ended_run("later", at(day=1), last_batch=1)]
    warehouse = warehouse_of(session, tmp_path, {"batches": batches, "runs": runs})
    assert [batches_since(warehouse, at(day=day)) for day in (0, 1)] == [2, 1]
    with pytest.raises(UnpublishedError, match=r"runs has no published run of 2026-11-22T12:00:00Z; run "):
        batches_since(warehouse, at(day=2))


@pytest.mark.parametrize(
    ("as_of", "found", "age"),
    [
        pytest.param(None, at(day=2), "47 h", id="the newest as_of, which was not run last"),
        pytest.param("latest", at(day=2), "47 h", id="latest"),
        pytest.param(at(60), at(60), None, id="an hour"),
        pytest.param(at(61), at(61), "61 min", id="the last run of an as_of that was run twice"),
        pytest.param(at(day=1), at(day=1), None, id="a run of an older version"),
    ],
)
def test_a_question_says_how_old_the_data_is(
    session: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    as_of: AsOf | None,
    found: datetime,
    age: str | None,
) -> None:
    project = Project(tmp_path, catalog=catalog())
    runs = [
        ended_run("1", at(day=2), newest_data=at(60), started_at=at(day=3)),
        ended_run("2", at(60), newest_data=at(0), started_at=at(day=9)),
        ended_run("3", at(61), newest_data=at(0), started_at=at(day=5)),
        ended_run("4", at(61), newest_data=at(60), started_at=at(day=4)),
        ended_run("5", at(61), newest_data=None, status="failed", started_at=at(day=6)),
        ended_run("6", at(day=1), newest_data=None),
    ]
    warehouse = warehouse_of(session, tmp_path / "warehouse", {"runs": runs})
    with caplog.at_level(logging.WARNING):
        assert published_as_of(warehouse, project.settings(), as_of) == found
    told = [message.partition(" older than as_of: ")[0] for message in caplog.messages]
    assert told == ([f"the newest data is {age}"] if age else [])
