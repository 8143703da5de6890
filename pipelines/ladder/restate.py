"""Resolve priorities of endpoints again, under the current rules."""

from pyspark.sql import DataFrame, functions as F

from pipelines.ladder.ladder import levels_of_kinds, with_level
from schemas.keys import ENDPOINT_NAMES

DECIDED = ("priority", "rule_name", "ladder_step")
"""The columns that the ladder decides at the creation of an endpoint."""

WAS = {name: f"was_{name}" for name in DECIDED}


def restated(endpoints: DataFrame, rules: DataFrame) -> DataFrame:
    """Resolve the priorities of endpoints again.

    Args:
        endpoints: `endpoints` rows, with at least the columns that decide a priority, and the priority.
        rules: the rule history (`priority_rules`).

    Returns:
        The same rows with the `priority`, `rule_name` and `ladder_step` of the current rules at their
        creation, the previous values as `was_priority`, `was_rule_name` and `was_ladder_step`, and `changes`,
        whether any of the three differs and the ladder decides it: it does not decide the server's levels.
    """
    levels = levels_of_kinds(endpoints.select(*ENDPOINT_NAMES).distinct(), rules)
    resolved = with_level(endpoints.withColumnsRenamed(WAS), levels)
    changes, by_ladder = F.lit(False), F.coalesce(F.col("level_source") == "ladder", F.lit(True))
    for name, was in WAS.items():
        changes |= ~F.col(name).eqNullSafe(F.col(was))
    return resolved.withColumn("changes", changes & by_ladder)


def changes_by_kind(restated_endpoints: DataFrame) -> DataFrame:
    """Count the changes by previous and new values.

    Args:
        restated_endpoints: `restated`.

    Returns:
        One row per instance, database and pair of (priority, rule_name, ladder_step) before and after:
        `endpoints`, how many. Unchanged endpoints have no row.
    """
    keys = ["instance", "database", *WAS.values(), *DECIDED]
    return restated_endpoints.where("changes").groupBy(*keys).agg(F.count(F.lit(1)).alias("endpoints"))


def within_periods(endpoints: DataFrame, periods: DataFrame) -> DataFrame:
    """Select the endpoints that were created in one of the periods.

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
