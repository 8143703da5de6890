"""The conversation and message of a snapshot's row, as far as other rows identify them.

A snapshot knows the endpoint of a message by its handle. Events may know the same message by another id. The
id of a row follows from all rows that are known, so each batch finds it again.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.state.messages import UNKNOWN
from schemas.events import CREATIONS

HANDLE = ("instance", "database", "conversation_handle", "conversation_id", "is_initiator")
"""The columns that say which endpoint has a handle."""
MESSAGE = ["conversation_id", "sent_by_initiator", "place"]
"""The columns that identify a message: `place` is its number, or its type and queuing_order."""


@dataclass(frozen=True)
class Rows:
    """Rows of `message_events` and of `endpoint_events`."""

    messages: DataFrame
    conversations: DataFrame


def name_messages(seen: Rows, logged: Rows, materialize: Materialize) -> DataFrame:
    """Give the messages of snapshots the ids that events know.

    Args:
        seen: rows from snapshots.
        logged: events, and endpoint events of other snapshots: rows that can know ids and handles.
        materialize: computes a frame once.

    Returns:
        The messages of `seen`. One that an event knows has the event's id, but the time that the snapshot
        shows: of all that is known of a message, the first counts. A message whose handle no endpoint has
        stays in a conversation `HANDLE/unknown`.
    """
    handles = [frame.select(*HANDLE) for frame in (seen.conversations, logged.conversations)]
    found = with_handles(seen.messages, handles[0].unionByName(handles[1]))
    named = materialize(found.withColumns({"place": place_in_conversation(), "own_id": own_id()}))
    ids = (
        logged.messages.withColumn("place", place_in_conversation())
        .join(named.select(*MESSAGE).distinct(), MESSAGE, "left_semi")
        .groupBy(*MESSAGE)
        .agg(F.min("message_id").alias("known_id"))
    )
    with_ids = named.join(ids, MESSAGE, "left")
    return with_ids.withColumn("message_id", F.coalesce("known_id", "own_id")).select(*seen.messages.columns)


def name_messages_by_views(seen: Rows, materialize: Materialize, *, are_of_one_moment: bool) -> DataFrame:
    """`name_messages` for first snapshots, materialized: no other rows know ids or handles.

    Args:
        seen: rows from snapshots.
        materialize: computes a frame once.
        are_of_one_moment: whether all snapshots were taken at once. Of one moment no two endpoints of an
            instance have the same handle, unless two databases show it. Then one join is enough, and its rows
            are as many as the messages.
    """

    def with_ids(messages: DataFrame) -> DataFrame:
        return materialize(messages.withColumn("message_id", own_id()))

    messages = seen.messages
    endpoints = seen.conversations.where(F.col("event_type").isin(*CREATIONS)).select(*HANDLE)
    if not are_of_one_moment:
        return with_ids(with_handles(messages, endpoints))
    joined = endpoints_by_handle(endpoints).join(messages, ["instance", "conversation_handle"], "right")
    found = with_ids(_in_conversations(joined, messages.columns))
    return found if found.count() == messages.count() else with_ids(with_handles(messages, endpoints))


def with_handles(messages: DataFrame, conversations: DataFrame) -> DataFrame:
    """Find the conversations of messages in snapshots.

    Args:
        messages: rows of `message_events` that snapshots show.
        conversations: `HANDLE` of the endpoints that may have them.

    Returns:
        The same rows. An endpoint of the view's own database that has the handle goes before one of its
        instance; without any the conversation stays what it was.
    """
    key = ["instance", "database", "conversation_handle"]
    is_here = F.col("lives_in") == F.col("database")
    found = (
        messages.select(*key)
        .distinct()
        .join(endpoints_by_handle(conversations), ["instance", "conversation_handle"], "inner")
        .groupBy(*key)
        .agg(
            F.coalesce(F.min(F.when(is_here, F.col("endpoint"))), F.min("endpoint")).alias("endpoint"),
        )
    )
    # The narrow side stands on the left, which is held in memory.
    return _in_conversations(found.join(messages, key, "right"), messages.columns)


def endpoints_by_handle(conversations: DataFrame) -> DataFrame:
    """The endpoints by handle, each as one text: a minimum of that costs much less than `min_by`."""
    return conversations.where("conversation_handle is not null").select(
        "instance",
        F.col("database").alias("lives_in"),
        "conversation_handle",
        F.concat("conversation_id", F.col("is_initiator").cast("string")).alias("endpoint"),
    )


def _in_conversations(asking: DataFrame, names: list[str]) -> DataFrame:
    """Messages in the conversation of their `endpoint`, if they have one."""
    side, conversation = of_endpoint("endpoint")
    is_sender = F.col("event_type") == "SENT"
    # Of a coalesce the embedded engine plans a column that is never null, and makes one that may be.
    found = {"conversation_id": conversation, "sent_by_initiator": side == is_sender}
    is_found = F.col("endpoint").isNotNull()
    return asking.withColumns(
        {name: F.when(is_found, value).otherwise(F.col(name)) for name, value in found.items()}
    ).select(*names)


def place_in_conversation() -> Column:
    """The place of a message in its conversation and direction, as the end of its id."""
    type = F.col("message_type")
    is_timer = type.endswith("/ServiceBroker/DialogTimer").eqNullSafe(True)
    is_numbered = F.col("message_sequence_number").isNotNull() & ~is_timer
    order = F.coalesce(F.col("queuing_order").cast("string"), F.lit(""))
    return F.when(is_numbered, F.col("message_sequence_number").cast("string")).otherwise(
        F.concat(type, F.lit("/"), order)
    )


def own_id(conversation: Column | None = None) -> Column:
    """The id of a message that no event has; `conversation` is its conversation in the spelling of tables."""
    conversation = F.col("conversation_id") if conversation is None else conversation
    side = F.when(F.col("sent_by_initiator"), "/initiator/").otherwise("/target/")
    is_known = ~conversation.endswith(UNKNOWN)
    return F.concat(conversation, F.when(is_known, side).otherwise("/"), place_in_conversation())


def of_endpoint(name: str) -> tuple[Column, Column]:
    """`is_initiator` and `conversation_id` of an endpoint's text; null if it is null."""
    side = F.col(name).endswith("true")
    ending = F.when(side, F.lit(len("true"))).otherwise(F.lit(len("false")))
    return side, F.substring(F.col(name), F.lit(1), F.length(name) - ending)
