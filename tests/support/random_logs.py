"""Random logs, their project, and the comparison of its tables with the model."""

from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tests.support.harness import Project, difference
from tests.support.model import simulate
from tests.support.strategies import Log, logs

T = TypeVar("T")
PUBLIC = (
    "endpoints",
    "priority_rules",
    "group_priorities",
    "receive_schedule",
    "transmission_schedule",
    "unresolved",
)


def random_logs(count: int, number: int) -> list[Log]:
    """Random logs, the same for the same number.

    One example is one small log, and one run of the pipeline tries them all: a run costs seconds.
    """
    return drawn(logs(), count, number)


def drawn(strategy: SearchStrategy[T], count: int, number: int) -> list[T]:
    """Examples of a strategy, the same for the same number."""
    found: list[T] = []

    @seed(number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: T) -> None:
        found.append(example)

    collect()
    return found


def project_of(folder: Path, log: Log, **sections: Any) -> Project:
    """The log's catalog, rules and settings; `sections` are further sections of the settings."""
    return Project(
        folder,
        catalog=log.catalog,
        rules=log.rules,
        queue_events=log.queue_events is not None,
        receive={"top": log.top},
        transmission={"starvation": log.starvation, "blocks": log.blocks},
        **sections,
    )


def require_equal(project: Project, log: Log) -> None:
    """Compare the tables with the model; of a table with an as_of the rows of the log's."""
    expected = simulate(log.events, **log.settings)
    for table in PUBLIC:
        columns = expected[table][0].keys() if expected[table] else ()
        rows = [row for row in project.table(table) if row.get("as_of", log.as_of) == log.as_of]
        found = [{name: row[name] for name in columns or row} for row in rows]
        assert difference(found, expected[table]) == [], table
