"""The events that queue monitors play, as rows."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation import event_codes as codes

ORDER = ("position", "event_id", "kind")
COLUMNS = ("queue_number", *ORDER, "number")
"""`position` is `event_codes.row_position`; `number` is the session, or the number of messages."""


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
        codes.row_position(F.lit(start - 1).cast("bigint"), codes.ARRIVALS).alias("position"),
        F.lit("").alias("event_id"),
        _kind(codes.READY_BEFORE),
        "number",
    )
    begun = periods.where(begin >= start)
    arrived = begun.where("redelivered_by is null")
    returned = begun.where("redelivered_by is not null")
    one = F.lit(1).cast("bigint").alias("number")

    def one_each(rows: DataFrame, time: Column, rank: int, event_id: Column, kind: int) -> DataFrame:
        return rows.select(
            "queue_number",
            codes.row_position(time, rank).alias("position"),
            event_id.alias("event_id"),
            _kind(kind),
            one,
        )

    # Only queue events are ordered at one instant.
    none = F.lit("")
    return (
        ready_before.unionByName(one_each(arrived, begin, codes.ARRIVALS, none, codes.ARRIVAL))
        .unionByName(one_each(periods.where(until >= start), until, codes.RECEIVES, none, codes.TAKEN))
        .unionByName(
            one_each(returned, begin, codes.QUEUE_EVENTS, F.col("redelivered_by"), codes.REDELIVERED)
        )
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
        F.when((event_type == "RECEIVE") & is_empty, codes.EMPTY_RECEIVE)
        .when(event_type == "RECEIVE", codes.RECEIVE)
        .when((event_type == "GET_CONVERSATION_GROUP") & is_empty, codes.EMPTY_GET_GROUP)
        .when(event_type == "ROLLBACK", codes.ROLLBACK)
        .when((event_type == "WAIT_STARTED") & ~where, codes.WAIT_STARTED)
        .when(event_type.isin("WAIT_STARTED", "WAIT_ENDED"), codes.WAIT_ENDED)
        .when(event_type == "TASK_STARTED", codes.TASK_STARTED)
        .when(event_type == "TASK_EXITED", codes.TASK_EXITED)
        .when((event_type == "QUEUE_ALTERED") & status.isNull(), codes.ALTERED)
        .when((event_type == "QUEUE_ALTERED") & (status == "OFF"), codes.TURNED_OFF)
        .when(event_type == "QUEUE_ALTERED", codes.TURNED_ON)
    )
    time = F.unix_micros("event_time")
    rows = queue_events.select(
        "queue_number",
        codes.row_position(time, codes.QUEUE_EVENTS).alias("position"),
        "event_id",
        kind.cast("int").alias("kind"),
        F.coalesce("session_id", F.lit(codes.NO_SESSION).cast("bigint")).alias("number"),
        (time >= start).alias("is_within"),
    )
    counts = F.col("kind").isNotNull() & (F.col("is_within") | ~F.col("kind").isin(*codes.CHECKED_ONLY))
    return rows.where(counts).select(*COLUMNS)


def _kind(kind: int) -> Column:
    return F.lit(kind).cast("int").alias("kind")
