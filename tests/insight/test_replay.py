"""The replay against a naive model that looks at all groups at every choice, and what is said of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from config.proposal import proposed_rules
from insight.replay.ask import Asked, replayed
from pipelines.replay.period import Period
from storage.collected import collected
from tests.factories import Row
from tests.harness import Project, difference, marked, one_log
from tests.insight.test_whatif import other_levels, written
from tests.model.endpoints import Endpoint
from tests.model.replay import Inputs, replay as by_model
from tests.model.whatif import _decided, _standing
from tests.strategies import Log
from tests.strategies.busy import BEGIN, END, busy_log
from tests.test_against_model import project_of, random_logs

LOGS = 25
BUSY = 40


def night_of(session: SparkSession, folder: Path, log: Log) -> Project:
    project = project_of(folder, log)
    project.add(log.events)
    project.run(session, log.as_of)
    return project


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, list[Log]]:
    logs = [replace(log, starvation=None, blocks=None) for log in random_logs(LOGS, 61)]
    return night_of(session, tmp_path_factory.mktemp("night"), one_log(logs)), logs


@pytest.fixture(scope="module")
def busy(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, list[Log]]:
    logs = [busy_log(number) for number in range(BUSY)]
    return night_of(session, tmp_path_factory.mktemp("busy"), one_log(logs)), logs


def modelled(
    logs: list[Log], period: Period, *, readers: int | None, top: int | None, drain: bool
) -> tuple[list[Row], list[Row]]:
    """What the model finds in each log, marked as `one_log` does."""
    messages, queues = [], []
    for number, log in enumerate(logs):
        inputs = Inputs(log.events, log.catalog, log.rules, period.start, period.end, 100)
        found = by_model(inputs, recorded, readers=readers, top=top, drain=drain)
        for rows, more in zip((messages, queues), found, strict=True):
            rows += [marked(row, f"{number:02d}.") for row in more]
    return messages, queues


def recorded(endpoint: Endpoint) -> int:
    return endpoint.priority


def answered(session: SparkSession, project: Project, asked: Asked) -> Any:
    with replayed(project.warehouse(session), project.settings(), asked) as answer:
        return {name: collected(frame) for name, frame in answer.by_name().items()}


def require_messages(found: list[Row], expected: list[Row]) -> None:
    assert expected
    shown = [{name: row[name] for name in found[0] if name != "scenario"} for row in expected]
    assert difference([{n: v for n, v in row.items() if n != "scenario"} for row in found], shown) == []


def require_queues(found: list[Row], expected: list[Row]) -> None:
    of_queues = {(row["instance"], row["database"], row["queue"]): row for row in found}
    for row in expected:
        ours = of_queues[row["instance"], row["database"], row["queue"]]
        assert ours["most_ready"] == row["most_ready"], row
        assert ours["empty_at"] == row["empty_at"], row
        if ours["readers"] is None:
            assert row["readers"] == 0
            continue
        assert ours["readers"] == row["readers"], row
        assert ours["busy_seconds"] == pytest.approx(row["busy"].total_seconds()), row
        assert ours["idle_locked_seconds"] == pytest.approx(row["idle_locked"].total_seconds()), row


def require_as_modelled(
    session: SparkSession, project: Project, logs: list[Log], asked: Asked
) -> tuple[list[Row], list[Row]]:
    top = asked.top or project.settings().receive.top
    messages, queues = modelled(logs, asked.period, readers=asked.readers, top=top, drain=asked.drain)
    found = answered(session, project, asked)
    require_messages(found["replay_messages"], messages)
    require_queues(found["replay_queues"], queues)
    return messages, queues


@pytest.mark.slow
@pytest.mark.parametrize(
    ("readers", "top", "drain"), [(None, None, False), (1, 1, True), (2, 2, False), (3, 5, True)]
)
def test_random_logs_play_as_the_model_does(
    session: SparkSession, night: tuple[Project, list[Log]], readers: int | None, top: int | None, drain: bool
) -> None:
    project, logs = night
    period = Period(logs[0].as_of - timedelta(hours=9), logs[0].as_of - timedelta(hours=1))
    require_as_modelled(session, project, logs, Asked(period, readers=readers, top=top, drain=drain))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize(
    ("readers", "top"), [(None, None), (None, 1), (1, None), (1, 2), (2, 1), (2, 5), (3, None), (3, 2)]
)
def test_busy_queues_play_as_the_model_does(
    session: SparkSession, busy: tuple[Project, list[Log]], readers: int | None, top: int | None, drain: bool
) -> None:
    project, logs = busy
    asked = Asked(Period(BEGIN, END), readers=readers, top=top, drain=drain)
    messages, queues = require_as_modelled(session, project, logs, asked)
    assert sum(row["started_at"] is not None for row in messages) > 5 * BUSY
    assert any(row["idle_locked"] for row in queues)
