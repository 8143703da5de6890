"""Open messages with their endpoints at as_of, and the messages that are in no schedule."""

from pyspark.sql import Column, DataFrame, functions as F

from schemas.keys import QUEUE

RECEIVER = (
    "instance",
    "database",
    "queue",
    "contract",
    "local_service",
    "remote_service",
    "conversation_handle",
    "conversation_group_id",
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


def with_receiver(messages: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Add the receiving endpoint of open messages.

    Args:
        messages: rows of `state.open_messages`; key message_id.
        endpoints: `state.endpoints_at` of `needed_endpoints`; key (conversation_id, is_initiator).

    Returns:
        The same rows with `receiver_exists`, and `receiver_...`, which describe the endpoint: null where it
        does not exist at as_of.
    """
    receivers = endpoints.where("exists").select(
        "conversation_id",
        (~F.col("is_initiator")).alias("sent_by_initiator"),
        *[F.col(name).alias(f"receiver_{name}") for name in RECEIVER],
        F.lit(True).alias("receiver_exists"),
    )
    known = messages.join(receivers, ["conversation_id", "sent_by_initiator"], "left")
    return known.withColumn("receiver_exists", F.coalesce("receiver_exists", F.lit(False)))


def with_sender(messages: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Add the sending endpoint of messages on their way.

    Args:
        messages: the rows of `state.open_messages` that are `ON_THEIR_WAY`; key message_id.
        endpoints: `state.endpoints_at` of `needed_endpoints`; key (conversation_id, is_initiator).

    Returns:
        The same rows with `sender_exists`, `sender_...`, null where the endpoint does not exist at as_of, and
        `home_instance`, the sender's instance, even if its endpoint is created after as_of; null if unknown.
    """
    senders = endpoints.select(
        "conversation_id",
        F.col("is_initiator").alias("sent_by_initiator"),
        *[F.when(F.col("exists"), F.col(name)).alias(f"sender_{name}") for name in SENDER],
        F.col("exists").alias("sender_exists"),
        F.col("instance").alias("home_instance"),
    )
    known = messages.join(senders, ["conversation_id", "sent_by_initiator"], "left")
    return known.withColumn("sender_exists", F.coalesce("sender_exists", F.lit(False)))


def place_to_receive() -> dict[str, Column]:
    """Instance, database and queue of `ready.received_messages`: of one that is not placed, the view's.

    Without a view, its endpoint's, and no queue.
    """
    is_shown = F.col("queue").isNull() & F.col("shown_queue").isNotNull()
    return {name: F.when(is_shown, F.col(f"shown_{name}")).otherwise(F.col(name)) for name in QUEUE}


def unresolved(received: DataFrame, on_their_way: DataFrame) -> DataFrame:
    """The `unresolved` table without `as_of`.

    Args:
        received: `ready.received_messages`.
        on_their_way: the messages `ON_THEIR_WAY`, `with_sender`.

    Returns:
        One row per message that is missing from a schedule; key (kind, id).
    """
    # The first condition decides the reason: an engine can test a CHECK on rows that are left out later.
    receive = received.where("queue is null").select(
        F.lit("receive").alias("kind"),
        F.col("message_id").alias("id"),
        F.when(F.col("receiver_exists"), "service_not_in_catalog")
        .when(F.col("unknown_handle").isNotNull(), "handle_unknown")
        .otherwise("endpoint_unknown")
        .alias("reason"),
        *[place.alias(name) for name, place in place_to_receive().items()],
    )
    transmission = on_their_way.where("waits and not sender_exists").select(
        F.lit("transmission").alias("kind"),
        F.col("message_id").alias("id"),
        F.when(F.col("unknown_handle").isNotNull(), "handle_unknown")
        .otherwise("endpoint_unknown")
        .alias("reason"),
        *[F.col(f"shown_{name}").alias(name) for name in QUEUE],
    )
    return receive.unionByName(transmission)
