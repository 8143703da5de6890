"""What is known of receives: the last one of each queue, rolled-back messages, locks of groups."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.catalog import BINDINGS, Catalog
from pipelines.engine.frames import small_frame
from pipelines.state.endpoints import SIDE, endpoints_at
from pipelines.state.events_before import moment_and_id, moment_of
from pipelines.state.messages import is_sight_of_message, shown_last
from pipelines.state.transactions import TRANSACTION
from pipelines.storage.collect import collect_rows
from pipelines.why.monitors import RECEIVING, QueueName, ShownMonitor, static_reasons
from pipelines.why.read import PublishedTables
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.keys import GROUP, QUEUE
from schemas.ledger import ENDPOINTS

LOOKBACK = timedelta(days=1)
"""Queues without a receive in so long a time are looked up in the whole log."""
RECEIVES = (
    "last_receive timestamp, notified_at timestamp, silence string, due_until timestamp, is_known boolean, "
    "still_since timestamp"
)
Receives = tuple[datetime | None, datetime | None, str | None, datetime | None, bool, datetime | None]
"""The values of RECEIVES."""


def receives_of(
    tables: PublishedTables,
    catalog: Catalog,
    queues: Iterable[QueueName],
    monitors: Mapping[QueueName, ShownMonitor],
    *,
    is_activation_computed: bool,
) -> dict[QueueName, Receives]:
    """What is known of the receives of queues.

    Args:
        tables: what to read.
        catalog: the monitors.
        queues: those that have ready messages.
        monitors: `shown_monitors`.
        is_activation_computed: whether `activation` has the rows of as_of.

    Returns:
        RECEIVES by queue: `last_receive` before as_of; `notified_at`, since when a snapshot shows its monitor
        as NOTIFIED; `silence`, the reason that nothing was received, null if not known; `due_until`, up to
        which the monitor checked (null unless a reason depends on it); `is_known`, whether the log has
        receives of the instance; `still_since`, the first of the complete views up to the newest one between
        which no message left the queue, where its monitor is RECEIVES_OCCURRING.
    """
    wanted = sorted(queues)
    known, last = _last_receives(tables, wanted)
    reasons = _reasons(tables, wanted) if is_activation_computed else {}
    static = static_reasons(catalog, wanted)
    receiving = [queue for queue in wanted if queue in monitors and monitors[queue].is_receiving]
    still = _still_queues(tables, receiving)
    found: dict[QueueName, Receives] = {}
    for queue in wanted:
        reason, due_until = static.get(queue), None
        if reason is None and is_activation_computed:
            reason, due_until = reasons.get(queue, ("not_due", None))
        at = monitors[queue].notified_at if queue in monitors else None
        found[queue] = (last.get(queue), at, reason, due_until, queue[0] in known, still.get(queue))
    return found


def not_received() -> tuple[Column, Column, Column]:
    """Whether nothing was received from a row's queue since it arrived, why, and since when that is known.

    The columns are those of `placed_rows` and `receives_of`.
    """
    since, last = F.col("since"), F.col("last_receive")
    is_silent = last.isNull() | (last < since)
    was_notified = F.coalesce(F.col("notified_at") <= since, F.lit(False))
    is_still = F.coalesce(since <= F.col("still_since"), F.lit(False)) & ~F.col("is_known") & ~was_notified
    holds = (F.col("state") == "ready") & is_silent & (F.col("is_known") | was_notified | is_still)
    is_due = F.col("due_until").isNull() | (F.col("due_until") >= since)
    reason = (
        F.when(was_notified, F.lit("notified"))
        .when(is_still, F.lit(RECEIVING.lower()))
        .when(is_due, F.col("silence"))
        .otherwise("not_due")
    )
    known_since = F.when(is_still, F.col("still_since")).otherwise(since)
    return F.coalesce(holds, F.lit(False)), reason, known_since


def _still_queues(tables: PublishedTables, queues: list[QueueName]) -> dict[QueueName, datetime]:
    """The first of the complete views of each queue, up to the newest, between which no message left it."""
    if not queues:
        return {}
    views = tables.complete_views_of_queues()
    times = F.min("taken_at").alias("first"), F.max("taken_at").alias("newest")
    taken = {
        (row["instance"], row["database"], row["queue"]): (row["first"], row["newest"])
        for row in collect_rows(views.groupBy(*QUEUE).agg(*times).where("first < newest"))
    }
    taken = {queue: taken[queue] for queue in queues if queue in taken}
    if not taken:
        return {}
    newest = small_frame(
        tables.spark,
        [(*queue, last) for queue, (_, last) in taken.items()],
        "instance string, database string, queue string, newest timestamp",
    )
    first = min(each for each, _ in taken.values())
    shown = tables.left(MESSAGES, first).where(is_sight_of_message() & F.col("seen_at").isNotNull())
    last = (
        F.broadcast(newest)
        .join(shown.drop("queue").withColumnRenamed("shown_queue", "queue"), QUEUE, "inner")
        .where("seen_at <= newest")
        .groupBy(*QUEUE, "newest", "message_id")
        .agg(F.max(F.least(shown_last(), F.col("newest"))).alias("last"))
    )
    left = last.groupBy(*QUEUE).agg(
        F.max(F.when(F.col("last") < F.col("newest"), F.col("last"))).alias("left")
    )
    later = views.join(left, QUEUE).where("left is null or taken_at > left")
    found = {
        (row["instance"], row["database"], row["queue"]): row["since"]
        for row in collect_rows(later.groupBy(*QUEUE).agg(F.min("taken_at").alias("since")))
    }
    return {queue: since for queue, since in found.items() if since < taken[queue][1]}


def _last_receives(
    tables: PublishedTables, queues: list[QueueName]
) -> tuple[set[str], dict[QueueName, datetime]]:
    """The instances whose log has a queue event or a RECEIVED before as_of, and the last receives there.

    Snapshots do not count.
    """
    known, last = _last_since(tables, tables.as_of - LOOKBACK) if queues else (set(), {})
    if any(queue[0] not in known or queue not in last for queue in queues):
        known, of_log = _last_since(tables, None)
        last = {**of_log, **last}
    return known, {queue: moment for queue, moment in last.items() if queue[0] in known}


def _last_since(
    tables: PublishedTables, since: datetime | None
) -> tuple[set[str], dict[QueueName, datetime]]:
    """The instances that logged such an event, and the last receive of each queue, from a moment on."""
    received = (
        tables.logged(MESSAGES, since)
        .where("event_type = 'RECEIVED'")
        .select(
            "conversation_id",
            (~F.col("sent_by_initiator")).alias("is_initiator"),
            F.col("instance").alias("logged_by"),
            F.col("event_time").alias("received_at"),
        )
    )
    of_messages = received.join(tables.left(ENDPOINTS, since).select(*SIDE, *QUEUE), SIDE, "left").drop(*SIDE)
    statements = tables.logged(QUEUE_FACTS, since).select(
        F.col("instance").alias("logged_by"),
        F.when(F.col("event_type") == "RECEIVE", F.col("event_time")).alias("received_at"),
        *QUEUE,
    )
    events = statements.unionByName(of_messages)
    rows = collect_rows(events.groupBy("logged_by", *QUEUE).agg(F.max("received_at").alias("last")))
    last: dict[QueueName, datetime] = {}
    for row in rows:
        queue = (row["instance"], row["database"], row["queue"])
        if row["last"] is not None and row["queue"] is not None:
            last[queue] = max(last.get(queue, row["last"]), row["last"])
    return {row["logged_by"] for row in rows}, last


def _reasons(tables: PublishedTables, queues: list[QueueName]) -> dict[QueueName, tuple[str, datetime]]:
    """Why the monitor as we replay it started no reader, by its last row, and when it checked last."""
    last = collect_rows(
        tables.activation()
        .groupBy(*QUEUE)
        .agg(
            F.max("last_check").alias("last_check"),
            F.max_by("mode", "ordinal").alias("mode"),
            F.max_by("occurs", "ordinal").alias("occurs"),
        )
    )
    wanted = set(queues)
    found: dict[QueueName, tuple[str, datetime]] = {}
    for row in last:
        name = (row["instance"], row["database"], row["queue"])
        if name in wanted:
            inside = "no_reader_started" if row["occurs"] else "max_queue_readers"
            found[name] = ("notified" if row["mode"] == "external" else inside, row["last_check"])
    return found


def locks_of(tables: PublishedTables, catalog: Catalog, groups: DataFrame) -> DataFrame:
    """The transaction whose fact locks each locked group first, and its session.

    Args:
        tables: what to read.
        catalog: the bindings of services to queues.
        groups: GROUP of the locked groups, unique.

    Returns:
        One row per group: GROUP, `transaction_id`, `session_id`.
    """
    events, messages = tables.events(QUEUE_FACTS), tables.events(MESSAGES)
    ended = events.where("event_type in ('COMMIT', 'ROLLBACK')").select(*TRANSACTION).distinct()
    bindings = small_frame(tables.spark, catalog.service_bindings(), BINDINGS)
    endpoint_events = tables.events(ENDPOINT_FACTS)
    # A message in flight may be of any endpoint of its group.
    left = tables.left(ENDPOINTS, tables.as_of)
    endpoints = endpoints_at(left, endpoint_events, bindings, as_of=tables.as_of)
    naming = (
        events.where("event_type in ('RECEIVE', 'GET_CONVERSATION_GROUP') and transaction_id is not null")
        .where("conversation_group_id is not null")
        .join(ended, TRANSACTION, "left_anti")
        .join(groups, GROUP, "left_semi")
        .select(*GROUP, "transaction_id", _rank(0).alias("place"))
    )
    received = (
        messages.where("event_type = 'RECEIVED' and transaction_id is not null")
        .join(ended, TRANSACTION, "left_anti")
        .select(
            "conversation_id",
            (~F.col("sent_by_initiator")).alias("is_initiator"),
            F.col("transaction_id"),
            _rank(1).alias("place"),
        )
        .join(endpoints.where("exists").select(*SIDE, *GROUP), SIDE)
        .join(groups, GROUP, "left_semi")
        .select(*GROUP, "transaction_id", "place")
    )
    first = (
        naming.unionByName(received)
        .groupBy(*GROUP)
        .agg(F.min_by("transaction_id", "place").alias("transaction_id"))
    )
    sessions = (
        events.where("session_id is not null and transaction_id is not null")
        .groupBy(*TRANSACTION)
        .agg(F.min_by("session_id", moment_and_id()).alias("session_id"))
    )
    return first.join(sessions, TRANSACTION, "left")


def _rank(rank: int) -> Column:
    return F.concat(moment_of("event_time"), F.lit(str(rank)), F.col("event_id"))
