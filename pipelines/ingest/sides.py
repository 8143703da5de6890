"""The two endpoints of conversations: creations, ends and first arrivals, in one pass over the events."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.state.messages import ARRIVALS
from schemas.events import CREATIONS, ENDS

ARRIVED, CREATED, ENDED, OTHER = 0, 1, 3, 5
"""The code of a row for the initiator; the target's code is one more."""


def conversation_sides(endpoint_events: DataFrame, message_events: DataFrame, known: DataFrame) -> DataFrame:
    """The creations, ends and first arrivals of the two endpoints of each conversation, whatever the moment.

    Args:
        endpoint_events: the endpoint events of the working set.
        message_events: message events that may be the first arrival of their conversation.
        known: `endpoints` rows, which hold the first arrivals of earlier batches.

    Returns:
        One row per conversation_id with an endpoint event or an arrival: `initiator_known`,
        `target_known` (by a creation); `created_again`, if an endpoint has several creations;
        `initiator_ended_at`, `target_ended_at`, null while it has not; `first_arrived_at`, of a message of
        the initiator, null if none arrived; `last_event_at`, of the latest endpoint event, null without any.
    """
    event_type, moment = F.col("event_type"), F.col("event_time")
    kind = F.when(event_type.isin(*CREATIONS), CREATED).when(event_type.isin(*ENDS), ENDED).otherwise(OTHER)
    endpoint_rows = endpoint_events.select(
        "conversation_id", (kind + F.when(F.col("is_initiator"), 0).otherwise(1)).alias("code"), "event_time"
    )
    arrived = arrivals(message_events).select("conversation_id", F.lit(ARRIVED).alias("code"), "event_time")
    before = known.where("first_arrived_at is not null").select(
        "conversation_id", F.lit(ARRIVED).alias("code"), F.col("first_arrived_at").alias("event_time")
    )

    def first(code: int) -> Column:
        return F.min(F.when(F.col("code") == code, moment))

    def times(code: int) -> Column:
        return F.count(F.when(F.col("code") == code, 1))

    return (
        endpoint_rows.unionByName(arrived)
        .unionByName(before)
        .groupBy("conversation_id")
        .agg(
            (times(CREATED) > 0).alias("initiator_known"),
            (times(CREATED + 1) > 0).alias("target_known"),
            ((times(CREATED) > 1) | (times(CREATED + 1) > 1)).alias("created_again"),
            first(ENDED).alias("initiator_ended_at"),
            first(ENDED + 1).alias("target_ended_at"),
            first(ARRIVED).alias("first_arrived_at"),
            F.max(F.when(F.col("code") > ARRIVED, moment)).alias("last_event_at"),
        )
    )


def arrivals(message_events: DataFrame) -> DataFrame:
    """The events of arrivals of the initiator's messages.

    Arrivals in snapshots do not count: the endpoint's row in the snapshot has its own creation time.
    """
    return message_events.where(
        F.col("event_type").isin(*ARRIVALS) & F.col("sent_by_initiator") & F.col("seen_at").isNull()
    )


def without_target(sides: DataFrame) -> DataFrame:
    """The conversations whose target endpoint is inferred: (conversation_id), unique."""
    return sides.where("initiator_known and first_arrived_at is not null and not target_known").select(
        "conversation_id"
    )
