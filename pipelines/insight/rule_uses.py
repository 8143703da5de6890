"""How many endpoints and conversations have their level from each version of a rule, day by closed day."""

from pyspark.sql import DataFrame, functions as F

from pipelines.insight.rule_versions import VERSION, with_version


def rule_uses(endpoints: DataFrame, rules: DataFrame) -> DataFrame:
    """Count the endpoints of each day that have their level from each version.

    Args:
        endpoints: `endpoints` rows, always both of a conversation.
        rules: the rule history (`priority_rules`).

    Returns:
        One row per closed_on (null: open) and version with endpoints; key (closed_on, instance,
        database, rule_name, valid_from), where a null rule_name is the default. As both endpoints of a
        conversation are closed on the same day, `conversations` of several days add up.
    """
    versions = with_version(endpoints, rules, "closed_on", "conversation_id")
    return versions.groupBy("closed_on", *VERSION).agg(
        F.count(F.lit(1)).alias("endpoints"),
        F.count_distinct("conversation_id").alias("conversations"),
        F.min("created_at").alias("first_use"),
        F.max("created_at").alias("last_use"),
    )
