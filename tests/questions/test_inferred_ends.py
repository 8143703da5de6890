"""What a snapshot lets conclude is no fact of the log: who received a message, and when, is not known."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.conformance.read import request_at
from pipelines.conformance.receives import receives_at
from pipelines.questions.leaks import read_leaks
from pipelines.replay.read import open_replay
from pipelines.replay.request import Period, ReplayRequest
from pipelines.storage.collect import collect_rows
from tests.support.factories import (
    Row,
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import Project, same
from tests.support.server import write_csv
from tests.support.view_rows import queue, ready

pytestmark = pytest.mark.slow

AS_OF, TAKEN_AT = at(60), at(0)


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three messages arrive; at noon the queue has one of them, which a session takes ten minutes later.

    A fourth conversation has been silent for 40 days, and the queue has its message no more, either.
    """
    folder = tmp_path_factory.mktemp("inferred")
    rules = [create_rule(name, level, database="B", contract=name) for name, level in LEVELS.items()]
    project = Project(folder, catalog=catalog(), rules=rules)
    rows = [row for name in ("Gold 0", "Silver 1", "Silver 2") for row in talk(name, at(-40))]
    rows += talk("Old 3", at(day=-40))
    mark = {"transaction_id": "t1"}
    rows += [
        message_event("RECEIVED", "Gold 0/0", event_time=at(10), **mark),
        queue_event("RECEIVE", event_time=at(10), conversation_group_id="group Gold 0 False", **mark),
        queue_event("COMMIT", event_time=at(11), **mark),
    ]
    project.add(by_source(*rows))
    (folder / "snap").mkdir()
    ids = {"conversation_group_id": "group Gold 0 False", "conversation_handle": "handle Gold 0 False"}
    write_csv(folder / "snap" / "dbo.TargetQueue.csv", [ready(priority=9, **ids)])
    write_csv(folder / "snap" / "service_queues.csv", [queue(100, "TargetQueue")])
    write_csv(folder / "snap" / "dm_broker_queue_monitors.csv", [{"queue_id": 100, "tasks_waiting": 2}])
    place = {"instance": "SQL1", "database": "B", "taken_at": TAKEN_AT.isoformat()}
    shown = {"path": "snap", "format": "csv", "complete": ["dbo.TargetQueue"], **place}
    settings = yaml.safe_load(Path(project.config).read_text())
    Path(project.config).write_text(yaml.safe_dump({**settings, "snapshots": [shown]}))
    project.take_in(session)
    return project


LEVELS = {"Gold": 9, "Silver": 3}


def talk(name: str, when: Any) -> list[Row]:
    """A conversation with a message that arrives ten minutes after its beginning."""
    of = {"contract": name.split()[0], "event_time": when}
    return [
        endpoint_event(conversation=name, **of),
        endpoint_event("DIALOG_CREATED", name, **of),
        message_event("DELIVERED", f"{name}/0", event_time=when + timedelta(minutes=10)),
    ]


def test_it_is_no_decision(session: SparkSession, project: Project) -> None:
    asked = request_at(
        project.warehouse(session), project.settings(), as_of=AS_OF, window=None, materialize=same
    )
    receives, _, deviations = receives_at(asked, tolerance=timedelta(milliseconds=10), materialize=same)
    [row] = collect_rows(receives)
    figures = [row[name] for name in ("queue", "decisions", "with_choice", "passed")]
    assert figures == ["TargetQueue", 1, 0, 0]
    assert collect_rows(deviations) == []


def test_nobody_knows_how_long_the_work_took_or_when_it_began(
    session: SparkSession, project: Project
) -> None:
    """Two waiting tasks of the snapshot are no sessions of the log: open transactions tell the readers."""
    asked = ReplayRequest(Period(at(-35), AS_OF), queues=["SQL1.B.TargetQueue"])
    with open_replay(project.warehouse(session), project.settings(), asked) as answer:
        found = {name: collect_rows(frame) for name, frame in answer.by_name().items()}
    estimated = {row["level"]: (row["messages"], row["estimated"]) for row in found["replay_waits"]}
    assert estimated == {9: (1, 0), 5: (1, 1), 3: (2, 2)}
    [silver] = [row for row in found["replay_calibration"] if row["level"] == 3]
    assert silver["logged_p50"] is None
    [queue] = found["replay_queues"]
    assert (queue["readers"], queue["busy_seconds"]) == (1, 240.0)


def test_it_is_no_traffic(session: SparkSession, project: Project) -> None:
    [leaking, other] = collect_rows(read_leaks(project.warehouse(session), AS_OF, days=30))
    for row in (leaking, other):
        assert (row["conversation_id"], row["reason"]) == ("Old 3", "no_traffic")
