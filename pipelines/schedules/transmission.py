"""The transmission schedule: the order in which an instance would send its waiting messages."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.config.model import Starvation
from pipelines.rules.statements import DEFAULT_LEVEL
from pipelines.schedules.numbering import level_and_minute, number_rows
from schemas.keys import QUEUE

HIGHEST_PRIORITY = 10
MATCHES = ("same_database", "same_instance", "anywhere")
"""Locations of a service in the catalog, the nearest to the sender first."""
DESCRIPTION = (
    "message_id",
    "conversation_id",
    "sent_by_initiator",
    "message_sequence_number",
    "message_type",
    "size_bytes",
    "why_still_here",
    "shown_database",
)
ENDPOINTS = (
    "sender_instance",
    "sender_database",
    "receiver_exists",
    "receiver_instance",
    "receiver_database",
    "receiver_queue",
)
"""The columns of both endpoints that decide the destination."""


def sendable(messages: DataFrame, forwarding: DataFrame, bindings: DataFrame, off: DataFrame) -> DataFrame:
    """The messages that instances have to send; only `priority` depends on levels.

    Args:
        messages: `orders.on_their_way`.
        forwarding: `state.forwarding`.
        bindings: the catalog's (instance, database, service, queue), unique by the first three.
        off: `queues_off`.

    Returns:
        One row per waiting or forwarded message and instance; key (instance, message_id): the columns of
        the `transmission_schedule` table but `as_of`, `position`, `block` and the level after
        starvation prevention and honor flags. See docs/semantics.md#transmission-schedule.
    """
    waiting = with_sendable_at(_waiting(messages, bindings), "queued_at")
    forwarded = with_sendable_at(_forwarded(messages, forwarding, bindings), "queued_at", ["instance"])
    return _with_queue_off(waiting.unionByName(forwarded), off).drop(
        "destination_queue", "shown_database", "queued_at"
    )


def with_transmit_priority(
    rows: DataFrame, honoring: DataFrame, *, as_of: datetime, starvation: Starvation | None
) -> DataFrame:
    """Add the level that counts for sending, `transmit_priority`, `elevated` and `honored`.

    Args:
        rows: instance, database, `forwarded`, `priority` and `sendable_at`, as in `sendable`.
        honoring: (instance, database, honors), unique by the first two; null is not known.
        as_of: the instant, for starvation prevention.
        starvation: settings of starvation prevention; None is off.
    """
    flagged = rows.drop("honored").join(F.broadcast(honoring), ["instance", "database"], "left")
    honored = F.when(F.col("forwarded"), F.lit(False)).otherwise(F.col("honors"))
    base = base_level(honored, F.col("priority"))
    raised = F.when(F.col("forwarded"), base).otherwise(_raised(base, as_of, starvation))
    return flagged.withColumns(
        {"honored": honored, "transmit_priority": raised, "elevated": raised > base}
    ).drop("honors")


def base_level(honored: Column, priority: Column) -> Column:
    """The level that counts for sending before waiting raises it.

    Args:
        honored: whether the level of the sending endpoint counts; null, not known, is taken for yes.
        priority: that level; null if it is not known.
    """
    default = F.lit(DEFAULT_LEVEL)
    return F.when(F.coalesce(honored, F.lit(True)), F.coalesce(priority, default)).otherwise(default)


def transmission_order(rows: DataFrame, *, are_many: bool) -> DataFrame:
    """The order in which instances would send, message by message.

    Args:
        rows: `sendable`, `with_transmit_priority`, materialized.
        are_many: whether an instance has `numbering.are_many` of them.

    Returns:
        The same rows with `position`, from 1 in each instance, over all its databases.
    """
    ordered = number_rows(
        rows,
        within=["instance"],
        buckets=level_and_minute(F.col("transmit_priority"), F.col("sendable_at")) if are_many else (),
        order=[
            F.desc("transmit_priority"),
            F.asc("sendable_at"),
            F.asc("conversation_id"),
            F.desc("sent_by_initiator"),
            F.asc_nulls_last("message_sequence_number"),
            F.asc("message_id"),
        ],
    )
    return ordered.withColumn("position", F.col("number").cast("bigint")).drop("number", "before")


def _waiting(messages: DataFrame, bindings: DataFrame) -> DataFrame:
    """Messages in the transmission queue of their sender's database, with their destination."""
    rows = messages.where("waits and sender_exists").select(
        *DESCRIPTION,
        F.col("sent_at").alias("queued_at"),
        F.col("sender_instance").alias("instance"),
        F.col("sender_database").alias("database"),
        F.col("sender_local_service").alias("from_service"),
        F.col("sender_remote_service").alias("to_service"),
        F.col("sender_contract").alias("contract"),
        F.col("sender_priority").alias("priority"),
        F.lit(False).alias("forwarded"),
        *ENDPOINTS,
    )
    return _with_destination(rows, bindings)


def forwarded_elsewhere(messages: DataFrame, forwarding: DataFrame) -> DataFrame:
    """The messages that an instance other than the sender's has accepted and not passed on yet.

    Args:
        messages: `orders.on_their_way`.
        forwarding: `state.forwarding`.

    Returns:
        One row per message and instance: the columns of `messages`, `instance`, `forward_database` and
        `accepted_at`.
    """
    accepted = forwarding.select(
        "message_id", "instance", F.col("database").alias("forward_database"), "accepted_at"
    )
    # A clock that is ahead can create an endpoint after as_of; its instance is known.
    elsewhere = ~F.col("instance").eqNullSafe(F.col("home_instance"))
    return messages.join(accepted, "message_id", "inner").where(elsewhere)


def _forwarded(messages: DataFrame, forwarding: DataFrame, bindings: DataFrame) -> DataFrame:
    sender, receiver = F.col("sender_exists"), F.col("receiver_exists")
    rows = forwarded_elsewhere(messages, forwarding).select(
        *DESCRIPTION,
        F.col("accepted_at").alias("queued_at"),
        "instance",
        F.col("forward_database").alias("database"),
        F.when(sender, F.col("sender_local_service"))
        .when(receiver, F.col("receiver_remote_service"))
        .alias("from_service"),
        F.when(sender, F.col("sender_remote_service"))
        .when(receiver, F.col("receiver_local_service"))
        .alias("to_service"),
        F.when(sender, F.col("sender_contract")).when(receiver, F.col("receiver_contract")).alias("contract"),
        F.col("sender_priority").alias("priority"),
        F.lit(True).alias("forwarded"),
        *ENDPOINTS,
    )
    return _with_destination(rows, bindings)


def _with_destination(rows: DataFrame, bindings: DataFrame) -> DataFrame:
    """Add the destination: the receiving endpoint, else the nearest service of that name in the catalog.

    It is null where several databases are equally near: nothing is bound yet.
    """
    service = bindings.withColumnRenamed("service", "to_service")

    def with_prefix(prefix: str) -> list[Column]:
        return [F.col(name).alias(f"{prefix}_{name}") for name in QUEUE]

    same_database = service.select(
        F.col("instance").alias("sender_instance"),
        F.col("database").alias("sender_database"),
        "to_service",
        *with_prefix("same_database"),
    )
    # The sender of a forwarded message can be unknown; then only services anywhere match.
    same_instance = _only_queue(service, ["instance", "to_service"]).select(
        F.col("instance").alias("sender_instance"), "to_service", *with_prefix("same_instance")
    )
    anywhere = _only_queue(service, ["to_service"]).select("to_service", *with_prefix("anywhere"))
    joined = (
        rows.join(F.broadcast(same_database), ["sender_instance", "sender_database", "to_service"], "left")
        .join(F.broadcast(same_instance), ["sender_instance", "to_service"], "left")
        .join(F.broadcast(anywhere), ["to_service"], "left")
    )

    def destination(name: str) -> Column:
        in_catalog = F.coalesce(*[F.col(f"{match}_{name}") for match in MATCHES])
        return F.when(F.col("receiver_exists"), F.col(f"receiver_{name}")).otherwise(in_catalog)

    matched = [f"{match}_{name}" for match in MATCHES for name in QUEUE]
    return joined.withColumns({f"destination_{name}": destination(name) for name in QUEUE}).drop(
        *matched, *ENDPOINTS
    )


def _only_queue(service: DataFrame, by: list[str]) -> DataFrame:
    """The queue of each service that only one database has: of several, nothing says which it is."""
    others = [name for name in QUEUE if name not in by]
    queues = service.groupBy(*by).agg(
        F.count(F.lit(1)).alias("databases"), *[F.min(name).alias(name) for name in others]
    )
    return queues.where("databases = 1").drop("databases")


def with_sendable_at(rows: DataFrame, since: str, by: Sequence[str] = ()) -> DataFrame:
    """Add `sendable_at`: a message is sent no earlier than those before it, whatever the clocks show.

    Args:
        rows: messages.
        since: the column that says when each came into its transmission queue.
        by: columns beside those of the direction of a conversation, in which messages follow each other.
    """
    up_to_row = (
        Window.partitionBy(*by, "conversation_id", "sent_by_initiator")
        .orderBy(F.asc_nulls_last("message_sequence_number"), "message_id")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return rows.withColumn("sendable_at", F.max(since).over(up_to_row))


def _with_queue_off(rows: DataFrame, off: DataFrame) -> DataFrame:
    """Add the queue of the same instance that is off, for which a message waits, and since when it is off.

    The database of that queue holds the message, unless a snapshot shows it in another transmission queue.
    """
    named = {"name": "waits_for", "off_since": "waits_since", "off_source": "waits_source"}
    destinations = off.withColumnsRenamed({name: f"destination_{name}" for name in QUEUE} | named)
    known = rows.join(
        F.broadcast(destinations),
        ["destination_instance", "destination_database", "destination_queue"],
        "left",
    )
    is_here = (F.col("destination_instance") == F.col("instance")) & ~F.col("forwarded")
    is_held = is_here & F.col("waits_for").isNotNull()
    return known.withColumns(
        {
            "database": F.when(
                ~F.col("forwarded") & F.col("shown_database").isNotNull(), F.col("shown_database")
            )
            .when(is_held, F.col("destination_database"))
            .otherwise(F.col("database")),
            **{name: F.when(is_here, F.col(name)) for name in named.values()},
        }
    )


def _raised(base: Column, as_of: datetime, starvation: Starvation | None) -> Column:
    """Raise the level by raise_by for every full after_seconds of waiting, up to the highest level."""
    if starvation is None:
        return base
    waited = F.unix_micros(F.lit(as_of)) - F.unix_micros("sendable_at")
    periods = F.floor(waited / F.lit(round(starvation.after_seconds * 1_000_000)))
    return F.least(base + periods * starvation.raise_by, F.lit(HIGHEST_PRIORITY)).cast("int")
