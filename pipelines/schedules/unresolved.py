"""Open messages that no schedule can place yet."""

from pyspark.sql import DataFrame, functions as F


def unresolved(messages: DataFrame) -> DataFrame:
    """The `unresolved` table without `as_of`.

    Args:
        messages: `messages_at`.

    Returns:
        One row per message that is missing from a schedule; key (kind, id).
    """
    unknown = {side: ~F.coalesce(F.col(f"{side}.exists"), F.lit(False)) for side in ("sender", "receiver")}
    reason = F.when(unknown["receiver"], "endpoint_unknown").when(
        F.col("receiver.queue").isNull(), "service_not_in_catalog"
    )
    receive = messages.where("in_queue").select(
        F.lit("receive").alias("kind"), F.col("message_id").alias("id"), reason.alias("reason")
    )
    transmission = messages.where(F.col("waits") & unknown["sender"]).select(
        F.lit("transmission").alias("kind"),
        F.col("message_id").alias("id"),
        F.lit("endpoint_unknown").alias("reason"),
    )
    return receive.where("reason is not null").unionByName(transmission)
