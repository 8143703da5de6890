"""Answers of the engine to `why`, and how they differ from those of the model."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.why.filters import Filters
from pipelines.why.report import report_why
from tests.support.factories import Row
from tests.support.harness import Project
from tests.support.model.snapshots import Snapshot
from tests.support.server import write_views

TOLD = ("sentence", "action", "command")
CAVEATS = "caveats"
"""Texts, which the model leaves out."""
LIMIT = 1_000_000


def answer_of(project: Project, session: SparkSession, as_of: datetime) -> Row:
    """What the engine says of all open messages, without its texts; no row is cut."""
    settings = project.settings()
    found = report_why(
        project.warehouse(session),
        settings,
        Filters(),
        as_of=as_of,
        limit=LIMIT,
    )
    answer: Row = without_texts(found)
    return answer


def without_texts(answer: Any) -> Any:
    """An answer without its texts; that each finding and cause has some is tested on the way."""
    if isinstance(answer, list):
        return [without_texts(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    if "code" in answer:
        assert all(answer[name] for name in TOLD)
        assert f"{answer['messages']:,}" in answer["sentence"]
    return {name: without_texts(value) for name, value in answer.items() if name not in (*TOLD, CAVEATS)}


def require_same_answer(found: Row, expected: Row) -> None:
    """Require that two answers are equal; floats nearly."""
    wrong = _differences(found, expected)
    assert not wrong, "\n".join(wrong[:10])


def _differences(found: Any, expected: Any, place: str = "") -> list[str]:
    """Where two answers differ."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return [
            line
            for name in {**expected, **found}
            for line in _differences(
                found.get(name, "missing"), expected.get(name, "missing"), f"{place}.{name}"
            )
        ]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        return [
            line
            for number, (one, other) in enumerate(zip(found, expected, strict=True))
            for line in _differences(one, other, f"{place}[{number}]")
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


def declare_snapshots(folder: Path, snapshots: Sequence[Snapshot]) -> list[Row]:
    """Write snapshots, one folder each, and say where they are, as the settings do."""
    declared = []
    for number, snapshot in enumerate(snapshots):
        path = f"snapshots/{number:03d}"
        write_views(folder / path, snapshot.views, "parquet")
        declared.append(
            {
                "path": path,
                "instance": snapshot.instance,
                "database": snapshot.database,
                "taken_at": snapshot.taken_at.isoformat(),
                "format": "parquet",
            }
        )
    return declared
