"""`why` against the naive model, on many random logs at once."""

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from schemas.outputs import FINDINGS, WAITS
from tests.support.harness import Project, Row, difference, one_log
from tests.support.model.moment import Moment
from tests.support.model.why import CODES, waits, why
from tests.support.random_logs import project_of, random_logs
from tests.support.strategies.shown import as_shown
from tests.support.why_answers import answer_of, declare_snapshots, require_same_answer

LOGS = 24
WINDOW = {"check_seconds": 600, "empty_seconds": 5, "window_hours": 24}
STARVATION = {"after_seconds": 3600, "raise_by": 1}
BLOCKS = {"fragment_bytes": 100, "fragments": 2}
OF_SCENES = {
    "broker_disabled",
    "broker_changed",
    "conversations_gone",
    "monitor_dropped",
    "monitor_missing",
    "too_many_tasks",
}


def test_the_answer_equals_the_model(session: SparkSession, tmp_path: Path) -> None:
    """With the causes that only snapshots show, and settings that change both orders."""
    log, snapshots = as_shown(one_log(random_logs(LOGS, 5)), 1)
    log = replace(log, top=2, starvation=STARVATION, blocks=BLOCKS)
    declared = declare_snapshots(tmp_path, snapshots)
    project = project_of(tmp_path, log, activation=WINDOW, snapshots=declared)
    project.add(log.events)
    project.run(session, log.as_of)
    found = answer_of(project, session, log.as_of)
    assert {cause["code"] for cause in found["causes"]} == set(CODES) - OF_SCENES
    moment = Moment(log.events, **log.settings, activation_settings=WINDOW, snapshots=snapshots)
    expected = why(moment)
    require_same_answer(found, expected)
    require_same_tables(project, expected, moment)


def require_same_tables(project: Project, answer: Row, moment: Moment) -> None:
    """Require that a night kept all findings of the answer, and the waits."""
    found = {
        table.name: project.table(table.name, [*table.names[2:], "as_of"]) for table in (FINDINGS, WAITS)
    }
    at = {"as_of": moment.as_of}
    counted = [{name: row[name] for name in FINDINGS.names[2:]} | at for row in answer["findings"]]
    assert difference(found["findings"], counted) == []
    assert difference(found["waits"], [{**row, **at} for row in waits(moment)]) == []
    [run] = project.table("runs")
    counts = dict(run["row_counts"])
    assert {name: counts[name] for name in found} == {name: len(rows) for name, rows in found.items()}
    assert all(found.values())
