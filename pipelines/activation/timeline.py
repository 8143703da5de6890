"""Everything that a replay plays, as rows."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation import event_codes as h

ORDER = ("place", "event_id", "kind")
COLUMNS = ("queue_number", *ORDER, "number")
"""`place` says when (`happenings.place`); `number` is the session, or how many messages."""


def period_rows(periods: DataFrame, *, start: int) -> DataFrame:
    """What happens to the messages in the window, and before it how many are ready then.

    Args:
        periods: see `pipelines.activation.ready`.
        start: start of the window, in microseconds.
    """
    begin, until = F.col("ready_from"), F.col("ready_until")
    before = periods.where((begin < start) & (until.isNull() | (until >= start))).groupBy("queue_number")
    ready_before = before.agg(F.count(F.lit(1)).alias("number")).select(
        "queue_number",
        # The instant before the window.
        h.row_position(F.lit(start - 1).cast("bigint"), h.ARRIVALS).alias("place"),
        F.lit("").alias("event_id"),
        _kind(h.READY_BEFORE),
        "number",
    )
    begun = periods.where(begin >= start)
    arrived = begun.where("given_back_by is null")
    returned = begun.where("given_back_by is not null")
    one = F.lit(1).cast("bigint").alias("number")

    def one_each(rows: DataFrame, time: Column, rank: int, event_id: Column, kind: int) -> DataFrame:
        return rows.select(
            "queue_number",
            h.row_position(time, rank).alias("place"),
            event_id.alias("event_id"),
            _kind(kind),
            one,
        )

    # At one instant nothing but queue events has an order.
    none = F.lit("")
    return (
        ready_before.unionByName(one_each(arrived, begin, h.ARRIVALS, none, h.ARRIVAL))
        .unionByName(one_each(periods.where(until >= start), until, h.RECEIVES, none, h.TAKEN))
        .unionByName(one_each(returned, begin, h.QUEUE_EVENTS, F.col("given_back_by"), h.GIVEN_BACK))
    )


def queue_event_rows(queue_events: DataFrame, *, start: int) -> DataFrame:
    """The queue events that a monitor looks at; before the window only those that say how it begins.

    Args:
        queue_events: the queue events before as_of with `queue_number`.
        start: start of the window, in microseconds.
    """
    event_type = F.col("event_type")
    where = F.coalesce("has_where", F.lit(False))
    is_empty = F.coalesce((F.col("row_count") == 0) & ~where, F.lit(False))
    status = F.upper("queue_status")
    kind = (
        F.when((event_type == "RECEIVE") & is_empty, h.EMPTY_RECEIVE)
        .when(event_type == "RECEIVE", h.RECEIVE)
        .when((event_type == "GET_CONVERSATION_GROUP") & is_empty, h.EMPTY_GET_GROUP)
        .when(event_type == "ROLLBACK", h.ROLLBACK)
        .when((event_type == "WAIT_STARTED") & ~where, h.WAIT_STARTED)
        .when(event_type.isin("WAIT_STARTED", "WAIT_ENDED"), h.WAIT_ENDED)
        .when(event_type == "TASK_STARTED", h.TASK_STARTED)
        .when(event_type == "TASK_EXITED", h.TASK_EXITED)
        .when((event_type == "QUEUE_ALTERED") & status.isNull(), h.ALTERED)
        .when((event_type == "QUEUE_ALTERED") & (status == "OFF"), h.TURNED_OFF)
        .when(event_type == "QUEUE_ALTERED", h.TURNED_ON)
    )
    time = F.unix_micros("event_time")
    rows = queue_events.select(
        "queue_number",
        h.row_position(time, h.QUEUE_EVENTS).alias("place"),
        "event_id",
        kind.cast("int").alias("kind"),
        F.coalesce("session_id", F.lit(h.NO_SESSION).cast("bigint")).alias("number"),
        (time >= start).alias("is_within"),
    )
    counts = F.col("kind").isNotNull() & (F.col("is_within") | ~F.col("kind").isin(*h.CHECKED_ONLY))
    return rows.where(counts).select(*COLUMNS)


def _kind(kind: int) -> Column:
    return F.lit(kind).cast("int").alias("kind")
