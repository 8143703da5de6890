"""The queue events that no message causes: tasks that come and go, waits that end empty, ALTER QUEUE."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.generate.plan import Plan
from pipelines.generate.world import MINUTE, SECOND


def reader_events(readers: DataFrame, *, plan: Plan) -> DataFrame:
    """Log the readers of the queues.

    A task starts, works, waits in RECEIVE for a minute at last, gets nothing and exits; the next one starts
    when its time comes.

    Args:
        readers: one row per queue with the fields of Reader.
        plan: how much of what.

    Returns:
        The columns of the queue_events contract, `at` (event_time in microseconds), and `c`: the conversation
        that begins about then, which decides the part of the log.
    """
    span = plan.volume.cut_us - plan.volume.start_us
    zero = F.lit(0).cast("bigint")
    tasks = (
        readers.withColumn("turn", F.explode(F.sequence(zero, F.floor(F.lit(span) / F.col("period")))))
        .withColumn("task", F.explode(F.sequence(zero, F.greatest("tasks", F.lit(1)) - 1)))
        .withColumn("happening", F.explode(_happenings(plan)))
        .select("*", "happening.*")
        .withColumn("at", F.col("at") + F.col("skew"))
        .where((F.col("at") < plan.volume.cut_us) & (F.col("at") >= plan.volume.start_us))
    )
    kind = F.col("event_type")
    ids = (F.col("ordinal"), F.col("turn"), F.col("task"), F.col("step"))
    return tasks.select(
        F.floor((F.col("at") - plan.volume.start_us) / span * plan.drawn).alias("c"),
        "at",
        plan.volume.draws.uuid("reader event", *ids).alias("event_id"),
        F.timestamp_micros("at").alias("event_time"),
        "instance",
        "database",
        "queue",
        "event_type",
        F.when(kind != "QUEUE_ALTERED", F.col("session") + F.col("task")).alias("session_id"),
        F.lit(None).cast("string").alias("transaction_id"),
        F.lit(None).cast("string").alias("conversation_group_id"),
        F.when(kind.isin("RECEIVE", "WAIT_STARTED"), F.lit(False)).alias("has_where"),
        F.when(kind == "RECEIVE", F.lit(0)).cast("bigint").alias("row_count"),
        "queue_status",
    )


def _happenings(plan: Plan) -> Column:
    """What a task does, and once per queue what is done to the queue."""
    start = plan.volume.start_us + F.col("turn") * F.col("period") + F.col("task") * 17 * SECOND + 1
    end = start + F.col("period") - 3 * MINUTE
    has_tasks = F.col("tasks") > 0
    starts = has_tasks & (F.col("busy_from").isNull() | (start < F.col("busy_from")))
    exits = has_tasks & (F.col("busy_from").isNull() | (end < F.col("busy_from")))
    once = (F.col("turn") == 0) & (F.col("task") == 0)
    last = (F.col("turn") == 0) & (F.col("task") == F.greatest("tasks", F.lit(1)) - 1)
    steps = [
        ("TASK_STARTED", F.when(starts, start), None),
        ("WAIT_STARTED", F.when(exits, end - MINUTE), None),
        ("WAIT_ENDED", F.when(exits, end), None),
        ("RECEIVE", F.when(exits, end + 500), None),
        ("TASK_EXITED", F.when(exits, end + 20_000), None),
        ("RECEIVE", F.when(last, F.col("waits_from")), None),
        ("WAIT_STARTED", F.when(last, F.col("waits_from") + 2_000), None),
        ("QUEUE_ALTERED", F.when(once, F.col("off_from")), "OFF"),
        ("QUEUE_ALTERED", F.when(once, F.col("off_until")), "ON"),
        ("QUEUE_ALTERED", F.when(once, F.col("altered_at")), None),
    ]
    return F.array(
        *[
            F.struct(
                F.lit(step).alias("step"),
                F.lit(event_type).alias("event_type"),
                at.alias("at"),
                F.lit(status).cast("string").alias("queue_status"),
            )
            for step, (event_type, at, status) in enumerate(steps)
        ]
    )
