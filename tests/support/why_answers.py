"""Answers to `why` without their texts, and rows with causes."""

from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.why.cause_bits import bits_of
from pipelines.why.causes import CODES
from pipelines.why.filters import Filters
from pipelines.why.report import report_why
from tests.support.factories import Row
from tests.support.harness import Project

TOLD = ("sentence", "action", "command")
CAVEATS = "caveats"
"""Texts."""
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
