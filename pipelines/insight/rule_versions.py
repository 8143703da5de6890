"""Which version of its rule gave an endpoint its level, and what the history of rules was by a day."""

from pyspark.sql import DataFrame, functions as F

VERSION = ("instance", "database", "rule_name", "valid_from")


def with_version(endpoints: DataFrame, rules: DataFrame, *further: str) -> DataFrame:
    """Find the version of each endpoint's rule that was valid when the endpoint was created.

    Args:
        endpoints: any frame with instance, database, rule_name and created_at; any grain.
        rules: the rule history (`priority_rules`); few.
        further: more columns of the endpoints to keep.

    Returns:
        VERSION, created_at and the further columns, a row per row; `valid_from` is null where the level is
        the default, and where the history has no version of the rule for that moment.
    """
    valid = F.broadcast(rules).alias("rule")
    same_rule = (
        (F.col("endpoint.instance") == F.col("rule.instance"))
        & (F.col("endpoint.database") == F.col("rule.database"))
        & (F.col("endpoint.rule_name") == F.col("rule.name"))
        & (F.col("endpoint.created_at") >= F.col("rule.valid_from"))
        & (F.col("rule.valid_to").isNull() | (F.col("endpoint.created_at") < F.col("rule.valid_to")))
    )
    columns = ["instance", "database", "rule_name", "created_at", *further]
    return (
        endpoints.alias("endpoint")
        .join(valid, same_rule, "left")
        .select(*[f"endpoint.{name}" for name in columns], "rule.valid_from")
    )


def changes_by_day(rules: DataFrame) -> DataFrame:
    """Sum up on which days versions begin and end, as a number that differs if anything of it does.

    Args:
        rules: the rule history (`priority_rules`).

    Returns:
        `day` (UTC, the key) and `changes`, a row per day on which a version begins or ends. What
        `with_version` finds for an endpoint depends on the days up to that of its creation only.
    """
    begins = rules.select(
        "instance", "database", "name", F.lit("begins").alias("what"), F.col("valid_from").alias("at")
    )
    ends = rules.select(
        "instance", "database", "name", F.lit("ends").alias("what"), F.col("valid_to").alias("at")
    )
    changes = begins.unionByName(ends.where("at is not null"))
    return changes.groupBy(F.to_date("at").alias("day")).agg(
        F.bit_xor(F.xxhash64(*changes.columns)).alias("changes")
    )
