"""The events that queue monitors play, as rows in their order.

At one instant arrivals come first, then RECEIVED events, then ends of endpoints, then queue events in the
order of their event_id; see docs/semantics.md#activation. Messages that a ROLLBACK returns share its event_id
and precede it, so their code is lower. A monitor does not distinguish a received message from one whose
endpoint ended.
"""

from pyspark.sql import Column, DataFrame, functions as F

ARRIVAL = 0
"""A message arrives, and the monitor checks."""
TAKEN = 1
"""A ready message leaves: it is received, or its endpoint ends."""
REDELIVERED = 2
"""A message is ready again after a ROLLBACK."""
READY_BEFORE = 3
"""Messages that are ready at the start of the window."""
RECEIVE = 4
EMPTY_RECEIVE = 5
"""A RECEIVE without WHERE that returned no row."""
EMPTY_GET_GROUP = 6
"""A GET CONVERSATION GROUP without WHERE that returned no row."""
ROLLBACK = 7
WAIT_STARTED = 8
"""The session waits in a statement without WHERE."""
WAIT_ENDED = 9
"""The session stops waiting, or waits in a statement with WHERE."""
TASK_STARTED = 10
TASK_EXITED = 11
TURNED_ON = 12
TURNED_OFF = 13
ALTERED = 14
"""A QUEUE_ALTERED without a status."""
OVER = 15
"""The end of the window; it is in no timeline."""
KINDS = 16

CHECKED_ONLY = (RECEIVE, ROLLBACK, ALTERED)
"""Events after which a monitor checks, and which do not change the state."""

NO_SESSION = -(2**63)
"""Stands for a missing session_id; all of them are one session."""

ARRIVALS, RECEIVES, ENDS, QUEUE_EVENTS = range(4)
"""The ranks of events at one instant."""
RANKS = 4

ORDER = ("position", "event_id", "kind")
COLUMNS = ("queue_number", *ORDER, "number")
"""`position` is `row_position`; `number` is the session, or the number of messages."""


def row_position(time: Column, rank: int) -> Column:
    """A moment in microseconds, and the rank at that moment, as one number that compares the same way."""
    return time * F.lit(RANKS) + F.lit(rank)


def period_rows(periods: DataFrame, *, start: int) -> DataFrame:
    """Events of messages in the window, and the number of messages that are ready at its start.

    Args:
        periods: see `pipelines.activation.ready`.
        start: start of the window, in microseconds.
    """
    begin, until = F.col("ready_from"), F.col("ready_until")
    before = periods.where((begin < start) & (until.isNull() | (until >= start))).groupBy("queue_number")
    ready_before = before.agg(F.count(F.lit(1)).alias("number")).select(
        "queue_number",
        # The instant before the window.
        row_position(F.lit(start - 1).cast("bigint"), ARRIVALS).alias("position"),
        F.lit("").alias("event_id"),
        _kind(READY_BEFORE),
        "number",
    )
    begun = periods.where(begin >= start)
    arrived = begun.where("redelivered_by is null")
    returned = begun.where("redelivered_by is not null")
    one = F.lit(1).cast("bigint").alias("number")

    def one_each(rows: DataFrame, time: Column, rank: int, event_id: Column, kind: int) -> DataFrame:
        return rows.select(
            "queue_number",
            row_position(time, rank).alias("position"),
            event_id.alias("event_id"),
            _kind(kind),
            one,
        )

    # Only queue events are ordered at one instant.
    none = F.lit("")
    return (
        ready_before.unionByName(one_each(arrived, begin, ARRIVALS, none, ARRIVAL))
        .unionByName(one_each(periods.where(until >= start), until, RECEIVES, none, TAKEN))
        .unionByName(one_each(returned, begin, QUEUE_EVENTS, F.col("redelivered_by"), REDELIVERED))
    )


def queue_event_rows(queue_events: DataFrame, *, start: int) -> DataFrame:
    """The queue events that a monitor plays; before the window only those that decide the state at its start.

    Args:
        queue_events: the queue events before as_of with `queue_number`.
        start: start of the window, in microseconds.
    """
    event_type = F.col("event_type")
    where = F.coalesce("has_where", F.lit(False))
    is_empty = F.coalesce((F.col("row_count") == 0) & ~where, F.lit(False))
    status = F.upper("queue_status")
    kind = (
        F.when((event_type == "RECEIVE") & is_empty, EMPTY_RECEIVE)
        .when(event_type == "RECEIVE", RECEIVE)
        .when((event_type == "GET_CONVERSATION_GROUP") & is_empty, EMPTY_GET_GROUP)
        .when(event_type == "ROLLBACK", ROLLBACK)
        .when((event_type == "WAIT_STARTED") & ~where, WAIT_STARTED)
        .when(event_type.isin("WAIT_STARTED", "WAIT_ENDED"), WAIT_ENDED)
        .when(event_type == "TASK_STARTED", TASK_STARTED)
        .when(event_type == "TASK_EXITED", TASK_EXITED)
        .when((event_type == "QUEUE_ALTERED") & status.isNull(), ALTERED)
        .when((event_type == "QUEUE_ALTERED") & (status == "OFF"), TURNED_OFF)
        .when(event_type == "QUEUE_ALTERED", TURNED_ON)
    )
    time = F.unix_micros("event_time")
    rows = queue_events.select(
        "queue_number",
        row_position(time, QUEUE_EVENTS).alias("position"),
        "event_id",
        kind.cast("int").alias("kind"),
        F.coalesce("session_id", F.lit(NO_SESSION).cast("bigint")).alias("number"),
        (time >= start).alias("is_within"),
    )
    counts = F.col("kind").isNotNull() & (F.col("is_within") | ~F.col("kind").isin(*CHECKED_ONLY))
    return rows.where(counts).select(*COLUMNS)


def _kind(kind: int) -> Column:
    return F.lit(kind).cast("int").alias("kind")
