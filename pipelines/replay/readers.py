"""How many readers a queue had, by the log."""

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.replay.filtered_receives import has_where, received_by_where
from pipelines.replay.period import Period
from pipelines.replay.receivers import receiving
from pipelines.state.transactions import LOCKING, TRANSACTION
from schemas.keys import QUEUE

READING = (*LOCKING, "WAIT_STARTED")
"""What a session does that reads, where the statement has no WHERE."""
MICROSECOND = timedelta(microseconds=1)


def logged_readers(
    message_events: DataFrame,
    queue_events: DataFrame,
    endpoint_events: DataFrame,
    ended: DataFrame,
    receivers: DataFrame,
    period: Period,
    *,
    queues: DataFrame | None,
) -> DataFrame:
    """The number of readers of each queue, from moment to moment.

    Args:
        message_events: message events that may matter, whatever their time.
        queue_events: queue events that may matter, whatever their time.
        endpoint_events: endpoint events that may matter, for their moves.
        ended: `transactions.outcomes`.
        receivers: `receivers`.
        period: what is played.
        queues: (instance, database, queue) of those that are played, unique; None without any queue events.

    Returns:
        (instance, database, queue, moment, readers), a row whenever the number changes, the first of a queue
        as the period begins. Without any queue events nothing is known, and there are no rows.

    A session is there from its first to its last event from 24 hours before the period to 24 hours after
    it, both inclusive; TASK_EXITED ends it. It reads if it has a RECEIVE, GET_CONVERSATION_GROUP or
    WAIT_STARTED without WHERE. A queue without session ids has as many readers in each UTC hour as
    transactions were open at once at most, each from its first receive without WHERE; those without outcome
    don't count. What a snapshot shows are
    sessions too, but of a moment: it does not tell that the log has session ids. Source: our choice.
    """
    around = period.around
    time = F.col("event_time")
    near = queue_events.where((time >= F.lit(around.start)) & (time < F.lit(around.end)))
    sessions = near.where("session_id is not null")
    known = F.broadcast(sessions.where("seen_at is null").select(*QUEUE).distinct())
    of_sessions = _by_sessions(known.join(sessions, QUEUE), period)
    if queues is None:
        return of_sessions
    others = _transactions(
        message_events,
        queue_events.join(known, QUEUE, "left_anti"),
        endpoint_events,
        ended,
        receivers.join(known, QUEUE, "left_anti"),
    )
    return of_sessions.unionByName(_by_hours(others, queues.join(known, QUEUE, "left_anti"), period))


def _by_sessions(sessions: DataFrame, period: Period) -> DataFrame:
    """The number of sessions that are there and read."""
    event_type = F.col("event_type")
    in_order = Window.partitionBy(*QUEUE, "session_id").orderBy("event_time", "event_id")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    exits = F.count(F.when(event_type == "TASK_EXITED", 1)).over(before)
    reads = event_type.isin(*READING) & ~has_where()
    there = (
        sessions.withColumn("life", exits)
        .groupBy(*QUEUE, "session_id", "life")
        .agg(
            F.min("event_time").alias("first_at"),
            F.max("event_time").alias("last_at"),
            F.count(F.when(reads, 1)).alias("reading"),
        )
        .where("reading > 0")
        .where((F.col("last_at") >= F.lit(period.start)) & (F.col("first_at") < F.lit(period.end)))
    )
    begin = F.greatest("first_at", F.lit(period.start))
    changes = _from_until(there, begin, F.col("last_at") + F.lit(MICROSECOND))
    none = (
        sessions.select(*QUEUE)
        .distinct()
        .select(*QUEUE, F.lit(period.start).alias("moment"), F.lit(0).alias("change"))
    )
    return _summed(changes.unionByName(none)).where(F.col("moment") < F.lit(period.end))


def _from_until(rows: DataFrame, begin: Column, end: Column) -> DataFrame:
    """Count each row from a moment until another one: (queue, moment, change)."""
    counted, ended = (
        F.struct(moment.alias("moment"), F.lit(change).alias("change"))
        for moment, change in ((begin, 1), (end, -1))
    )
    return rows.select(*QUEUE, F.explode(F.array(counted, ended)).alias("step")).select(*QUEUE, "step.*")


def _transactions(
    message_events: DataFrame,
    queue_events: DataFrame,
    endpoint_events: DataFrame,
    ended: DataFrame,
    receivers: DataFrame,
) -> DataFrame:
    """Transactions with an outcome, on each queue that they read: (queue, begun_at, outcome_at)."""
    of_queues = queue_events.where(
        F.col("event_type").isin(*LOCKING) & F.col("transaction_id").isNotNull() & ~has_where()
    ).select(*QUEUE, F.col("instance").alias("of_instance"), "transaction_id", "event_time")
    in_transactions = message_events.where("event_type = 'RECEIVED' and transaction_id is not null")
    by_where = received_by_where(
        in_transactions, queue_events.where("transaction_id is not null"), endpoint_events, receivers
    )
    of_receipt = ["message_id", "of_instance", "transaction_id", "event_time"]
    received = in_transactions.withColumnRenamed("instance", "of_instance").select(
        "conversation_id", "sent_by_initiator", *of_receipt
    )
    here = receivers.select("conversation_id", "is_initiator", *QUEUE)
    reading = receiving(received, here).join(
        by_where.withColumnRenamed("instance", "of_instance"), of_receipt, "left_anti"
    )
    taking = of_queues.unionByName(reading.select(*QUEUE, "of_instance", "transaction_id", "event_time"))
    begun = taking.groupBy(*QUEUE, "of_instance", "transaction_id").agg(F.min("event_time").alias("begun_at"))
    known = ended.select(F.col("instance").alias("of_instance"), TRANSACTION[1], "outcome_at")
    return begun.join(known, ["of_instance", "transaction_id"]).where("begun_at < outcome_at")


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
