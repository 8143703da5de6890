"""What receives really did, against a model that looks at everything before every decision."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import conformance as job
from pipelines.conformance.read import request_at
from pipelines.conformance.receives import receives_at
from pipelines.conformance.view import WITHOUT_QUEUE_EVENTS
from pipelines.storage.collect import collect_rows
from tests.support.factories import Row, at, by_source, create_rule, endpoint_event, message_event
from tests.support.harness import Project, difference, one_log, same
from tests.support.model.conformance import CLASSES, conformance
from tests.support.random_logs import project_of
from tests.support.strategies import Log
from tests.support.strategies.busy import MOMENT, busy_log, crowded_log

CROWDED, BUSY = 14, 4
EVER = datetime(1970, 1, 1, tzinfo=UTC)
Night = tuple[Project, list[Log]]


def with_logged_levels(log: Log, random: Random) -> Log:
    """The levels that the server logged: mostly those of the rules."""
    levels = {"Gold": 9, "Silver": 6, "Lead": 2}
    rows = [
        {**row, "logged_priority": random.choice((levels.get(row["contract"], 5),) * 9 + (10, 1, None))}
        if row.get("contract")
        else row
        for row in log.endpoint_events
    ]
    return replace(log, endpoint_events=rows)


def on_a_link() -> Log:
    """A message of level 3 that overtakes one of level 9 between two instances."""
    rows: list[Row] = []
    for name, sent, came in (("High", 0, 10), ("Low", 1, 9)):
        far = {"instance": "SQL2", "database": "C"}
        rows += [
            endpoint_event("BEGIN_DIALOG", name, contract=name),
            endpoint_event("DIALOG_CREATED", name, contract=name, **far),
            message_event("SENT", f"{name}/0", event_time=at(sent)),
            message_event("DELIVERED", f"{name}/0", event_time=at(came), **far),
        ]
    rules = [create_rule(name, level, contract=name) for name, level in (("High", 9), ("Low", 3))]
    return replace(crowded_log(0), **by_source(*rows), rules=rules)


def night_of(session: SparkSession, folder: Path, logs: list[Log]) -> Night:
    log = one_log(logs)
    project = project_of(folder, log)
    project.add(log.events)
    project.run(session, log.as_of)
    return project, [replace(each, as_of=log.as_of) for each in logs]


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """Endpoints that end as they receive or before the COMMIT, moves and outcomes at decisions."""
    random = Random(5)
    logs = [crowded_log(number) for number in range(CROWDED)]
    logs += [with_logged_levels(busy_log(number), random) for number in range(BUSY)]
    return night_of(session, tmp_path_factory.mktemp("night"), [*logs, on_a_link()])


def modelled(logs: list[Log], since: datetime, tolerance: timedelta) -> dict[str, list[Row]]:
    """The tables of each log alone, with the marks of `one_log`."""
    tables: dict[str, list[Row]] = {"conformance": [], "conformance_hours": [], "conformance_deviations": []}
    marked = ("instance", "conversation_group_id", "witness_message_id")
    for number, log in enumerate(logs):
        alone = one_log([log])
        settings = {"catalog": alone.catalog, "rules": alone.rules, "as_of": log.as_of}
        rows = conformance(alone.events, **settings, since=since, tolerance=tolerance)
        for name, found in rows.items():
            tables[name] += [
                row | {column: f"{number:02d}{row[column][2:]}" for column in marked if column in row}
                for row in found
            ]
    return tables


def rounded(row: Row) -> Row:
    return row | {"skill": round(row["skill"], 9)} if row.get("skill") is not None else row


def require_modelled(
    session: SparkSession, project: Project, logs: list[Log], hours: float | None, tolerance: timedelta
) -> dict[str, list[Row]]:
    """Compare all tables; gives what the model says."""
    as_of, window = logs[0].as_of, None if hours is None else timedelta(hours=hours)
    expected = modelled(logs, EVER if window is None else as_of - window, tolerance)
    if logs[0].queue_events is None:
        unknown = dict.fromkeys(("lock_skipped", "where_clause", "own_group"))
        expected["conformance"] = [row | unknown for row in expected["conformance"]]
    asked = request_at(
        project.warehouse(session),
        project.settings(),
        as_of=as_of,
        window=window,
        tolerance=tolerance,
        materialize=same,
    )
    frames = receives_at(asked, tolerance=tolerance, materialize=same)
    for (name, rows), frame in zip(expected.items(), frames, strict=True):
        assert rows
        assert difference(map(rounded, collect_rows(frame)), rows) == [], name
    return expected


@pytest.mark.long
@pytest.mark.parametrize(("hours", "tolerance"), [(None, 2 * MOMENT), (3.75, timedelta(microseconds=2))])
def test_receives_equal_the_model(
    session: SparkSession, night: Night, hours: float | None, tolerance: timedelta
) -> None:
    expected = require_modelled(session, *night, hours, tolerance)
    assert sum(row["lock_skipped"] for row in expected["conformance"]) > 0
    if tolerance == 2 * MOMENT:
        assert {row["class"] for row in expected["conformance_deviations"]} == set(CLASSES)


@pytest.mark.long
def test_without_queue_events_locks_are_not_known(
    session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every RECEIVED counts as committed then; what depends on locks and on WHERE is null."""
    logs = [replace(busy_log(number), queue_events=None) for number in range(3)]
    project, logs = night_of(session, tmp_path, logs)
    require_modelled(session, project, logs, None, timedelta(0))
    capsys.readouterr()
    assert job.main(["--config", project.config]) == 0
    text = capsys.readouterr().out
    assert WITHOUT_QUEUE_EVENTS in text
    assert "unexplained; locks and WHERE are not known" in text
    assert "no lock, no WHERE" not in text
