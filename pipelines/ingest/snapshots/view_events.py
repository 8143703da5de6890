"""What a snapshot shows, as rows of the tables of accepted events.

Every function takes the rows of views with `view` and the columns of `PLACE`, of one snapshot or of several.
An untimed fact happened a microsecond before taken_at, so that it counts at as_of = taken_at.
The vendor's documentation of the views describes the columns.
"""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.state.messages import UNKNOWN
from schemas.events import END

DEFAULT_LIFETIME = 2_147_483_647_000_000
"""Microseconds that a conversation lives where BEGIN DIALOG names no lifetime."""
OLDEST_DAYS = 3653
"""A creation this long before the snapshot is unlikely: the application set a shorter lifetime."""
ENDED = {"DO": True, "CD": True, "DI": False}
"""States in which an endpoint has ended: this one, or the far one (false)."""
OPEN = ("SO", "SI", "CO", "ER")
ERROR, CLOSED = "ER", "CD"
NAMED_STATES = (*ENDED, ERROR)
"""States that the id of an event has: they are shown where an endpoint is explained."""
READY = 1
"""The status of a message that a RECEIVE may return."""
SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"


PLACE = ("instance", "database", "taken_at")
"""Which snapshot a row is of; every row has this and `view` beside the view's columns."""


def endpoint_events(view: DataFrame) -> DataFrame:
    """The endpoints of `conversation_endpoints`: that they exist, and which have ended.

    Args:
        view: its rows with `contract` and `local_service`, the names of their ids.

    Returns:
        Rows of `endpoint_events` without batch: a creation for each row, at the moment that its lifetime
        gives, else the snapshot's; and an END_CONVERSATION for each endpoint that has ended.
    """
    begun = F.timestamp_micros(F.unix_micros("lifetime") - F.lit(DEFAULT_LIFETIME))
    is_likely = (begun >= F.col("taken_at") - F.expr(f"INTERVAL {OLDEST_DAYS} DAYS")) & (
        begun < F.col("taken_at")
    )
    own = F.col("is_initiator")
    handle, nothing = F.col("conversation_handle"), F.lit(None)
    creations = view.select(
        row_id(handle, F.when(F.col("state") == ERROR, ERROR)).alias("event_id"),
        F.when(is_likely, begun).otherwise(before_snapshot()).alias("event_time"),
        *seen_in(),
        F.when(own, "BEGIN_DIALOG").otherwise("DIALOG_CREATED").alias("event_type"),
        "conversation_id",
        "is_initiator",
        "conversation_handle",
        "conversation_group_id",
        "contract",
        "local_service",
        F.col("far_service").alias("remote_service"),
        F.col("priority").cast("int").alias("logged_priority"),
        nothing.cast("boolean").alias("inferred"),
    )
    is_own = F.col("state").isin(*[state for state, mine in ENDED.items() if mine])
    text = nothing.cast("string")
    ends = view.where(F.col("state").isin(*ENDED)).select(
        row_id(handle, F.col("state")).alias("event_id"),
        before_snapshot().alias("event_time"),
        *seen_in(),
        F.lit(END).alias("event_type"),
        "conversation_id",
        F.when(is_own, own).otherwise(~own).alias("is_initiator"),
        F.when(is_own, handle).alias("conversation_handle"),
        *[
            text.alias(name)
            for name in ("conversation_group_id", "contract", "local_service", "remote_service")
        ],
        nothing.cast("int").alias("logged_priority"),
        nothing.cast("boolean").alias("inferred"),
    )
    return creations.unionByName(ends)


def ready_message_events(view: DataFrame) -> DataFrame:
    """The messages that stand ready in a queue: rows of `message_events` without batch, DELIVERED.

    Args:
        view: the rows of a queue's view, of any status.

    Nobody knows yet whose the handles are; see `pipelines.ingest.snapshots.identity`.
    """
    return view.where(F.col("status") == READY).select(
        row_id(*_place_in_view(F.col("queuing_order"))).alias("event_id"),
        _before_taken_at("message_enqueue_time").alias("event_time"),
        F.lit("DELIVERED").alias("event_type"),
        F.col("message_type_name").alias("message_type"),
        "queuing_order",
        F.lit(None).cast("string").alias("transmission_status"),
        *_of_message(),
    )


def waiting_message_events(view: DataFrame) -> DataFrame:
    """The messages of `transmission_queue`: rows of `message_events` without batch, SENT."""
    type = (
        F.when(F.col("message_type_name").isNotNull(), F.col("message_type_name"))
        .when(F.col("is_conversation_error"), F.lit(f"{SYSTEM}Error"))
        .when(F.col("is_end_of_dialog"), F.lit(f"{SYSTEM}EndDialog"))
        .otherwise(F.lit("DEFAULT"))
    )
    nothing = F.lit(None).cast("bigint")
    return view.select(
        row_id(*_place_in_view(nothing)).alias("event_id"),
        _before_taken_at("enqueue_time").alias("event_time"),
        F.lit("SENT").alias("event_type"),
        type.alias("message_type"),
        nothing.alias("queuing_order"),
        F.nullif("transmission_status", F.lit("")).alias("transmission_status"),
        *_of_message(),
    )


def queue_events(view: DataFrame) -> DataFrame:
    """Whether the queues of `service_queues` are on: rows of `queue_events` without batch, QUEUE_ALTERED."""
    is_on = F.col("is_receive_enabled") & F.col("is_enqueue_enabled")
    return view.select(
        row_id(F.col("name")).alias("event_id"),
        F.col("name").alias("queue"),
        F.lit("QUEUE_ALTERED").alias("event_type"),
        F.lit(None).cast("bigint").alias("session_id"),
        F.when(is_on, "ON").otherwise("OFF").alias("queue_status"),
        *_of_queue(),
    )


def task_events(view: DataFrame) -> DataFrame:
    """The tasks of `dm_broker_activated_tasks`: rows of `queue_events` without batch, TASK_STARTED.

    Args:
        view: its rows with `queue`, the name of their queue_id.
    """
    return view.select(
        row_id(F.col("spid").cast("string")).alias("event_id"),
        "queue",
        F.lit("TASK_STARTED").alias("event_type"),
        F.col("spid").alias("session_id"),
        F.lit(None).cast("string").alias("queue_status"),
        *_of_queue(),
    )


def session_events(view: DataFrame) -> DataFrame:
    """The waiting sessions of `dm_broker_queue_monitors`: rows of `queue_events` without batch, WAIT_STARTED.

    Args:
        view: its rows with `queue`, the name of their queue_id.

    The view counts them and does not name them, so they have numbers below zero.
    """
    sessions = view.where("tasks_waiting > 0").withColumn(
        "session_id", F.explode(F.sequence(F.lit(-1).cast("bigint"), -F.col("tasks_waiting")))
    )
    return sessions.select(
        row_id(F.col("queue"), F.col("session_id").cast("string")).alias("event_id"),
        "queue",
        F.lit("WAIT_STARTED").alias("event_type"),
        "session_id",
        F.lit(None).cast("string").alias("queue_status"),
        *_of_queue(),
    )


def before_snapshot() -> Column:
    """When untimed facts happened."""
    return F.timestamp_micros(F.unix_micros("taken_at") - F.lit(1))


def _before_taken_at(time: str) -> Column:
    """The time of a row, before taken_at: views are read one after the other, so it may be later."""
    return F.least(F.col(time), before_snapshot())


def row_id(*parts: Column) -> Column:
    """The id of a row: its snapshot, its view, and its key in the view."""
    place = [F.unix_micros("taken_at").cast("string"), F.col("instance"), F.col("database"), F.col("view")]
    return F.concat_ws("/", F.lit("snapshot"), *place, *parts)


def seen_in() -> list[Column]:
    """Where a row happened, and that a snapshot shows it."""
    return [F.col("instance"), F.col("database"), F.col("taken_at").alias("seen_at")]


def _of_queue() -> list[Column]:
    nothing = F.lit(None)
    return [
        *seen_in(),
        before_snapshot().alias("event_time"),
        nothing.cast("string").alias("transaction_id"),
        nothing.cast("string").alias("conversation_group_id"),
        nothing.cast("boolean").alias("has_where"),
        nothing.cast("bigint").alias("row_count"),
    ]


def _of_message() -> list[Column]:
    unknown = F.concat(F.col("conversation_handle"), F.lit(UNKNOWN))
    return [
        *seen_in(),
        unknown.alias("message_id"),
        unknown.alias("conversation_id"),
        F.lit(True).alias("sent_by_initiator"),
        F.col("conversation_handle"),
        F.col("message_sequence_number"),
        F.col("size_bytes"),
        F.lit(None).cast("string").alias("transaction_id"),
        F.lit(None).cast("boolean").alias("inferred"),
    ]


def _place_in_view(queuing_order: Column) -> list[Column]:
    """The key of a message in a view."""
    number = F.coalesce(F.col("message_sequence_number"), queuing_order).cast("string")
    return [
        F.col("conversation_handle"),
        F.coalesce("message_type_name", F.lit("")),
        F.coalesce(number, F.lit("")),
    ]
