"""Endpoints decided anew, on purpose, under the rules as they are now."""

from pyspark.sql import DataFrame, functions as F

from pipelines.ladder.ladder import with_level

GIVEN = ("priority", "rule_name", "ladder_step")
"""What the ladder gives an endpoint, once and for good."""

WAS = {name: f"was_{name}" for name in GIVEN}


def restated(endpoints: DataFrame, rules: DataFrame) -> DataFrame:
    """Decide endpoints anew.

    Args:
        endpoints: `endpoints` rows, any of them, with at least what decides a priority and the priority.
        rules: the rule history (`priority_rules`).

    Returns:
        The same rows with the `priority`, `rule_name` and `ladder_step` that the rules at their creation
        give them now, what they had before as `was_priority`, `was_rule_name` and `was_ladder_step`, and
        `changes`, whether any of the three is different.
    """
    resolved = with_level(endpoints.withColumnsRenamed(WAS), rules)
    changes = F.lit(False)
    for name, was in WAS.items():
        changes |= ~F.col(name).eqNullSafe(F.col(was))
    return resolved.withColumn("changes", changes)


def changes_by_kind(restated_endpoints: DataFrame) -> DataFrame:
    """Count what changes, from what to what.

    Args:
        restated_endpoints: `restated`.

    Returns:
        One row per instance, database and pair of (priority, rule_name, ladder_step) before and after:
        `endpoints`, how many. No order. Endpoints that stay as they are have no row.
    """
    keys = ["instance", "database", *WAS.values(), *GIVEN]
    return restated_endpoints.where("changes").groupBy(*keys).agg(F.count(F.lit(1)).alias("endpoints"))


def within_periods(endpoints: DataFrame, periods: DataFrame) -> DataFrame:
    """The endpoints that were created in one of the periods.

    Args:
        endpoints: `endpoints` rows.
        periods: a few rows (instance, database, since, until), half-open, until null if open; they may
            overlap.

    Returns:
        The rows of `endpoints` for which such a period of their own database exists, each once.
    """
    period = F.broadcast(periods).alias("period")
    created_at = F.col("endpoint.created_at")
    return endpoints.alias("endpoint").join(
        period,
        (F.col("endpoint.instance") == F.col("period.instance"))
        & (F.col("endpoint.database") == F.col("period.database"))
        & (created_at >= F.col("period.since"))
        & (F.col("period.until").isNull() | (created_at < F.col("period.until"))),
        "left_semi",
    )
