"""Evidence about readers: events that the log lacks are unknown, and can have happened."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, functions as F

from pipelines.state.endpoints import SIDE
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import OUTCOMES

LOGGED = ("has_queue_events", "has_receives", "has_outcomes")
NOTIFIED = "NOTIFIED"
STARTING = 10
"""Seconds that a started procedure can take to reach its RECEIVE."""


@dataclass(frozen=True)
class Evidence:
    """Evidence of the log and of snapshots about readers, beside the replay.

    Attributes:
        logged: (instance, *LOGGED), unique by the first: whether the log has in the window any queue event of
            the instance, any receive (a RECEIVE, GET_CONVERSATION_GROUP or RECEIVED), any COMMIT or ROLLBACK.
            Facts of snapshots do not count. Instances without any have no row.
        seen_off: (queue_number, off_since, off_seen_at): the moments, in microseconds, at which only a
            snapshot shows the queue off, and when that was taken.
        notified: (queue_number, notified_at, notified_since, tasks_running), unique by the first: the queues
            of which the newest snapshot shows the monitor as NOTIFIED, and the log has no receive since the
            monitor's last activation. None if no snapshot shows a monitor.
    """

    logged: DataFrame
    seen_off: DataFrame
    notified: DataFrame | None


def evidence_of_window(
    ledger: Ledger,
    receivers: DataFrame,
    monitored_events: DataFrame,
    monitors: DataFrame | None,
    *,
    start: int,
) -> Evidence:
    """Find what the log and the snapshots say of readers in the window.

    Args:
        ledger: the events before as_of.
        receivers: (conversation_id, is_initiator, queue_number, ...) of the endpoints of monitored queues.
        monitored_events: the queue events before as_of of monitored queues, with `queue_number`.
        monitors: `pipelines.activation.write.SNAPSHOT_MONITORS` as the newest snapshots show them, unique by
            queue_number; None if they show none.
        start: start of the window, in microseconds.
    """
    is_within = F.unix_micros("event_time") >= start
    events = ledger.queue_events.where(is_within & F.col("seen_at").isNull())
    received = ledger.message_events.where(
        is_within & F.col("seen_at").isNull() & (F.col("event_type") == "RECEIVED")
    )
    no, yes = F.lit(0), F.lit(1)
    facts = events.select(
        "instance",
        yes.alias("has_queue_events"),
        F.col("event_type").isin("RECEIVE", "GET_CONVERSATION_GROUP").cast("int").alias("has_receives"),
        F.col("event_type").isin(*OUTCOMES).cast("int").alias("has_outcomes"),
    ).unionByName(
        received.select(
            "instance", no.alias("has_queue_events"), yes.alias("has_receives"), no.alias("has_outcomes")
        )
    )
    logged = facts.groupBy("instance").agg(*[(F.max(name) > 0).alias(name) for name in LOGGED])
    offs = monitored_events.where("event_type = 'QUEUE_ALTERED' and upper(queue_status) = 'OFF'")
    seen_off = (
        offs.groupBy("queue_number", F.unix_micros("event_time").alias("off_since"))
        .agg(F.max("seen_at").alias("off_seen_at"), F.count_if(F.col("seen_at").isNull()).alias("logged"))
        .where("logged = 0")
        .drop("logged")
    )
    if monitors is None:
        return Evidence(logged, seen_off, None)
    notified = _notified(monitors, monitored_events, ledger.message_events, receivers)
    return Evidence(logged, seen_off, notified)


def _notified(
    monitors: DataFrame, monitored_events: DataFrame, message_events: DataFrame, receivers: DataFrame
) -> DataFrame:
    notified = monitors.where(F.upper("state") == NOTIFIED)
    receivers_of_notified = F.broadcast(notified.select("queue_number")).join(
        receivers, "queue_number", "inner"
    )
    last = last_receives(monitored_events, message_events, receivers_of_notified, ["queue_number"])
    since = F.coalesce("activated_from", "taken_at")
    waited = F.unix_seconds("taken_at") - F.unix_seconds("activated_until")
    return (
        notified.join(last, "queue_number", "left")
        .where(F.col("last_receive").isNull() | (F.col("last_receive") < since))
        .where(F.col("activated_until").isNull() | (waited >= STARTING))
        .select(
            "queue_number",
            F.col("taken_at").alias("notified_at"),
            F.col("last_activated_time").alias("notified_since"),
            "tasks_running",
        )
    )


def last_receives(
    queue_events: DataFrame, message_events: DataFrame, receivers: DataFrame, queue: Sequence[str]
) -> DataFrame:
    """The last logged RECEIVE or RECEIVED of each queue; facts of snapshots do not count.

    Args:
        queue_events: the queue events that count, with the columns of the queue.
        message_events: the message events that count.
        receivers: endpoints with the columns of their queue; key (conversation_id, is_initiator).
        queue: the columns that name a queue.

    Returns:
        One row per queue with any: `last_receive`.
    """
    statements = queue_events.where("event_type = 'RECEIVE' and seen_at is null")
    received = message_events.where("event_type = 'RECEIVED' and seen_at is null").select(
        "conversation_id", (~F.col("sent_by_initiator")).alias("is_initiator"), "event_time"
    )
    of_messages = receivers.select(*SIDE, *queue).join(received, SIDE, "inner")
    both = statements.select(*queue, "event_time").unionByName(of_messages.select(*queue, "event_time"))
    return both.groupBy(*queue).agg(F.max("event_time").alias("last_receive"))
