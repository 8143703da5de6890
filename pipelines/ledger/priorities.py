"""Endpoints with their priority, given at creation and kept for good."""

from pyspark.sql import DataFrame, functions as F

from pipelines.ladder.ladder import with_priority
from pipelines.ledger.endpoints import RESOLVED_FROM

GIVEN = ("priority", "rule_name", "ladder_step")


def keep_or_resolve(endpoints: DataFrame, rules: DataFrame) -> DataFrame:
    """Give known endpoints their priority.

    Args:
        endpoints: `fold_endpoints` where `created_at` is known; key (conversation_id, is_initiator).
        rules: the rule history (`priority_rules`).

    Returns:
        The same rows with `priority`, `rule_name` and `ladder_step`, without `resolution`. A stored
        priority stays while what it was resolved from is the same, whatever became of the rules
        (the design, "Endpoint priority").
    """
    same = F.col("resolution").isNotNull()
    for name in RESOLVED_FROM:
        same &= F.col(name).eqNullSafe(F.col(f"resolution.{name}"))
    resolved = with_priority(endpoints, rules)
    return resolved.withColumns(
        {name: F.when(same, F.col(f"resolution.{name}")).otherwise(F.col(name)) for name in GIVEN}
    ).drop("resolution")
