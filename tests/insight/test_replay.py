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
from tests.harness import Project, difference, one_log
from tests.insight.test_whatif import other_levels, written
from tests.model.replay import Inputs, replay as by_model
from tests.model.whatif import _decided, _standing
from tests.strategies import Log
from tests.test_against_model import project_of, random_logs

LOGS = 25


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Log]:
    log = replace(one_log(random_logs(LOGS, 61)), starvation=None, blocks=None)
    project = project_of(tmp_path_factory.mktemp("night"), log)
    project.add(log.events)
    project.run(session, log.as_of)
    return project, log


def inputs_of(log: Log, period: Period) -> Inputs:
    return Inputs(log.events, log.catalog, log.rules, period.start, period.end, 100)


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


@pytest.mark.slow
@pytest.mark.parametrize("hours", [(6, 0), (12, 4)])
@pytest.mark.parametrize("readers", [None, 1, 2, 3])
@pytest.mark.parametrize(("top", "drain"), [(None, False), (1, True), (2, False), (5, True)])
def test_it_plays_as_the_model_does(
    session: SparkSession,
    night: tuple[Project, Log],
    hours: tuple[int, int],
    readers: int | None,
    top: int | None,
    drain: bool,
) -> None:
    project, log = night
    log = replace(log, top=top)
    period = Period(*(log.as_of - timedelta(hours=before) for before in hours))
    settings = project.settings()
    asked = Asked(period, readers=readers, top=top, drain=drain)
    if top is None:
        top = settings.receive.top
    messages, queues = by_model(
        inputs_of(log, period), lambda endpoint: endpoint.priority, readers=readers, top=top, drain=drain
    )
    found = answered(session, project, asked)
    require_messages(found["replay_messages"], messages)
    require_queues(found["replay_queues"], queues)
