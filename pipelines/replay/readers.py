"""The number of readers of each queue, by the log."""

from dataclasses import replace
from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.replay.request import Period
from pipelines.replay.transactions import READER, has_where, reads
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import LOCKING
from schemas.keys import QUEUE

READING = (*LOCKING, "WAIT_STARTED")
"""Events of a session that reads, if the statement has no WHERE."""
MICROSECOND = timedelta(microseconds=1)


def logged_readers(
    ledger: Ledger, outcomes: DataFrame, receivers: DataFrame, period: Period, *, queues: DataFrame
) -> DataFrame:
    """The number of readers of each queue, from moment to moment.

    Args:
        ledger: the rows that can matter, with events of any time.
        outcomes: `transactions.outcomes`.
        receivers: `receivers`.
        period: the period that is played.
        queues: (instance, database, queue) of the queues that are played, unique.

    Returns:
        (instance, database, queue, moment, readers), a row whenever the number changes, the first of a queue
        at the start of the period. A ledger without queue events gives no rows: nothing is known.

    A session exists from its first to its last event, both inclusive, in the span from 24 hours before the
    period to 24 hours after it; TASK_EXITED ends it. It reads if it has a RECEIVE, GET_CONVERSATION_GROUP or
    WAIT_STARTED without WHERE. A queue without session ids has in each UTC hour as many readers as
    transactions were open at once at most, each from its first receive without WHERE to its outcome;
    transactions without outcome are not counted. Sessions that a snapshot shows count for its moment only,
    and are no evidence that the log has session ids.
    """
    around = period.around
    time = F.col("event_time")
    near = ledger.queue_events.where((time >= F.lit(around.start)) & (time < F.lit(around.end)))
    sessions = near.where("session_id is not null")
    with_sessions = F.broadcast(sessions.where("seen_at is null").select(*QUEUE).distinct())
    by_sessions = _by_sessions(with_sessions.join(sessions, QUEUE), period)
    if not ledger.has_queue_events:
        return by_sessions
    others = replace(ledger, queue_events=ledger.queue_events.join(with_sessions, QUEUE, "left_anti"))
    transactions = _transactions(others, outcomes, receivers.join(with_sessions, QUEUE, "left_anti"))
    return by_sessions.unionByName(
        _by_hours(transactions, queues.join(with_sessions, QUEUE, "left_anti"), period)
    )


def _by_sessions(sessions: DataFrame, period: Period) -> DataFrame:
    """The number of sessions that exist and read."""
    event_type = F.col("event_type")
    in_order = Window.partitionBy(*QUEUE, "session_id").orderBy("event_time", "event_id")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    exits = F.count(F.when(event_type == "TASK_EXITED", 1)).over(before)
    reads = event_type.isin(*READING) & ~has_where()
    reading = (
        sessions.withColumn("life", exits)
        .groupBy(*QUEUE, "session_id", "life")
        .agg(
            F.min("event_time").alias("first_at"),
            F.max("event_time").alias("last_at"),
            F.count(F.when(reads, 1)).alias("reads"),
        )
        .where("reads > 0")
        .where((F.col("last_at") >= F.lit(period.start)) & (F.col("first_at") < F.lit(period.end)))
    )
    begin = F.greatest("first_at", F.lit(period.start))
    changes = _from_until(reading, begin, F.col("last_at") + F.lit(MICROSECOND))
    none = (
        sessions.select(*QUEUE)
        .distinct()
        .select(*QUEUE, F.lit(period.start).alias("moment"), F.lit(0).alias("change"))
    )
    return _summed(changes.unionByName(none)).where(F.col("moment") < F.lit(period.end))


def _from_until(rows: DataFrame, begin: Column, end: Column) -> DataFrame:
    """Count each row from one moment to another: (queue, moment, change)."""
    counted, ended = (
        F.struct(moment.alias("moment"), F.lit(change).alias("change"))
        for moment, change in ((begin, 1), (end, -1))
    )
    return rows.select(*QUEUE, F.explode(F.array(counted, ended)).alias("step")).select(*QUEUE, "step.*")


def _transactions(ledger: Ledger, outcomes: DataFrame, receivers: DataFrame) -> DataFrame:
    """Transactions with an outcome, on each queue that they read: (queue, begun_at, outcome_at)."""
    begun = reads(ledger, receivers).groupBy(*QUEUE, *READER).agg(F.min("event_time").alias("begun_at"))
    ended = outcomes.withColumnRenamed("instance", "of_instance").select(*READER, "outcome_at")
    return begun.join(ended, READER).where("begun_at < outcome_at")


def _by_hours(transactions: DataFrame, queues: DataFrame, period: Period) -> DataFrame:
    """The largest number that was open at once on each of the queues, in each UTC hour."""
    changes = _from_until(transactions, F.col("begun_at"), F.col("outcome_at"))
    first = F.date_trunc("hour", F.lit(period.start))
    last = F.date_trunc("hour", F.lit(max(period.start, period.end - MICROSECOND)))
    hours = F.explode(F.sequence(first, last, F.expr("interval 1 hour")))
    beginnings = queues.select(*QUEUE, hours.alias("moment"), F.lit(0).alias("change"))
    open_then = _summed(changes.unionByName(beginnings))
    hour = F.date_trunc("hour", F.col("moment"))
    by_hour = open_then.groupBy(*QUEUE, hour.alias("hour")).agg(F.max("readers").alias("readers"))
    in_period = by_hour.where((F.col("hour") >= first) & (F.col("hour") <= last)).select(
        *QUEUE, F.greatest("hour", F.lit(period.start)).alias("moment"), "readers"
    )
    return in_period.where(F.col("moment") < F.lit(period.end))


def _summed(changes: DataFrame) -> DataFrame:
    """The running number from its changes: (queue, moment, readers)."""
    so_far = Window.partitionBy(*QUEUE).orderBy("moment")
    at_once = changes.groupBy(*QUEUE, "moment").agg(F.sum("change").alias("change"))
    return at_once.select(*QUEUE, "moment", F.sum("change").over(so_far).cast("bigint").alias("readers"))
