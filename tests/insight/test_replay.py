"""The replay against a naive model that looks at all groups at every choice, and what is said of it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from insight.replay.ask import Asked, replayed
from pipelines.replay.period import Period
from storage.collected import collected
from tests.factories import Row
from tests.harness import Project, difference, one_log
from tests.model.endpoints import Endpoint
from tests.model.replay import Inputs, as_logged, is_off, replay as by_model, waits
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
        alone = one_log([log])
        inputs = Inputs(alone.events, alone.catalog, alone.rules, period.start, period.end, 100)
        found = by_model(inputs, recorded, readers=readers, top=top, drain=drain)
        for rows, more in zip((messages, queues), found, strict=True):
            rows += [renumbered(row, number) for row in more]
    return messages, queues


def renumbered(row: Row, number: int) -> Row:
    """The row of the first of some logs as that of another one of them."""
    return row | {name: f"{number:02d}{row[name][2:]}" for name in ("instance", "message_id") if name in row}


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


FIGURES = ("wait_p50", "wait_p90", "wait_p95", "wait_p99", "wait_max", "wait_mean", "at_least")
COUNTS = ("messages", "served", "unserved", "estimated")
Place = tuple[str, ...]


def by_place(messages: list[Row]) -> dict[Place, list[Row]]:
    """The messages of each queue and level."""
    found: dict[Place, list[Row]] = {}
    for row in messages:
        found.setdefault((*place_of(row), row["level"]), []).append(row)
    return found


def place_of(row: Row) -> Place:
    return (row["instance"], row["database"], row["queue"])


def require_waits(found: dict[str, list[Row]], messages: list[Row], period: Period) -> None:
    """Waits and calibration of the scenario actual."""
    ours = {
        (*place_of(row), row["level"]): row for row in found["replay_waits"] if row["scenario"] == "actual"
    }
    compared = {(*place_of(row), row["level"]): row for row in found["replay_calibration"]}
    expected = by_place(messages)
    assert ours.keys() == compared.keys() == expected.keys()
    off = set()
    for place, rows in expected.items():
        figures = waits(rows, period.end)
        logged = waits(as_logged(rows, period.start, period.end), period.end)
        assert {name: ours[place][name] for name in COUNTS} == {name: figures[name] for name in COUNTS}
        for name in FIGURES:
            assert ours[place][name] == pytest.approx(figures[name]), (place, name)
        for rank in ("p50", "p95"):
            for side, told in (("logged", logged), ("replayed", figures)):
                assert compared[place][f"{side}_{rank}"] == pytest.approx(told[f"wait_{rank}"]), place
            if is_off(logged[f"wait_{rank}"], figures[f"wait_{rank}"]):
                off.add(place)
    assert off == {place for place, row in compared.items() if row["verdict"] == "off"}
    for table in ("replay_waits", "replay_queues", "replay_calibration"):
        for row in found[table]:
            assert row["calibrated"] == (place_of(row) not in {place[:3] for place in off}), row


def require_as_modelled(
    session: SparkSession, project: Project, logs: list[Log], asked: Asked
) -> tuple[list[Row], list[Row]]:
    top = asked.top or project.settings().receive.top
    messages, queues = modelled(logs, asked.period, readers=asked.readers, top=top, drain=asked.drain)
    found = answered(session, project, asked)
    require_messages(found["replay_messages"], messages)
    require_queues(found["replay_queues"], queues)
    require_waits(found, messages, asked.period)
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
