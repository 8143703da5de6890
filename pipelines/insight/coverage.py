"""What each version of a rule decides: endpoints, conversations, messages."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.insight.rule_versions import VERSION, with_version
from pipelines.ladder.ladder import DEFAULT_PRIORITY

SUMS = ("endpoints", "conversations", "messages", "open_messages")
ENDPOINT = ["conversation_id", "is_initiator"]


def rule_coverage(
    uses: DataFrame,
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
        uses: `rule_uses` of the endpoints created before as_of; any number of rows per version.
        recent: the `endpoints` rows created before as_of that `messages` and the schedules may belong to.
        messages: the `messages` rows with an event on the UTC day before as_of's or later.
        received: `receive_schedule` of as_of.
        transmitted: `transmission_schedule` of as_of.
        rules: `priority_rules`.
        as_of: the instant.

    Returns:
        The columns of `rule_coverage` but as_of, one row per version that began before as_of, used or
        not, and one per database with rules or endpoints for its default.
    """
    known = rules.where(F.col("valid_from") < F.lit(as_of))
    traffic = (
        with_version(recent, known, *ENDPOINT)
        .join(_traffic(messages, received, transmitted, as_of=as_of), ENDPOINT)
        .groupBy(*VERSION)
        .agg(F.sum("messages").alias("messages"), F.sum("open_messages").alias("open_messages"))
    )
    versions = known.withColumnRenamed("name", "rule_name").select(*VERSION, "level")
    defaults = rules.select("instance", "database").distinct()
    parts = [versions, defaults, uses.drop("closed_on"), traffic]
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
