"""The answers that a what-if begins with: at the deployment, and once existing conversations have ended."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.engine.differences import run_concurrently
from pipelines.engine.small_frame import small_frame
from pipelines.storage.collect import collect_rows
from pipelines.whatif.request import WhatIfRequest
from schemas.whatif import WHATIF_ANSWERS

DEPLOYMENT, ALWAYS, INSTANT = "deployment", "always", "instant"
"""The answers; the third is there if --as-if names an instant."""
CAUSES = ("proposal", "drift")
MESSAGES = ("messages", "gained", "lost")

Counts = Mapping[str, Mapping[str, int]]
"""`endpoints` with another level, by cause, and `messages` (with a position), `gained` and `lost` of them."""


def moved_by(asked: WhatIfRequest, kinds: DataFrame) -> tuple[DataFrame, DataFrame]:
    """The table `whatif_groups`, and all messages: `received_moved` and `sent_moved`, kept.

    Args:
        asked: the what-if.
        kinds: `WhatIfRequest.kinds` of it.
    """
    levels = asked.levels(kinds)
    (received, groups), sent = run_concurrently(
        asked.warehouse.spark, lambda: asked.received(levels), lambda: asked.sent(levels)
    )
    return groups, asked.materialize(received.unionByName(sent))


def counts(kinds: DataFrame, moved: DataFrame) -> Counts:
    """Count what changes.

    Args:
        kinds: `WhatIfRequest.kinds`.
        moved: `moved_by`.
    """
    by_cause = kinds.groupBy("cause").agg(F.sum("endpoints").alias("endpoints"))
    found = {row["cause"]: row["endpoints"] for row in collect_rows(by_cause)}
    [messages] = collect_rows(
        moved.where("moved is not null").agg(
            F.count(F.lit(1)).alias("messages"),
            F.count_if(F.col("moved") > 0).alias("gained"),
            F.count_if(F.col("moved") < 0).alias("lost"),
        )
    )
    return {"endpoints": {cause: found.get(cause, 0) for cause in CAUSES}, "messages": messages}


def answers(asked: WhatIfRequest, found: Counts) -> dict[str, Counts]:
    """The answers by name, the two that every what-if begins with first.

    Args:
        asked: the what-if.
        found: `counts` of it.

    At the deployment existing endpoints keep their levels, so only other settings can move anything. What was
    counted already is not counted again.
    """
    made: dict[str, Counts] = {DEPLOYMENT: _at_deployment(asked, found)}
    if asked.as_if is None:
        return made | {ALWAYS: found}
    return made | {ALWAYS: _count(replace(asked, as_if=None)), INSTANT: found}


def answers_frame(spark: SparkSession, made: Mapping[str, Counts], as_if: datetime | None) -> DataFrame:
    """The table `whatif_answers`, of `answers` and the instant of the third of them."""
    rows = [
        (
            name,
            as_if if name == INSTANT else None,
            *[found["endpoints"][cause] for cause in CAUSES],
            *[found["messages"][name] for name in MESSAGES],
        )
        for name, found in made.items()
    ]
    return small_frame(spark, rows, WHATIF_ANSWERS.struct)


def read_answers(table: DataFrame) -> tuple[dict[str, Counts], datetime | None]:
    """What `answers_frame` was made of."""
    rows = {row["answer"]: row for row in collect_rows(table)}
    found: dict[str, Counts] = {
        name: {
            "endpoints": {cause: row[cause] for cause in CAUSES},
            "messages": {column: row[column] for column in MESSAGES},
        }
        for name, row in rows.items()
    }
    return found, rows[INSTANT]["as_if"] if INSTANT in rows else None


def _at_deployment(asked: WhatIfRequest, found: Counts) -> Counts:
    if asked.as_if is not None and asked.as_if >= asked.as_of:
        return found
    if asked.settings_move():
        return _count(replace(asked, as_if=asked.as_of))
    nothing: dict[str, Any] = {"gained": 0, "lost": 0}
    return {"endpoints": dict.fromkeys(CAUSES, 0), "messages": {**found["messages"], **nothing}}


def _count(asked: WhatIfRequest) -> Counts:
    kinds = asked.kinds()
    _, moved = moved_by(asked, kinds)
    return counts(kinds, moved)
