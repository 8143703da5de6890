"""Read queues that are off, rollbacks, and monitors that only a snapshot shows, from the warehouse."""

from datetime import datetime

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.activation.evidence import NOTIFIED, last_receives
from pipelines.activation.messages import rolled_back_transactions
from pipelines.activation.queues_off import UNKNOWN, Row
from pipelines.config.catalog import Catalog
from pipelines.config.instants import format_instant, format_written
from pipelines.config.queue_filter import name_parts
from pipelines.console.wording import format_count, format_queue
from pipelines.engine.concurrency import run_concurrently
from pipelines.state.events_before import events_before, moment_and_id
from pipelines.state.transactions import TRANSACTION
from pipelines.storage.collect import collect_rows
from pipelines.storage.monitors import activated_between, read_latest_monitors
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES, QUEUE_FACTS
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE

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


def queues_off_at(warehouse: Warehouse, as_of: datetime) -> list[Row]:
    """Find the queues that are off at a published as_of, and the messages that wait for them.

    Returns:
        One row per queue with messages in it or for it: instance, database, queue; `off_since` (a logged
        QUEUE_ALTERED; else null) and `seen_off_at` (the snapshot that shows it, where only one does);
        `messages` in the queue, `waiting` for it in the instance's transmission queues, `oldest` of both; and
        `rolled_back`: its message behind the rollbacks (POISON), null if the log has none.
        Most messages first. A row has also UNKNOWN if a version without `held_source` wrote the as_of.
    """
    in_queues, waiting = run_concurrently(
        warehouse.spark,
        lambda: collect_rows(_in_queues(warehouse, as_of)),
        lambda: collect_rows(_waiting(warehouse, as_of)),
    )
    queued = {tuple(row[name] for name in QUEUE): row for row in in_queues}
    for_queues = {tuple(name_parts(row["waits_for"])): row for row in waiting}
    poison = _rolled_back(warehouse, as_of) if queued else {}
    rows = []
    for key in {**queued, **for_queues}:
        both = [each for each in (queued.get(key), for_queues.get(key)) if each]
        rows.append(
            {
                **dict(zip(QUEUE, key, strict=True)),
                **_since_off(both[0]),
                "messages": queued[key]["messages"] if key in queued else 0,
                "waiting": for_queues[key]["messages"] if key in for_queues else 0,
                "oldest": min(each["oldest"] for each in both),
                "rolled_back": poison.get(key),
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


def _in_queues(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    schedule = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of).where("state = 'queue_off'")
    since = F.col("held_since").alias("since"), F.col("held_source").alias("source")
    return schedule.groupBy(*QUEUE, *since).agg(
        F.count(F.lit(1)).alias("messages"), F.min("arrived_at").alias("oldest")
    )


def _waiting(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of).where("waits_for is not null")
    since = F.col("waits_since").alias("since"), F.col("waits_source").alias("source")
    return schedule.groupBy("waits_for", *since).agg(
        F.count(F.lit(1)).alias("messages"), F.min("sendable_at").alias("oldest")
    )


def _since_off(row: Row) -> Row:
    source = row["source"]
    times = {"off_since": "log", "seen_off_at": "snapshot"}
    found = {name: row["since"] if source == each else None for name, each in times.items()}
    return found if source is not None else {**found, UNKNOWN: True}


def _rolled_back(warehouse: Warehouse, as_of: datetime) -> dict[tuple[str, ...], Row]:
    """The message of each queue that is off that was rolled back most often, counting up to ENOUGH times.

    Of equal ones the message that was received last counts, then the first message_id.
    """
    schedule = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of).where("state = 'queue_off'")
    times = rollbacks(warehouse, schedule.select("message_id"), as_of)
    first = Window.partitionBy(*QUEUE).orderBy(
        F.least("rollbacks", F.lit(ENOUGH)).desc(), F.desc("last_received_at"), "message_id"
    )
    rows = (
        schedule.select(*QUEUE, "message_id", "conversation_id", "conversation_group_id")
        .join(times, "message_id", "inner")
        .withColumn("number", F.row_number().over(first))
        .where("number = 1")
    )
    return {
        tuple(row[name] for name in QUEUE): {name: row[name] for name in POISON} for row in collect_rows(rows)
    }


def _is_notified(monitor: Row) -> bool:
    return (monitor["state"] or "").upper() == NOTIFIED


def _since(monitor: Row) -> datetime:
    """The moment after which a receive answers the notification."""
    activated = activated_between(monitor)
    since: datetime = monitor["taken_at"] if activated is None else activated[0]
    return since


def _last_receives(warehouse: Warehouse, as_of: datetime, since: datetime) -> dict[str, datetime]:
    """The last logged RECEIVE or RECEIVED of each queue, from a moment on and before as_of."""
    queue_events, message_events = (
        events_before(warehouse.read_open(table, since), as_of).where(F.col("event_time") >= F.lit(since))
        for table in (QUEUE_FACTS, MESSAGES)
    )
    receivers = warehouse.read_open(ENDPOINTS, since).where("queue is not null")
    last = last_receives(queue_events, message_events, receivers, QUEUE)
    return {format_queue(row): row["last_receive"] for row in collect_rows(last)}


def _advice(monitor: Row, ready: int, *, is_off: bool, was_read: bool) -> dict[str, str]:
    stand = f"{format_count(ready, 'message')} {'stands' if ready == 1 else 'stand'} in the queue"
    if is_off:
        return {"advice": "queue_off", "sentence": f"The queue is off; {stand}"}
    if ready and _is_notified(monitor) and not was_read:
        since = monitor["last_activated_time"]
        sentence = (
            f"{stand}; the monitor "
            f"{'is NOTIFIED' if since is None else f'has been NOTIFIED since {format_written(since)}'}: "
            "the application was notified and did not RECEIVE (snapshot of "
            f"{format_instant(monitor['taken_at'])})"
        )
        return {"advice": "not_received", "sentence": sentence}
    sentence = f"{stand if ready else 'No message stands in the queue'}; what readers did is not known: the "
    return {"advice": "not_known", "sentence": f"{sentence}catalog has no monitor of this queue to replay"}
