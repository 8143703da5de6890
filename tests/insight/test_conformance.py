"""What receives and links really did, against a model that looks at everything before every decision."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from insight.conformance.receives import receives_at
from storage.collected import collected
from tests.factories import Row
from tests.harness import Project, difference, one_log
from tests.model.conformance import conformance
from tests.strategies import Log
from tests.test_against_model import project_of, random_logs

LOGS = 40
EVER = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Log]:
    log = replace(one_log(random_logs(LOGS, 61)), top=None, starvation=None, blocks=None)
    project = project_of(tmp_path_factory.mktemp("night"), log)
    project.add(log.events)
    project.run(session, log.as_of)
    return project, log


def found(
    session: SparkSession, project: Project, log: Log, window: timedelta | None, tolerance: timedelta
) -> dict[str, list[Row]]:
    warehouse = project.warehouse(session)
    frames = receives_at(
        warehouse,
        project.settings(),
        as_of=log.as_of,
        window=window,
        tolerance=tolerance,
        keep=lambda rows: rows,
    )
    tables = dict(zip(("conformance", "conformance_deviations"), map(collected, frames), strict=True))
    for row in tables["conformance"]:
        row["skill"] = None if row["skill"] is None else round(row["skill"], 9)
    return tables


@pytest.mark.spark
@pytest.mark.parametrize("minutes", [0, 20])
def test_receives_equal_the_model(session: SparkSession, night: tuple[Project, Log], minutes: int) -> None:
    project, log = night
    tolerance = timedelta(minutes=minutes)
    expected = conformance(
        log.events, catalog=log.catalog, rules=log.rules, as_of=log.as_of, since=EVER, tolerance=tolerance
    )
    tables = found(session, project, log, None, tolerance)
    for name, rows in expected.items():
        assert difference(tables[name], rows) == [], name
    assert expected["conformance_deviations"]
