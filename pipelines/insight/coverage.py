"""What each version of a rule decides: endpoints, conversations, messages."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.ladder.ladder import DEFAULT_PRIORITY

VERSION = ("instance", "database", "rule_name", "valid_from")
SUMS = ("endpoints", "conversations", "messages", "open_messages")
ENDPOINT = ["conversation_id", "is_initiator"]


def rule_coverage(
    endpoints: DataFrame,
    recent: DataFrame,
    messages: DataFrame,
    received: DataFrame,
    transmitted: DataFrame,
    rules: DataFrame,
    *,
    as_of: datetime,
) -> DataFrame:
    """Count what the rule versions have decided before as_of.

    An endpoint counts at the version of its rule that was valid when it was created; endpoints without a
    rule count at the default of their database, in a row without a rule. A rule that the history
    has no more, or had not yet, has a row without valid_from and level.

    Args:
        endpoints: the `endpoints` table; its few columns that matter here are read in full.
        recent: the `endpoints` rows that `messages` and the schedules may belong to.
        messages: the `messages` rows with an event on the UTC day before as_of's or later.
        received: `receive_schedule` of as_of.
        transmitted: `transmission_schedule` of as_of.
        rules: `priority_rules`.
        as_of: the instant.

    Returns:
        The columns of `rule_coverage` but as_of, one row per version that began before as_of, used or
        not, and one per database with rules or endpoints for its default.
    """
    instant = F.lit(as_of)
    known = rules.where(F.col("valid_from") < instant)
    used = (
        _with_version(endpoints.where(F.col("created_at") < instant), known)
        .groupBy(*VERSION)
        .agg(
            F.count(F.lit(1)).alias("endpoints"),
            F.count_distinct("conversation_id").alias("conversations"),
            F.min("created_at").alias("first_use"),
            F.max("created_at").alias("last_use"),
        )
    )
    traffic = (
        _with_version(recent.where(F.col("created_at") < instant), known)
        .join(_traffic(messages, received, transmitted, as_of=as_of), ENDPOINT)
        .groupBy(*VERSION)
        .agg(F.sum("messages").alias("messages"), F.sum("open_messages").alias("open_messages"))
    )
    versions = known.withColumnRenamed("name", "rule_name").select(*VERSION, "level")
    defaults = rules.select("instance", "database").distinct()
    parts = [versions, defaults, used, traffic]
    every = parts[0]
    for part in parts[1:]:
        every = every.unionByName(part, allowMissingColumns=True)
    level = F.when(F.col("rule_name").isNull(), F.lit(DEFAULT_PRIORITY)).otherwise(F.max("level"))
    return every.groupBy(*VERSION).agg(
        level.alias("level"),
        *[F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in SUMS],
        F.min("first_use").alias("first_use"),
        F.max("last_use").alias("last_use"),
    )


def _with_version(endpoints: DataFrame, rules: DataFrame) -> DataFrame:
    """The key of each endpoint, created_at, and the version that gave its level; rules are few."""
    valid = F.broadcast(rules).alias("rule")
    same_rule = (
        (F.col("endpoint.instance") == F.col("rule.instance"))
        & (F.col("endpoint.database") == F.col("rule.database"))
        & (F.col("endpoint.rule_name") == F.col("rule.name"))
        & (F.col("endpoint.created_at") >= F.col("rule.valid_from"))
        & (F.col("rule.valid_to").isNull() | (F.col("endpoint.created_at") < F.col("rule.valid_to")))
    )
    columns = ["instance", "database", "rule_name", *ENDPOINT, "created_at"]
    return (
        endpoints.alias("endpoint")
        .join(valid, same_rule, "left")
        .select(*[f"endpoint.{name}" for name in columns], "rule.valid_from")
    )


def _traffic(
    messages: DataFrame, received: DataFrame, transmitted: DataFrame, *, as_of: datetime
) -> DataFrame:
    """Messages by the endpoint whose level counts for them: the receiver's, but for sending the sender's."""
    begun = F.least("sent_at", "arrival.arrived_at") < F.lit(as_of)
    to_receiver = (~F.col("first_event.sent_by_initiator")).alias("is_initiator")
    parts = [
        messages.where(begun).select(
            "first_event.conversation_id",
            to_receiver,
            F.lit(1).alias("messages"),
            F.lit(0).alias("open_messages"),
        ),
        received.select(*ENDPOINT, F.lit(0).alias("messages"), F.lit(1).alias("open_messages")),
        transmitted.where("not forwarded").select(
            "conversation_id",
            F.col("sent_by_initiator").alias("is_initiator"),
            F.lit(0).alias("messages"),
            F.lit(1).alias("open_messages"),
        ),
    ]
    counted = parts[0].unionByName(parts[1]).unionByName(parts[2])
    return counted.groupBy(*ENDPOINT).agg(
        F.sum("messages").alias("messages"), F.sum("open_messages").alias("open_messages")
    )
