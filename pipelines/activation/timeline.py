"""Everything that a replay plays, as rows in the order in which it plays them."""

from datetime import date, datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation import happenings as h

ORDER = ("queue_number", "time", "rank", "event_id", "kind")
COLUMNS = (*ORDER, "session")


def timeline(*parts: DataFrame) -> DataFrame:
    """Put the parts together, a queue in one partition and in order.

    Args:
        parts: frames of this module, each with `queue_number`, `time` (microseconds), `rank`, `event_id`,
            `kind` and `session`.

    Returns:
        queue_number, time, kind, session; sorted within partitions, and no queue in two of them.
    """
    rows = reduce(DataFrame.unionByName, [part.select(*COLUMNS) for part in parts])
    sorted_rows = rows.repartition("queue_number").sortWithinPartitions(*ORDER)
    return sorted_rows.select("queue_number", "time", "kind", "session")


def of_messages(messages: DataFrame, *, start: int) -> DataFrame:
    """What happens to the messages in the window, and before it one row per message that is ready then.

    Args:
        messages: `with_changes`.
        start: start of the window, in microseconds.
    """
    before = F.filter("changes", lambda change: change.time < start)

    def counted(*kinds: int) -> Column:
        return F.size(F.filter(before, lambda change: change.kind.isin(*kinds)))

    was_ready = counted(h.ARRIVAL, h.GIVEN_BACK) > counted(h.TAKEN)
    ready = F.struct(
        F.lit(start - 1).cast("bigint").alias("time"),
        F.lit(h.ARRIVALS).alias("rank"),
        F.lit("").alias("event_id"),
        F.lit(h.GIVEN_BACK).alias("kind"),
    )
    within = F.filter("changes", lambda change: change.time >= start)
    # A message that came within the window has no past to add up.
    changes = (
        F.when(F.col("arrived") >= start, F.col("changes"))
        .when(was_ready, F.concat(F.array(ready), within))
        .otherwise(within)
    )
    return messages.select("queue_number", F.inline(changes)).withColumn("session", _no_session())


def of_queue_events(queue_events: DataFrame) -> DataFrame:
    """The queue events that a monitor looks at.

    Args:
        queue_events: accepted queue events with `queue_number`.
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
    rows = queue_events.select(
        "queue_number",
        F.unix_micros("event_time").alias("time"),
        F.lit(h.QUEUE_EVENTS).alias("rank"),
        "event_id",
        kind.alias("kind"),
        F.coalesce("session_id", _no_session()).alias("session"),
    )
    return rows.where("kind is not null")


def of_sessions(sessions: DataFrame, *, day: date) -> DataFrame:
    """The sessions that wait and the tasks that run when a UTC day begins.

    Args:
        sessions: `queue_sessions` rows with `queue_number`.
        day: the day.
    """
    carried = sessions.where(
        (F.col("event_date") < F.lit(day))
        & F.col("last.is_on")
        & (F.col("next_date").isNull() | (F.col("next_date") >= F.lit(day)))
    )
    return carried.select(
        "queue_number",
        F.unix_micros("last.event_time").alias("time"),
        F.lit(h.QUEUE_EVENTS).alias("rank"),
        F.col("last.event_id").alias("event_id"),
        F.when(F.col("kind") == "WAIT", h.WAIT_STARTED).otherwise(h.TASK_STARTED).alias("kind"),
        F.coalesce("session_id", _no_session()).alias("session"),
    )


def of_queue_changes(changes: DataFrame, *, before: datetime) -> DataFrame:
    """The last time before a moment that each queue was turned on or off.

    Args:
        changes: `queue_changes` rows with `queue_number`.
        before: the moment.
    """
    last = (
        changes.where(F.col("event_time") < F.lit(before))
        .groupBy("queue_number")
        .agg(F.max(F.struct("event_time", "event_id", "is_on")).alias("last"))
    )
    return last.select(
        "queue_number",
        F.unix_micros("last.event_time").alias("time"),
        F.lit(h.QUEUE_EVENTS).alias("rank"),
        F.col("last.event_id").alias("event_id"),
        F.when(F.col("last.is_on"), h.TURNED_ON).otherwise(h.TURNED_OFF).alias("kind"),
        _no_session().alias("session"),
    )


def _no_session() -> Column:
    return F.lit(h.NO_SESSION).cast("bigint")
