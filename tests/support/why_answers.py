"""Answers of the engine to `why`, and how they differ from those of the model."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.why.cause_bits import bits_of
from pipelines.why.causes import CODES
from pipelines.why.filters import Filters
from pipelines.why.report import report_why
from tests.support.factories import Row
from tests.support.harness import Project
from tests.support.model.snapshots import Snapshot
from tests.support.server import Place, Views, snapshots

TOLD = ("sentence", "action", "command")
CAVEATS = "caveats"
"""Texts, which the model leaves out."""
LIMIT = 1_000_000


def answer_of(project: Project, session: SparkSession, as_of: datetime) -> Row:
    """What the engine says of all open messages, without its texts; no row is cut."""
    found = report_why(project.warehouse(session), project.settings(), Filters(), as_of=as_of, limit=LIMIT)
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


def with_causes(rows: DataFrame) -> DataFrame:
    """Add `causes` to rows with `codes`, a text of codes with blanks between them."""
    bits = F.lit(0)
    for code in CODES:
        holds = F.array_contains(F.split("codes", " "), code)
        bits += F.when(holds, bits_of([code])).otherwise(0)
    return rows.withColumn("causes", bits.cast("bigint"))


def require_same_answer(found: Row, expected: Row) -> None:
    """Require that two answers are equal; floats nearly."""
    assert found.keys() == expected.keys()
    for name in found:
        assert _rounded(found[name]) == _rounded(expected[name]), name


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def declare_snapshots(folder: Path, given: Sequence[Snapshot]) -> list[Row]:
    """Write snapshots, one folder each, and say where they are, as the settings do."""
    by_moment: dict[datetime, dict[Place, Views]] = {}
    for each in given:
        by_moment.setdefault(each.taken_at, {})[each.instance, each.database] = each.views
    return [
        declared
        for taken_at, views in by_moment.items()
        for declared in snapshots(folder, views, taken_at, "parquet")
    ]
