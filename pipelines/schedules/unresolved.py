"""Open messages that no schedule can place yet."""

from pyspark.sql import DataFrame, functions as F


def unresolved(messages: DataFrame) -> DataFrame:
    """The `unresolved` table without `as_of`.

    Args:
        messages: `placed_messages`.

    Returns:
        One row per message that is missing from a schedule; key (kind, id).
    """
    # The condition stands before the reason: the embedded engine may test a CHECK on rows that are left out.
    receive = messages.where("in_queue and (not receiver_exists or receiver_queue is null)").select(
        F.lit("receive").alias("kind"),
        F.col("message_id").alias("id"),
        F.when(F.col("receiver_exists"), "service_not_in_catalog")
        .when(F.col("unknown_handle").isNotNull(), "handle_unknown")
        .otherwise("endpoint_unknown")
        .alias("reason"),
    )
    transmission = messages.where("waits and not sender_exists").select(
        F.lit("transmission").alias("kind"),
        F.col("message_id").alias("id"),
        F.when(F.col("unknown_handle").isNotNull(), "handle_unknown")
        .otherwise("endpoint_unknown")
        .alias("reason"),
    )
    return receive.unionByName(transmission)
