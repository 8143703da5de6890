"""`why` against the naive model, on many random logs at once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.harness import Row, one_log
from tests.support.model.moment import Moment
from tests.support.model.why import CODES, why
from tests.support.random_logs import project_of, random_logs
from tests.support.strategies import Log
from tests.support.strategies.backlog_snapshots import joined_backlogs
from tests.support.strategies.backlogs import ACTIVATION
from tests.support.why_answers import LIMIT, answer_of, declare_snapshots, require_same_answer

WINDOW = {"check_seconds": 300, "empty_seconds": 5, "window_hours": 24}
STARVATION = {"after_seconds": 5400, "raise_by": 3}
BLOCKS = {"fragment_bytes": 100, "fragments": 3}
AN_HOUR = {"after_seconds": 3600, "raise_by": 1}
TWO_FRAGMENTS = {"fragment_bytes": 100, "fragments": 2}
OF_SNAPSHOTS = ("transmission_status", "handle_unknown")
"""The causes that no log shows."""


def moment_of(log: Log, activation: Row, **more: Any) -> Moment:
    """The model's tables."""
    return Moment(log.events, **log.settings, activation_settings=activation, **more)


@pytest.mark.parametrize(
    ("number", "top", "starvation", "blocks"),
    [
        (1, None, None, None),
        (2, 2, STARVATION, BLOCKS),
    ],
)
def test_the_answer_equals_the_model(
    session: SparkSession,
    tmp_path: Path,
    number: int,
    top: int | None,
    starvation: Row | None,
    blocks: Row | None,
) -> None:
    log = replace(
        one_log(random_logs(20, number)),
        top=top,
        starvation=starvation,
        blocks=blocks,
    )
    project = project_of(tmp_path, log, activation=WINDOW)
    project.add(log.events)
    project.run(session, log.as_of)
    found = answer_of(project, session, log.as_of)
    require_same_answer(found, why(moment_of(log, WINDOW), limit=LIMIT))


@pytest.mark.parametrize(
    ("first", "count", "top", "starvation", "blocks", "with_snapshots"),
    [
        (0, 25, None, AN_HOUR, None, False),
        (30, 15, 2, AN_HOUR, TWO_FRAGMENTS, True),
    ],
)
def test_backlogs_have_every_cause_as_in_the_model(
    session: SparkSession,
    tmp_path: Path,
    first: int,
    count: int,
    top: int | None,
    starvation: Row | None,
    blocks: Row | None,
    with_snapshots: bool,
) -> None:
    log, snapshots = joined_backlogs(range(first, first + count))
    log = replace(log, top=top, starvation=starvation, blocks=blocks)
    shown = snapshots if with_snapshots else []
    declared = declare_snapshots(tmp_path, shown)
    project = project_of(tmp_path, log, activation=ACTIVATION, snapshots=declared)
    project.add(log.events)
    project.run(session, log.as_of)
    found = answer_of(project, session, log.as_of)
    codes = {cause["code"] for cause in found["causes"]}
    assert codes == set(CODES) - (set() if with_snapshots else set(OF_SNAPSHOTS))
    require_same_answer(found, why(moment_of(log, ACTIVATION, snapshots=shown), limit=LIMIT))
