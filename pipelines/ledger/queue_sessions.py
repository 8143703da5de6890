"""Sessions that wait in a queue and tasks that read it, from day to day."""

from pyspark.sql import DataFrame, Window, functions as F

from schemas.keys import QUEUE

SESSION = [*QUEUE, "kind", "session_id"]
DAY = [*SESSION, "event_date"]
KINDS = {"WAIT_STARTED": "WAIT", "WAIT_ENDED": "WAIT", "TASK_STARTED": "TASK", "TASK_EXITED": "TASK"}


def session_events(queue_events: DataFrame) -> DataFrame:
    """The WAIT_* and TASK_* events, with `kind` (WAIT or TASK) and `is_on`; grain and key: the event.

    A WAIT_STARTED with WHERE is no wait that a monitor counts, so the session does not wait after it
    (the design, "Activation").
    """
    kind = F.coalesce(*[F.when(F.col("event_type") == name, F.lit(kind)) for name, kind in KINDS.items()])
    waits = (F.col("event_type") == "WAIT_STARTED") & ~F.coalesce("has_where", F.lit(False))
    is_on = waits | (F.col("event_type") == "TASK_STARTED")
    return queue_events.where(F.col("event_type").isin(*KINDS)).withColumns({"kind": kind, "is_on": is_on})


def fold_queue_sessions(old: DataFrame, queue_events: DataFrame) -> DataFrame:
    """Fold queue events into the sessions' days.

    Args:
        old: `queue_sessions` rows that the events may concern: of these queues, open ones and those
            closed on the events' days or later.
        queue_events: accepted queue events; repeats and any order allowed.

    Returns:
        The `queue_sessions` table without `ledger_batch`: one row per queue, kind, session and UTC day of
        either. A row after which the session waits or runs is closed on the next day that has an event
        of the session and kind; any other row on its own day. `next_date` is a minimum like all facts:
        rows whose successor lies outside `old` keep the one they knew.
    """
    facts = ["event_date", "last", "next_date"]
    days = (
        session_events(queue_events)
        .select(
            *SESSION,
            "event_date",
            F.struct("event_time", "event_id", "is_on").alias("last"),
            F.lit(None).cast("date").alias("next_date"),
        )
        .unionByName(old.select(*SESSION, *facts))
        .groupBy(*DAY)
        .agg(F.max("last").alias("last"), F.min("next_date").alias("next_date"))
    )
    following = F.lead("event_date").over(Window.partitionBy(*SESSION).orderBy("event_date"))
    days = days.withColumn("next_date", F.least("next_date", following))
    closed_on = F.when(F.col("last.is_on"), F.col("next_date")).otherwise(F.col("event_date"))
    return days.withColumn("closed_on", closed_on)
