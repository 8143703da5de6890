"""The transmission schedule: the order in which an instance would send what waits."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.ladder.ladder import DEFAULT_PRIORITY
from pipelines.schedules.order import level_and_minute, numbered
from pipelines.settings.model import Starvation

HIGHEST_PRIORITY = 10


def transmission_order(
    messages: DataFrame,
    bindings: DataFrame,
    honoring: DataFrame,
    off: DataFrame,
    *,
    as_of: datetime,
    starvation: Starvation | None,
) -> DataFrame:
    """The order in which instances would send, message by message.

    Args:
        messages: `messages_at`.
        bindings: the catalog's (instance, database, service, queue), unique by the first three.
        honoring: (instance, database) with honor_broker_priority on, unique.
        off: `queues_off`.
        as_of: the instant, for starvation prevention.
        starvation: settings of starvation prevention; None is off.

    Returns:
        One row per waiting or forwarded message and instance; key (instance, message_id): the columns of
        the `transmission_schedule` table but `as_of` and `block`, and `size_bytes`. Positions count from
        1 in each instance, over all its databases.

    Source: the design, "Transmission schedule".
    """
    waiting = _held_by(_sendable(_waiting(messages, bindings), []), off)
    waiting = _with_transmit_priority(waiting, honoring, as_of, starvation)
    forwarded = _sendable(_forwarded(messages, bindings), ["instance"]).withColumns(
        {"transmit_priority": F.lit(DEFAULT_PRIORITY), "elevated": F.lit(False)}
    )
    rows = waiting.drop("destination_queue").unionByName(forwarded.drop("destination_queue"))
    placed = numbered(
        rows,
        within=["instance"],
        buckets=level_and_minute(F.col("transmit_priority"), F.col("sendable_at")),
        order=[
            F.desc("transmit_priority"),
            F.asc("sendable_at"),
            F.asc("conversation_id"),
            F.desc("sent_by_initiator"),
            F.asc_nulls_last("message_sequence_number"),
            F.asc("message_id"),
        ],
    )
    return placed.withColumn("position", F.col("number").cast("bigint")).drop("number", "before")


def _what_it_is() -> list[str]:
    return [
        "message_id",
        "conversation_id",
        "sent_by_initiator",
        "message_sequence_number",
        "message_type",
        "size_bytes",
    ]


def _waiting(messages: DataFrame, bindings: DataFrame) -> DataFrame:
    """Messages in the transmission queue of their sender's database, with their destination."""
    rows = messages.where("waits and sender.exists").select(
        *_what_it_is(),
        F.col("sent_at").alias("became"),
        F.col("sender.instance").alias("instance"),
        F.col("sender.database").alias("database"),
        F.col("sender.local_service").alias("from_service"),
        F.col("sender.remote_service").alias("to_service"),
        F.col("sender.priority").alias("priority"),
        F.lit(False).alias("forwarded"),
        "sender",
        "receiver",
    )
    return _with_destination(rows, bindings)


def _forwarded(messages: DataFrame, bindings: DataFrame) -> DataFrame:
    """Messages that an instance other than the sender's has accepted and not passed on yet."""
    sender_exists, receiver_exists = _exists("sender"), _exists("receiver")
    rows = (
        messages.select("*", F.explode("forwards").alias("forward"))
        .where(~F.col("forward.instance").eqNullSafe(F.col("sender.instance")))
        .select(
            *_what_it_is(),
            F.col("forward.accepted_at").alias("became"),
            F.col("forward.instance").alias("instance"),
            F.col("forward.database").alias("database"),
            F.when(sender_exists, F.col("sender.local_service"))
            .when(receiver_exists, F.col("receiver.remote_service"))
            .alias("from_service"),
            F.when(sender_exists, F.col("sender.remote_service"))
            .when(receiver_exists, F.col("receiver.local_service"))
            .alias("to_service"),
            F.when(sender_exists, F.col("sender.priority")).alias("priority"),
            F.lit(True).alias("forwarded"),
            "sender",
            "receiver",
        )
    )
    return _with_destination(rows, bindings)


def _with_destination(rows: DataFrame, bindings: DataFrame) -> DataFrame:
    """Where the receiving endpoint is; else the nearest service of that name in the catalog."""
    service = bindings.withColumnRenamed("service", "to_service")
    place = F.struct("instance", "database", "queue")
    same_database = service.select(
        F.col("instance").alias("sender_instance"),
        F.col("database").alias("sender_database"),
        "to_service",
        place.alias("in_database"),
    )
    same_instance = service.groupBy(F.col("instance").alias("sender_instance"), "to_service").agg(
        F.min(place).alias("in_instance")
    )
    anywhere = service.groupBy("to_service").agg(F.min(place).alias("in_catalog"))
    # A forwarded message's sender may be unknown; nothing of the catalog is near to it then.
    known = F.when(_exists("sender"), F.col("sender"))
    found = (
        rows.withColumns({"sender_instance": known.instance, "sender_database": known.database})
        .join(F.broadcast(same_database), ["sender_instance", "sender_database", "to_service"], "left")
        .join(F.broadcast(same_instance), ["sender_instance", "to_service"], "left")
        .join(F.broadcast(anywhere), ["to_service"], "left")
    )
    endpoint = F.struct("receiver.instance", "receiver.database", "receiver.queue")
    destination = F.when(_exists("receiver"), endpoint).otherwise(
        F.coalesce("in_database", "in_instance", "in_catalog")
    )
    return (
        found.withColumn("destination", destination)
        .withColumns(
            {
                f"destination_{name}": F.col(f"destination.{name}")
                for name in ("instance", "database", "queue")
            }
        )
        .drop("destination", "in_database", "in_instance", "in_catalog", "sender_instance", "sender_database")
        .drop("sender", "receiver")
    )


def _sendable(rows: DataFrame, at: list[str]) -> DataFrame:
    """Add `sendable_at`: no message of a conversation overtakes one before it, whatever the clocks say."""
    up_to_here = (
        Window.partitionBy(*at, "conversation_id", "sent_by_initiator")
        .orderBy(F.asc_nulls_last("message_sequence_number"), "message_id")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return rows.withColumn("sendable_at", F.max("became").over(up_to_here)).drop("became")


def _held_by(rows: DataFrame, off: DataFrame) -> DataFrame:
    """A message to a queue that is off on the same instance is held by that queue's database."""
    destinations = off.select(
        F.col("instance").alias("destination_instance"),
        F.col("database").alias("destination_database"),
        F.col("queue").alias("destination_queue"),
        F.lit(True).alias("is_off"),
    )
    here = F.col("is_off") & (F.col("destination_instance") == F.col("instance"))
    return (
        rows.join(
            F.broadcast(destinations),
            ["destination_instance", "destination_database", "destination_queue"],
            "left",
        )
        .withColumn("database", F.when(here, F.col("destination_database")).otherwise(F.col("database")))
        .drop("is_off")
    )


def _with_transmit_priority(
    rows: DataFrame, honoring: DataFrame, as_of: datetime, starvation: Starvation | None
) -> DataFrame:
    flagged = rows.join(
        F.broadcast(honoring.withColumn("honors", F.lit(True))), ["instance", "database"], "left"
    )
    base = F.when(F.col("honors"), F.col("priority")).otherwise(F.lit(DEFAULT_PRIORITY))
    raised = _raised(base, as_of, starvation)
    return flagged.withColumns({"transmit_priority": raised, "elevated": raised > base}).drop("honors")


def _raised(base: Column, as_of: datetime, starvation: Starvation | None) -> Column:
    """For every full after_seconds of waiting the level rises by raise_by, to the highest at most."""
    if starvation is None:
        return base
    waited = F.unix_micros(F.lit(as_of)) - F.unix_micros("sendable_at")
    periods = F.floor(waited / F.lit(round(starvation.after_seconds * 1_000_000)))
    return F.least(base + periods * starvation.raise_by, F.lit(HIGHEST_PRIORITY)).cast("int")


def _exists(side: str) -> Column:
    return F.coalesce(F.col(f"{side}.exists"), F.lit(False))
