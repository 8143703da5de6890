"""Open messages with their two endpoints at as_of, and the messages that are in no schedule."""

from pyspark.sql import DataFrame, functions as F

RECEIVER = (
    "instance",
    "database",
    "queue",
    "contract",
    "local_service",
    "remote_service",
    "conversation_handle",
    "priority",
)
SENDER = ("instance", "database", "contract", "local_service", "remote_service", "priority")
ON_THEIR_WAY = "waits or is_forwarded"
"""The messages to which their sender's endpoint still matters."""


def needed_endpoints(messages: DataFrame) -> DataFrame:
    """The endpoints that matter to open messages: (conversation_id, is_initiator), unique.

    Args:
        messages: `state.open_messages`, materialized.

    The sender does not matter to a message in a queue.
    """
    by_initiator = F.col("sent_by_initiator")
    receivers = messages.select("conversation_id", (~by_initiator).alias("is_initiator"))
    senders = messages.where(ON_THEIR_WAY).select("conversation_id", by_initiator.alias("is_initiator"))
    return receivers.unionByName(senders).distinct()


def messages_with_endpoints(messages: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Add the receiving and the sending endpoint of each open message.

    Args:
        messages: `state.open_messages`, materialized; key message_id.
        endpoints: `state.endpoints_at` of `needed_endpoints`; key (conversation_id, is_initiator).

    Returns:
        The same rows with `receiver_exists`, `sender_exists`, and `receiver_...` and `sender_...`, which
        describe the endpoints: null where an endpoint does not exist at as_of. `home_instance` is the
        sender's instance, even if its endpoint is created after as_of; null if unknown. Columns of the sender
        are for messages on their way; they can be null for others.
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
    on_their_way = messages.where(ON_THEIR_WAY).select(*side).distinct()
    return (
        messages.join(receivers, side, "left")
        .join(senders.join(on_their_way, side, "left_semi"), side, "left")
        .withColumns({name: F.coalesce(name, F.lit(False)) for name in ("receiver_exists", "sender_exists")})
    )


def unresolved(messages: DataFrame) -> DataFrame:
    """The `unresolved` table without `as_of`.

    Args:
        messages: `messages_with_endpoints`.

    Returns:
        One row per message that is missing from a schedule; key (kind, id).
    """
    # The first condition decides the reason: an engine can test a CHECK on rows that are left out later.
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
