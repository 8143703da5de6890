"""The events that queue monitors play, as rows in their order.

At one instant arrivals come first, then RECEIVED events, then ends of endpoints, then queue events in the
order of their event_id; see docs/semantics.md#activation. Messages that a ROLLBACK returns share its event_id
and precede it, so their code is lower. A monitor does not distinguish a received message from one whose
endpoint ended.
"""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import union_all
from pipelines.queue_machine.workers import event_rows, row_position

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

TYPES = {"kind": "int", "number": "bigint"}
"""`number` is the session, or the number of messages."""
ORDER = ("position", "tie", "kind")
PLAYED = ("queue_number", "position", *TYPES)
"""The number of a queue, and the columns that its monitor plays; `position` has the rank as its code."""


def period_rows(periods: DataFrame, *, start: int) -> DataFrame:
    """Events of messages in the window, and the number of messages that are ready at its start.

    Args:
        periods: see `pipelines.activation.ready`.
        start: start of the window, in microseconds.
    """
    begin, until = F.col("ready_from"), F.col("ready_until")
    before = periods.where((begin < start) & (until.isNull() | (until >= start))).groupBy("queue_number")
    ready_before = before.agg(F.count(F.lit(1)).alias("number"))
    # The instant before the window.
    instant_before = F.lit(start - 1).cast("bigint")
    begun = periods.where(begin >= start)
    arrived = begun.where("redelivered_by is null")
    returned = begun.where("redelivered_by is not null")
    taken = periods.where(until >= start)
    parts = [
        _rows(ready_before, row_position(instant_before, ARRIVALS), READY_BEFORE, number=F.col("number")),
        _rows(arrived, row_position(begin, ARRIVALS), ARRIVAL),
        _rows(taken, row_position(until, RECEIVES), TAKEN),
        # Only queue events are ordered at one instant.
        _rows(returned, row_position(begin, QUEUE_EVENTS), REDELIVERED, tie="redelivered_by"),
    ]
    return union_all(parts)


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
    is_played = kind.isNotNull() & ((time >= start) | ~kind.isin(*CHECKED_ONLY))
    session = F.coalesce("session_id", F.lit(NO_SESSION).cast("bigint"))
    events = queue_events.where(is_played)
    return _rows(events, row_position(time, QUEUE_EVENTS), kind, number=session, tie="event_id")


def _rows(
    rows: DataFrame,
    position: Column,
    kind: Column | int,
    *,
    number: Column | None = None,
    tie: str | None = None,
) -> DataFrame:
    """Rows of events; `number` is 1 unless it is given."""
    payload = {
        "kind": F.lit(kind) if isinstance(kind, int) else kind,
        "number": F.lit(1) if number is None else number,
    }
    return event_rows(rows, position, payload, TYPES, tie=tie)
