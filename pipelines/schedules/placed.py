"""Open messages between their two endpoints, as these are at as_of."""

from pyspark.sql import DataFrame, functions as F

RECEIVER = (
    "instance",
    "database",
    "queue",
    "local_service",
    "remote_service",
    "conversation_handle",
    "priority",
)
SENDER = ("instance", "database", "local_service", "remote_service", "priority")


def placed_messages(messages: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Say of each open message who receives it and who sent it.

    Args:
        messages: `state.open_messages`; key message_id.
        endpoints: `state.endpoints_at`; key (conversation_id, is_initiator).

    Returns:
        The same rows with `receiver_exists`, `sender_exists`, and `receiver_...` and `sender_...` for what
        the endpoint is: null where it does not exist at as_of. `home_instance` is the sender's, whenever its
        endpoint was created; null where none is known.
    """
    by_initiator = F.col("is_initiator")
    receivers = endpoints.where("exists").select(
        "conversation_id",
        (~by_initiator).alias("sent_by_initiator"),
        *[F.col(name).alias(f"receiver_{name}") for name in RECEIVER],
        F.col("conversation_group_id").alias("receiver_group_id"),
        F.lit(True).alias("receiver_exists"),
    )
    senders = endpoints.select(
        "conversation_id",
        by_initiator.alias("sent_by_initiator"),
        *[F.when(F.col("exists"), F.col(name)).alias(f"sender_{name}") for name in SENDER],
        F.col("exists").alias("sender_exists"),
        F.col("instance").alias("home_instance"),
    )
    side = ["conversation_id", "sent_by_initiator"]
    return (
        messages.join(receivers, side, "left")
        .join(senders, side, "left")
        .withColumns({name: F.coalesce(name, F.lit(False)) for name in ("receiver_exists", "sender_exists")})
    )
