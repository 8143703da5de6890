"""Read queues that are off, rollbacks, and monitors that only a snapshot shows, from the warehouse."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.activation.evidence import NOTIFIED
from pipelines.activation.messages import rolled_back_transactions
from pipelines.activation.queues_off import Row, with_queue_off
from pipelines.config.catalog import Catalog
from pipelines.config.instants import format_instant
from pipelines.console.wording import format_count, format_queue
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import small_frame
from pipelines.schedules.ready import queues_off
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import events_before, moment_and_id
from pipelines.state.transactions import TRANSACTION
from pipelines.storage.collect import collect_rows
from pipelines.storage.monitors import read_latest_monitors
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES, QUEUE_FACTS
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE

QUEUES = "instance string, database string, queue string, is_on boolean"
NAMES = "instance string, database string, queue string"
ENOUGH = 5
"""Rollbacks in a row after which the server turns a queue off."""
POISON = (
    "message_id",
    "conversation_id",
    "conversation_group_id",
    "rollbacks",
    "last_received_at",
    "last_transaction_id",
)
"""The columns of the message behind rollbacks."""


def queues_off_at(warehouse: Warehouse, catalog: Catalog, as_of: datetime) -> list[Row]:
    """Find the queues that are off at a published as_of, and the messages that wait for them.

    Returns:
        One row per queue with messages in it or for it: instance, database, queue; `off_since` (a logged
        QUEUE_ALTERED; else null) and `seen_off_at` (the snapshot that shows it, where only one does);
        `messages` in the queue, `waiting` for it in the instance's transmission queues, `oldest` of both; and
        `rolled_back`: its message behind the rollbacks (POISON), null if the log has none.
        Most messages first.
    """
    off = _off(warehouse, catalog, as_of)
    if not off:
        return []
    queues = small_frame(warehouse.spark, [[row[name] for name in QUEUE] for row in off], NAMES)
    in_queues, waiting, poison = run_concurrently(
        warehouse.spark,
        lambda: _by_queue(_in_queues(warehouse, as_of)),
        lambda: _by_queue(_waiting(warehouse, catalog, off, as_of)),
        lambda: _by_queue(_rolled_back(warehouse, queues, as_of)),
    )
    rows = []
    for row in off:
        key = tuple(row[name] for name in QUEUE)
        queued, for_queue = in_queues.get(key), waiting.get(key)
        both = [each for each in (queued, for_queue) if each]
        if both:
            rows.append(
                {
                    **row,
                    "messages": queued["messages"] if queued else 0,
                    "waiting": for_queue["messages"] if for_queue else 0,
                    "oldest": min(each["oldest"] for each in both),
                    "rolled_back": {name: poison[key][name] for name in POISON} if key in poison else None,
                }
            )
    return sorted(rows, key=lambda row: (-row["messages"] - row["waiting"], format_queue(row)))


def unconfigured_monitors(warehouse: Warehouse, catalog: Catalog, as_of: datetime) -> list[Row]:
    """Find the monitors of the newest snapshots on queues to which the catalog gives none.

    Returns:
        One row per queue, by queue: its monitor (`read_latest_monitors`), `ready`: the
        number of messages in the queue, `advice`: queue_off if it is off and has messages, not_received if
        the monitor is NOTIFIED, the queue has messages, and the log has no receive since, else not_known, and
        `sentence`: the advice in words.
    """
    replayed = {row[:3] for row in catalog.monitor_rows()}
    monitors = [
        row
        for row in read_latest_monitors(warehouse, as_of)
        if (row["instance"], row["database"], row["queue"]) not in replayed
    ]
    if not monitors:
        return []
    groups = warehouse.read_as_of(GROUP_PRIORITIES, as_of).groupBy(*QUEUE)
    counts = groups.agg(
        F.sum("messages").alias("ready"), (F.count_if(F.col("state") == "queue_off") > 0).alias("is_off")
    )
    states = {format_queue(row): (row["ready"], row["is_off"]) for row in collect_rows(counts)}
    notified = [row for row in monitors if format_queue(row) in states and _is_notified(row)]
    # Whether a queue was read on pruned days is not known.
    of_days_left = [_since(row) for row in notified if not warehouse.is_pruned(_since(row))]
    last = _last_receives(warehouse, as_of, min(of_days_left)) if of_days_left else {}
    rows = []
    for row in monitors:
        name = format_queue(row)
        ready, is_off = states.get(name, (0, False))
        was_read = warehouse.is_pruned(_since(row)) or (name in last and last[name] >= _since(row))
        rows.append({**row, "ready": ready, **_advice(row, ready, is_off=is_off, was_read=was_read)})
    return rows


def rollbacks(warehouse: Warehouse, messages: DataFrame, as_of: datetime) -> DataFrame:
    """The number of times that messages were received and rolled back before as_of.

    Args:
        warehouse: the tables.
        messages: (message_id) of open messages, unique.
        as_of: the instant.

    Returns:
        One row per message with any: message_id, `rollbacks` (distinct transactions with a ROLLBACK and no
        COMMIT that RECEIVED it), `last_received_at` and `last_transaction_id` of the latest of them.
    """
    # A message that is left has all its transactions.
    rolled_back = rolled_back_transactions(events_before(warehouse.read_left(QUEUE_FACTS, as_of), as_of))
    received = events_before(warehouse.read_left(MESSAGES, as_of), as_of).where("event_type = 'RECEIVED'")
    return (
        F.broadcast(rolled_back)
        .join(received.select(*TRANSACTION, "message_id", "event_time", "event_id"), TRANSACTION, "inner")
        .join(messages, "message_id", "left_semi")
        .groupBy("message_id")
        .agg(
            F.count_distinct(*TRANSACTION).alias("rollbacks"),
            F.max("event_time").alias("last_received_at"),
            F.max_by("transaction_id", moment_and_id()).alias("last_transaction_id"),
        )
    )


def _off(warehouse: Warehouse, catalog: Catalog, as_of: datetime) -> list[Row]:
    """The queues that are off: by their last change, else by the catalog.

    If the day of as_of was pruned, these are the queues that are off by the published tables.
    """
    if warehouse.is_pruned(as_of):
        groups = warehouse.read_as_of(GROUP_PRIORITIES, as_of).where("state = 'queue_off'")
        rows = collect_rows(groups.select(*QUEUE).distinct())
        return [{**row, "off_since": None, "seen_off_at": None} for row in rows]
    if not warehouse.exists(QUEUE_FACTS) and all(row[3] for row in catalog.queue_rows()):
        return []
    events = events_before(warehouse.read_open(QUEUE_FACTS, as_of), as_of)
    altered = events.where("event_type = 'QUEUE_ALTERED' and queue_status is not null")
    queues = small_frame(warehouse.spark, catalog.queue_rows(), QUEUES)
    is_off = F.upper("queue_status") == "OFF"
    last_on = altered.where(~is_off).groupBy(*QUEUE).agg(F.max("event_time").alias("last_on"))
    since = (
        altered.where(is_off)
        .join(last_on, QUEUE, "left")
        .where(F.col("last_on").isNull() | (F.col("event_time") > F.col("last_on")))
        .groupBy(*QUEUE)
        .agg(
            F.min(F.when(F.col("seen_at").isNull(), F.col("event_time"))).alias("off_since"),
            F.min("seen_at").alias("seen_off_at"),
        )
    )
    rows = collect_rows(queues_off(queues, altered).select(*QUEUE).join(since, QUEUE, "left"))
    return [
        {**row, "seen_off_at": None if row["off_since"] is not None else row["seen_off_at"]} for row in rows
    ]


def _in_queues(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    groups = warehouse.read_as_of(GROUP_PRIORITIES, as_of).where("state = 'queue_off'")
    return groups.groupBy(*QUEUE).agg(
        F.sum("messages").alias("messages"), F.min("oldest_arrival").alias("oldest")
    )


def _waiting(warehouse: Warehouse, catalog: Catalog, off: Sequence[Row], as_of: datetime) -> DataFrame:
    names = [[row[name] for name in QUEUE] + [format_queue(row)] for row in off]
    queues = small_frame(warehouse.spark, names, f"{NAMES}, waits_for string")
    schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
    counts = (
        with_queue_off(schedule, catalog, off)
        .where("waits_for is not null")
        .groupBy("waits_for")
        .agg(F.count(F.lit(1)).alias("messages"), F.min("sendable_at").alias("oldest"))
    )
    return F.broadcast(queues).join(counts, "waits_for", "inner").select(*QUEUE, "messages", "oldest")


def _rolled_back(warehouse: Warehouse, off: DataFrame, as_of: datetime) -> DataFrame:
    """The message of each queue that is off that was rolled back most often, counting up to ENOUGH times.

    Of equal ones the message that was received last counts, then the first message_id.
    """
    schedule = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of).where("state = 'queue_off'")
    times = rollbacks(warehouse, schedule.select("message_id"), as_of)
    first = Window.partitionBy(*QUEUE).orderBy(
        F.least("rollbacks", F.lit(ENOUGH)).desc(), F.desc("last_received_at"), "message_id"
    )
    return (
        schedule.select(*QUEUE, "message_id", "conversation_id", "conversation_group_id")
        .join(F.broadcast(off), QUEUE, "left_semi")
        .join(times, "message_id", "inner")
        .withColumn("number", F.row_number().over(first))
        .where("number = 1")
    )


def _by_queue(rows: DataFrame) -> dict[tuple[str, ...], Row]:
    return {tuple(row[name] for name in QUEUE): row for row in collect_rows(rows)}


def _is_notified(monitor: Row) -> bool:
    return (monitor["state"] or "").upper() == NOTIFIED


def _since(monitor: Row) -> datetime:
    """The moment after which a receive answers the notification."""
    since: datetime = monitor["last_activated_time"] or monitor["taken_at"]
    return since


def _last_receives(warehouse: Warehouse, as_of: datetime, since: datetime) -> dict[str, datetime]:
    """The last logged RECEIVE or RECEIVED of each queue, from a moment on and before as_of."""
    is_logged = (F.col("event_time") >= F.lit(since)) & F.col("seen_at").isNull()
    statements, messages = (
        events_before(warehouse.read_open(table, since), as_of).where(is_logged)
        for table in (QUEUE_FACTS, MESSAGES)
    )
    received = messages.where("event_type = 'RECEIVED'").select(
        "conversation_id", (~F.col("sent_by_initiator")).alias("is_initiator"), "event_time"
    )
    with_queues = received.join(warehouse.read_open(ENDPOINTS, since).select(*SIDE, *QUEUE), SIDE, "inner")
    times = statements.where("event_type = 'RECEIVE'").select(*QUEUE, "event_time")
    rows = times.unionByName(with_queues.where("queue is not null").select(*QUEUE, "event_time"))
    last = collect_rows(rows.groupBy(*QUEUE).agg(F.max("event_time").alias("last")))
    return {format_queue(row): row["last"] for row in last}


def _advice(monitor: Row, ready: int, *, is_off: bool, was_read: bool) -> dict[str, str]:
    stand = f"{format_count(ready, 'message')} {'stands' if ready == 1 else 'stand'} in the queue"
    if is_off:
        return {"advice": "queue_off", "sentence": f"The queue is off; {stand}"}
    if ready and _is_notified(monitor) and not was_read:
        since = monitor["last_activated_time"]
        sentence = (
            f"{stand}; the monitor is NOTIFIED{'' if since is None else f' since {format_instant(since)}'}: "
            "the application was notified and did not RECEIVE (snapshot of "
            f"{format_instant(monitor['taken_at'])})"
        )
        return {"advice": "not_received", "sentence": sentence}
    sentence = f"{stand if ready else 'No message stands in the queue'}; what readers did is not known: the "
    return {"advice": "not_known", "sentence": f"{sentence}catalog has no monitor of this queue to replay"}
