"""The answers that a what-if begins with: at the deployment, and after existing conversations have ended."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import small_frame
from pipelines.storage.collect import collect_rows
from pipelines.whatif.request import RECORDED, WhatIfRequest
from schemas.whatif import WHATIF_ANSWERS

DEPLOYMENT, ALWAYS, INSTANT = "deployment", "always", "instant"
"""The answers; the third exists if --as-if names an instant."""
CAUSES = ("proposal", "drift")
MESSAGES = ("messages", "gained", "lost")

Counts = Mapping[str, Mapping[str, int]]
"""`endpoints` with another level, by cause, and `messages` (with a position), `gained` and `lost` of them."""


def compare_orders(request: WhatIfRequest, kinds: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Compare both orders: the table `whatif_groups`, and all messages (`received_moves`, `sent_moves`).

    Args:
        request: the request.
        kinds: `WhatIfRequest.kinds` of it.
    """
    levels = request.levels(kinds)
    (received, groups), sent = run_concurrently(
        request.warehouse.spark,
        lambda: request.compare_received(levels),
        lambda: request.compare_sent(levels),
    )
    return groups, request.materialize(received.unionByName(sent))


def counts(kinds: DataFrame, moves: DataFrame, drift: int | None = None) -> Counts:
    """Count what changes.

    Args:
        kinds: `WhatIfRequest.kinds`.
        moves: the messages of `compare_orders`.
        drift: `WhatIfRequest.drift`; None if the kinds have it.
    """
    by_cause = kinds.groupBy("cause").agg(F.sum("endpoints").alias("endpoints"))
    endpoints = {row["cause"]: row["endpoints"] for row in collect_rows(by_cause)}
    if drift is not None:
        endpoints["drift"] = drift
    [messages] = collect_rows(
        moves.where("moved is not null").agg(
            F.count(F.lit(1)).alias("messages"),
            F.count_if(F.col("moved") > 0).alias("gained"),
            F.count_if(F.col("moved") < 0).alias("lost"),
        )
    )
    return {"endpoints": {cause: endpoints.get(cause, 0) for cause in CAUSES}, "messages": messages}


def answers(request: WhatIfRequest, counted: Counts) -> dict[str, Counts]:
    """The answers by name, the two that every what-if begins with first.

    Args:
        request: the request.
        counted: `counts` of it.

    At the deployment existing endpoints keep their levels, so only other settings can move messages.
    """
    found: dict[str, Counts] = {DEPLOYMENT: _at_deployment(request, counted)}
    if request.as_if is None:
        return found | {ALWAYS: counted}
    return found | {ALWAYS: _count(replace(request, as_if=None)), INSTANT: counted}


def answers_frame(
    spark: SparkSession, counts_by_answer: Mapping[str, Counts], as_if: datetime | None
) -> DataFrame:
    """The table `whatif_answers`, from `answers` and the instant of the third answer."""
    rows = [
        (
            name,
            as_if if name == INSTANT else None,
            *[found["endpoints"][cause] for cause in CAUSES],
            *[found["messages"][name] for name in MESSAGES],
        )
        for name, found in counts_by_answer.items()
    ]
    return small_frame(spark, rows, WHATIF_ANSWERS.struct)


def read_answers(table: DataFrame) -> tuple[dict[str, Counts], datetime | None]:
    """Read the arguments of `answers_frame` from its table."""
    rows = {row["answer"]: row for row in collect_rows(table)}
    found: dict[str, Counts] = {
        name: {
            "endpoints": {cause: row[cause] for cause in CAUSES},
            "messages": {column: row[column] for column in MESSAGES},
        }
        for name, row in rows.items()
    }
    return found, rows[INSTANT]["as_if"] if INSTANT in rows else None


def _at_deployment(request: WhatIfRequest, counted: Counts) -> Counts:
    if request.as_if is not None and request.as_if >= request.as_of:
        return counted
    if request.settings_move():
        return _count(replace(request, as_if=request.as_of, baseline=RECORDED))
    nothing: dict[str, Any] = {"gained": 0, "lost": 0}
    return {"endpoints": dict.fromkeys(CAUSES, 0), "messages": {**counted["messages"], **nothing}}


def _count(request: WhatIfRequest) -> Counts:
    kinds = request.kinds()
    _, moves = compare_orders(request, kinds)
    return counts(kinds, moves, request.drift(kinds))
