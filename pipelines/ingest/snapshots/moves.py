"""Moves that were not logged: a snapshot shows an endpoint in another group than the events."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.ingest.snapshots.event_rows import event_rows
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import just_before, moment_and_id
from schemas.events import CREATIONS, ENDPOINT_FACTS, MOVE


def moves_between_snapshots(endpoint_events: DataFrame) -> DataFrame:
    """Infer moves from the groups that snapshots show.

    Args:
        endpoint_events: all endpoint events of the conversations, also those of snapshots.

    Returns:
        Rows of `endpoint_events` without batch, `inferred`: a MOVE_CONVERSATION just before each snapshot
        that shows the endpoint, if one of them has another group than its creation and logged moves gave it.
    """
    is_creation = F.col("event_type").isin(*CREATIONS)
    facts = endpoint_events.where(is_creation | (F.col("event_type") == MOVE))
    # One fact cannot contradict itself, and most endpoints have one.
    several = facts.groupBy(*SIDE).agg(F.count(F.lit(1)).alias("facts")).where("facts > 1").select(*SIDE)
    known = facts.join(several, SIDE, "left_semi")
    first = Window.partitionBy(*SIDE).orderBy(
        ~is_creation, F.col("seen_at").isNotNull(), "event_time", "event_id"
    )
    changes = (
        known.withColumn("number", F.row_number().over(first))
        .where("number = 1 or seen_at is null and event_type = 'MOVE_CONVERSATION'")
        .select(
            *SIDE,
            F.col("conversation_group_id").alias("event_group"),
            F.col("event_time").alias("changed_at"),
            (F.col("number") == 1).alias("is_first"),
            F.when(F.col("number") == 1, F.lit("")).otherwise(moment_and_id()).alias("place"),
        )
    )
    seen = known.where("seen_at is not null").select(
        *SIDE, "instance", "database", "conversation_handle", "conversation_group_id", "seen_at"
    )
    by_then = (
        seen.join(changes, SIDE, "inner")
        .where("is_first or changed_at < seen_at")
        .groupBy(*SIDE, "seen_at", "conversation_group_id")
        .agg(F.max_by("event_group", "place").alias("event_group"))
    )
    moved = by_then.where("event_group <> conversation_group_id").select(*SIDE).distinct()
    seen_at, side = F.unix_micros("seen_at"), F.col("is_initiator").cast("string")
    return event_rows(
        seen.join(moved, SIDE, "left_semi"),
        ENDPOINT_FACTS,
        "instance",
        "database",
        *SIDE,
        "conversation_handle",
        "conversation_group_id",
        "seen_at",
        event_id=F.concat_ws("/", F.lit("moved"), seen_at.cast("string"), "conversation_id", side),
        event_time=just_before("seen_at"),
        event_type=F.lit(MOVE),
        inferred=F.lit(True),
    )
