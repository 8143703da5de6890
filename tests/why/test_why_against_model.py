"""`why` against the naive model, on many random logs at once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.why.filters import Filters
from pipelines.why.report import report_why
from pipelines.why.teller import teller_of
from tests.support.harness import Project, Row, one_log
from tests.support.model.moment import Moment
from tests.support.model.why import why
from tests.support.random_logs import project_of, random_logs
from tests.support.strategies import Log

TOLD = ("sentence", "action", "command")
"""Texts, which the model leaves out."""
LIMIT = 1_000_000
FIRST_LARGE = 4
"""The first run with more logs: 210 in all."""
WINDOW = {"check_seconds": 300, "empty_seconds": 5, "window_hours": 24}
STARVATION = {"after_seconds": 5400, "raise_by": 3}
BLOCKS = {"fragment_bytes": 100, "fragments": 3}


def without_texts(answer: Any) -> Any:
    """An answer without sentences, actions and commands; that each is there is tested on the way."""
    if isinstance(answer, list):
        return [without_texts(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    if "code" in answer:
        assert all(answer[name] for name in TOLD)
        assert f"{answer['messages']:,}" in answer["sentence"]
    return {name: without_texts(value) for name, value in answer.items() if name not in TOLD}


def answers(project: Project, session: SparkSession, log: Log) -> tuple[Row, Row]:
    """What the engine says, and what the model says."""
    settings = project.settings()
    found = report_why(
        project.warehouse(session),
        settings.catalog,
        Filters(),
        teller_of(settings, log.as_of),
        as_of=log.as_of,
        limit=LIMIT,
        is_activation_computed=True,
    )
    moment = Moment(
        log.events,
        catalog=log.catalog,
        rules=log.rules,
        as_of=log.as_of,
        top=log.top,
        starvation=log.starvation,
        blocks=log.blocks,
        activation_settings=WINDOW,
    )
    return without_texts(found), why(moment, limit=LIMIT)


def differences(found: Any, expected: Any, place: str = "") -> list[str]:
    """Where two answers differ."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return [
            line
            for name in {**expected, **found}
            for line in differences(
                found.get(name, "missing"), expected.get(name, "missing"), f"{place}.{name}"
            )
        ]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return [
            line
            for number, (one, other) in enumerate(zip(found, expected, strict=True))
            for line in differences(one, other, f"{place}[{number}]")
        ]
    if isinstance(found, float) and isinstance(expected, float):
        return [] if found == pytest.approx(expected) else [f"{place}: {found} != {expected}"]
    if isinstance(found, list) and isinstance(expected, list):
        only = (
            [each for each in found if each not in expected],
            [each for each in expected if each not in found],
        )
        return [f"{place}: {only[0]} are not expected, {only[1]} are missing"]
    return [] if found == expected else [f"{place}: {found!r} is not {expected!r}"]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("number", "top", "starvation", "blocks"),
    [
        (1, None, None, None),
        (2, 2, STARVATION, None),
        (3, 1, None, BLOCKS),
        *[
            pytest.param(number, top, None, None, marks=pytest.mark.slow)
            for number, top in ((4, None), (5, 1), (6, 3))
        ],
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
        one_log(random_logs(20 if number < FIRST_LARGE else 50, number)),
        top=top,
        starvation=starvation,
        blocks=blocks,
    )
    project = project_of(tmp_path, log, activation=WINDOW)
    project.add(log.events)
    project.run(session, log.as_of)
    found, expected = answers(project, session, log)
    wrong = differences(found, expected)
    assert not wrong, "\n".join(wrong[:10])
