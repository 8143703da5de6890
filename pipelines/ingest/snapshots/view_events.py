"""What a snapshot shows, as rows of the tables of accepted events.

Every function takes the rows of views with `view` and the columns of `PLACE`, of one snapshot or of several.
An untimed fact happened a microsecond before taken_at, so that it counts at as_of = taken_at.
The vendor's documentation of the views describes the columns.
"""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.ingest.snapshots.event_rows import event_rows, seen_in, view_event_rows
from pipelines.server.snapshots.views import (
    ENDPOINTS,
    MONITORS,
    QUEUE,
    QUEUES,
    READY,
    RECEIVED,
    RETAINED,
    SENT,
    TASKS,
    TRANSMISSION,
)
from pipelines.state.endpoints import OVER
from pipelines.state.events_before import just_before
from pipelines.state.messages import UNKNOWN
from schemas.events import END, ENDPOINT_FACTS

DEFAULT_LIFETIME = 2_147_483_647_000_000
"""Microseconds that a conversation lives where BEGIN DIALOG names no lifetime."""
OLDEST_DAYS = 3653
"""A creation this long before the snapshot is unlikely: the application set a shorter lifetime."""
OPEN = ("SO", "SI", "CO", "ER")
FAR_ENDED = "DI"
ENDED = {**dict.fromkeys(OVER, True), FAR_ENDED: False}
"""States in which an endpoint has ended: this one, or the far one (false)."""
ERROR, CLOSED = "ER", "CD"
NAMED_STATES = (*ENDED, ERROR)
"""States that the id of an event has: they are shown where an endpoint is explained."""
SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"


SNAPSHOT, KEPT = "snapshot", "status "
"""What ids of rows of views begin with; and what stands before the status of a row that RETENTION keeps."""
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
    own, handle, state = F.col("is_initiator"), F.col("conversation_handle"), F.col("state")
    creations = view_event_rows(
        view,
        ENDPOINTS,
        event_id=row_id(handle, F.when(state == ERROR, ERROR)),
        event_time=F.when(is_likely, begun).otherwise(just_before("taken_at")),
        event_type=F.when(own, "BEGIN_DIALOG").otherwise("DIALOG_CREATED"),
        contract=F.col("contract"),
        local_service=F.col("local_service"),
    )
    is_own = state.isin(*[state for state, mine in ENDED.items() if mine])
    ends = event_rows(
        view.where(state.isin(*ENDED)),
        ENDPOINT_FACTS,
        "conversation_id",
        **seen_in(),
        event_id=row_id(handle, state),
        event_time=just_before("taken_at"),
        event_type=F.lit(END),
        is_initiator=F.when(is_own, own).otherwise(~own),
        conversation_handle=F.when(is_own, handle),
    )
    return creations.unionByName(ends)


def queued_message_events(view: DataFrame) -> DataFrame:
    """The messages of a queue: rows of `message_events` without batch, DELIVERED of those that stand ready.

    Rows that RETENTION keeps are RECEIVED, and SENT for the sender's copy. Only their latest moment is known,
    so they are `inferred`; a copy does not say whether the message waits to be sent, nor to which service.

    Args:
        view: the rows of a queue's view, of any status.

    Handles are resolved later; see `pipelines.ingest.snapshots.identity`.
    """
    status = F.col("status")
    is_ready = status == READY
    return view_event_rows(
        view.where(status.isin(READY, *RETAINED)),
        QUEUE,
        event_id=row_id(
            *_place_in_view(F.col("queuing_order")),
            F.when(~is_ready, F.concat(F.lit(KEPT), status.cast("string"))),
        ),
        event_time=F.when(is_ready, _before_taken_at("message_enqueue_time")).otherwise(
            just_before("taken_at")
        ),
        event_type=F.when(is_ready, "DELIVERED").when(status == RECEIVED, "RECEIVED").otherwise("SENT"),
        inferred=F.when(~is_ready, F.lit(True)),
        shown_to_service=F.when(status != SENT, F.col("service_name")),
        shown_queue=F.expr("substring(view, instr(view, '.') + 1)"),
        **_of_unknown(),
    )


def is_retained() -> Column:
    """Whether a row of `message_events` is one that RETENTION kept in a queue."""
    return F.col("inferred").eqNullSafe(F.lit(True)) & F.col("event_id").startswith(SNAPSHOT)


def waiting_message_events(view: DataFrame) -> DataFrame:
    """The messages of `transmission_queue`: rows of `message_events` without batch, SENT."""
    return view_event_rows(
        view,
        TRANSMISSION,
        event_id=row_id(*_place_in_view(F.lit(None).cast("bigint"))),
        event_time=_before_taken_at("enqueue_time"),
        event_type=F.lit("SENT"),
        message_type=waiting_type(),
        transmission_status=F.nullif("transmission_status", F.lit("")),
        **_of_unknown(),
    )


def waiting_type() -> Column:
    """The message type of a row of `transmission_queue`."""
    return (
        F.when(F.col("message_type_name").isNotNull(), F.col("message_type_name"))
        .when(F.col("is_conversation_error"), F.lit(f"{SYSTEM}Error"))
        .when(F.col("is_end_of_dialog"), F.lit(f"{SYSTEM}EndDialog"))
        .otherwise(F.lit("DEFAULT"))
    )


def queue_events(view: DataFrame) -> DataFrame:
    """Whether the queues of `service_queues` are on: rows of `queue_events` without batch, QUEUE_ALTERED."""
    is_on = F.col("is_receive_enabled") & F.col("is_enqueue_enabled")
    return view_event_rows(
        view,
        QUEUES,
        event_id=row_id(F.col("name")),
        event_time=just_before("taken_at"),
        event_type=F.lit("QUEUE_ALTERED"),
        queue_status=F.when(is_on, "ON").otherwise("OFF"),
    )


def task_events(view: DataFrame) -> DataFrame:
    """The tasks of `dm_broker_activated_tasks`: rows of `queue_events` without batch, TASK_STARTED.

    Args:
        view: its rows with `queue`, the name of their queue_id.
    """
    return view_event_rows(
        view,
        TASKS,
        event_id=row_id(F.col("spid").cast("string")),
        event_time=just_before("taken_at"),
        event_type=F.lit("TASK_STARTED"),
        queue=F.col("queue"),
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
    return view_event_rows(
        sessions,
        MONITORS,
        event_id=row_id(F.col("queue"), F.col("session_id").cast("string")),
        event_time=just_before("taken_at"),
        event_type=F.lit("WAIT_STARTED"),
        queue=F.col("queue"),
        session_id=F.col("session_id"),
    )


def _before_taken_at(time: str) -> Column:
    """The time of a row, before taken_at: views are read one after the other, so it may be later."""
    return F.least(F.col(time), just_before("taken_at"))


def row_id(*parts: Column) -> Column:
    """The id of a row: its snapshot, its view, and its key in the view."""
    place = [F.unix_micros("taken_at").cast("string"), F.col("instance"), F.col("database"), F.col("view")]
    return F.concat_ws("/", F.lit(SNAPSHOT), *place, *parts)


def _of_unknown() -> dict[str, Column]:
    """A message whose handle is resolved later."""
    unknown = F.concat(F.col("conversation_handle"), F.lit(UNKNOWN))
    return {"message_id": unknown, "conversation_id": unknown, "sent_by_initiator": F.lit(True)}


def _place_in_view(queuing_order: Column) -> list[Column]:
    """The key of a message in a view."""
    number = F.coalesce(F.col("message_sequence_number"), queuing_order).cast("string")
    return [
        F.col("conversation_handle"),
        F.coalesce("message_type_name", F.lit("")),
        F.coalesce(number, F.lit("")),
    ]
