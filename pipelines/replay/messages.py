"""The messages that are played, the endpoints that receive them, and the duration of the work on each."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.frames import union_all
from pipelines.engine.materialize import Materialize
from pipelines.engine.ordered import single_and_repeated
from pipelines.replay.request import Period
from pipelines.schedules.orders import Catalog
from pipelines.state.endpoints import SIDE, group_after_moves, latest_moves, with_queue
from pipelines.state.events_before import events_before
from pipelines.state.fates import RECEIVED, find_fates
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import TRANSACTION
from schemas.keys import QUEUE

RECEIVE = [*TRANSACTION, "event_time"]
IS_LOGGED = "event_type = 'RECEIVED' and inferred is null"
KIND = [*QUEUE, "contract", "message_type"]


def receivers(
    endpoints: DataFrame, endpoint_events: DataFrame, catalog: Catalog, period: Period
) -> DataFrame:
    """The endpoints that have a queue and exist up to 24 hours after the period.

    Args:
        endpoints: `endpoints` rows that may matter.
        endpoint_events: endpoint events that may matter, for their moves.
        catalog: where services are.
        period: the period that is played.

    Returns:
        One row per (conversation_id, is_initiator): instance, database, queue, contract, local_service,
        remote_service, priority, created_at, ended_at, first_group_id, and `conversation_group_id` as the
        period begins.
    """
    exists = endpoints.where(F.col("created_at") < F.lit(period.around.end))
    with_queues = with_queue(exists.drop("queue", "conversation_group_id"), catalog.bindings)
    moves = latest_moves(events_before(endpoint_events, period.start))
    return (
        with_queues.where("queue is not null")
        .join(moves, SIDE, "left")
        .select(
            *SIDE,
            "instance",
            "database",
            "queue",
            "contract",
            "local_service",
            "remote_service",
            "priority",
            "created_at",
            "ended_at",
            "first_group_id",
            group_after_moves().alias("conversation_group_id"),
        )
    )


def with_receivers(rows: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Add the endpoint that receives each message.

    Args:
        rows: any frame with conversation_id and sent_by_initiator.
        endpoints: `receivers`.

    Returns:
        The rows whose receiver is among them, with its columns in place of sent_by_initiator.
    """
    by_receiver = rows.withColumn("is_initiator", ~F.col("sent_by_initiator")).drop("sent_by_initiator")
    return by_receiver.join(endpoints, SIDE, "inner")


DESCRIPTION = (
    "message_id",
    "conversation_id",
    "sent_by_initiator",
    "message_type",
    "message_sequence_number",
    "queuing_order",
    "arrived_at",
)
"""The columns that describe a message, whatever becomes of it."""


def ready_messages(waiting: DataFrame, returns: DataFrame, receivers: DataFrame, period: Period) -> DataFrame:
    """The messages in the queues at the start of the period, and those that a ROLLBACK returns during it.

    Args:
        waiting: `state.open_messages` at the start of the period.
        returns: `OpenTransactions.returns`.
        receivers: `receivers`.
        period: the period that is played.

    Returns:
        One row per message_id: `DESCRIPTION`, and its receiving endpoint with its queue; `from_at`: the start
        of the period, or the ROLLBACK; `is_ready`: whether it is ready at the start of the period.
    """
    in_queue = waiting.where("in_queue").select(*DESCRIPTION, F.lit(period.start).alias("from_at"))
    returned = waiting.where("in_flight").join(returns, "message_id")
    parts = (in_queue, True), (returned.select(*DESCRIPTION, F.col("returned_at").alias("from_at")), False)
    both = union_all([rows.withColumn("is_in_queue", F.lit(flag)) for rows, flag in parts])
    is_ready = F.col("is_in_queue") & (F.col("created_at") < F.lit(period.start))
    return with_receivers(both, receivers).withColumn("is_ready", is_ready).drop("is_in_queue")


def arriving_messages(messages: DataFrame, period: Period) -> DataFrame:
    """The messages that arrive in the period, with `from_at`, their arrival, and `is_ready`, false.

    Args:
        messages: `describe_messages`, `with_receivers`.
        period: the period that is played.
    """
    arrived_at = F.col("arrived_at")
    arrived = messages.where((arrived_at >= F.lit(period.start)) & (arrived_at < F.lit(period.end)))
    return arrived.withColumns({"from_at": arrived_at, "is_ready": F.lit(False)})


def messages_of_period(messages: DataFrame, period: Period) -> DataFrame:
    """The messages that are ready at the start of the period or become ready during it.

    Args:
        messages: `ready_messages` and `arriving_messages`.
        period: the period that is played.

    Returns:
        The rows with `ready_at` in place of `from_at` and `is_ready`: the later of `from_at` and the creation
        of the receiver. A message whose endpoint ends at that instant, or before, is never ready.
    """
    ready_at, ended_at = F.greatest("from_at", "created_at"), F.col("ended_at")
    becomes_ready = (ready_at < F.lit(period.end)) & (ended_at.isNull() | (ended_at > ready_at))
    is_played = F.col("is_ready") | becomes_ready
    return messages.where(is_played).withColumn("ready_at", ready_at).drop("from_at", "is_ready")


def first_receipts(
    ledger: Ledger, receivers: DataFrame, complete: DataFrame, bindings: DataFrame, period: Period
) -> DataFrame:
    """When messages were first received in the period.

    Args:
        ledger: the rows that can matter, with events of any time.
        receivers: `receivers`.
        complete: as for `find_fates`.
        bindings: as for `find_fates`.
        period: the period that is played.

    Returns:
        One row per message_id: `first_received_at`, and `width`: null if the log has it. Else one capture
        shows the message and the next one lacks it: it was received in the middle between the two, which are
        `width` microseconds apart. If it may have been dropped, `first_received_at` is null.
    """
    logged = ledger.message_events.where(IS_LOGGED).where(is_within(period))
    first_logged = logged.groupBy("message_id").agg(F.min("event_time").alias("logged_at"))
    missing = (
        ledger.message_events.where("event_type = 'RECEIVED' and inferred and not_before is not null")
        .groupBy("message_id", "conversation_id", "sent_by_initiator")
        .agg(F.min("seen_at").alias("by"), F.min_by("not_before", "seen_at").alias("since"))
    )
    gone = with_receivers(missing, receivers)
    fates = find_fates(gone, complete, ledger.endpoint_events, bindings)
    begin, width = F.unix_micros("since"), F.unix_micros("by") - F.unix_micros("since")
    middle = F.timestamp_micros(begin + F.floor(width / F.lit(2)))
    shown = gone.join(fates, "message_id").select(
        "message_id", "fate", middle.alias("middle"), width.alias("width")
    )
    first = first_logged.join(shown.where(is_within(period, "middle")), "message_id", "full")
    return first.select(
        "message_id",
        F.coalesce("logged_at", F.when(F.col("fate") == RECEIVED, F.col("middle"))).alias(
            "first_received_at"
        ),
        F.when(F.col("logged_at").isNull(), F.col("width")).alias("width"),
    )


def is_within(period: Period, name: str = "event_time") -> Column:
    """Whether a moment is in the period that is played."""
    time = F.col(name)
    return (time >= F.lit(period.start)) & (time < F.lit(period.end))


def services(ledger: Ledger, outcomes: DataFrame, *, materialize: Materialize) -> DataFrame:
    """The work on each message that was received: the sum of its shares.

    Args:
        ledger: the rows that can matter, with events of any time.
        outcomes: `transactions.outcomes`.
        materialize: computes a frame once.

    Returns:
        One row per message_id with any receipt: `service` in whole microseconds, `first_taken_at`.

    A receipt is a distinct (message, transaction, time). It lasts until the next RECEIVED of its transaction,
    else until the outcome, and at least 0; all messages of that transaction and time share it, remainders to
    the first by message_id. Without a transaction, or without queue events, it is 0. Receipts of a
    transaction without outcome do not count.
    """
    # A RECEIVED that is inferred from a snapshot has no known time.
    receipts = ledger.message_events.where(IS_LOGGED)
    receipts = receipts.select("message_id", *RECEIVE).distinct()
    if not ledger.has_queue_events:
        shares = receipts.withColumn("share", F.lit(0).cast("bigint"))
    else:
        at_once = receipts.where("transaction_id is null").withColumn("share", F.lit(0).cast("bigint"))
        in_transactions = materialize(receipts.where("transaction_id is not null"))
        # Most transactions receive one message: there is no next one, and nothing is shared.
        alone, several = single_and_repeated(in_transactions, TRANSACTION)
        whole = outcomes.join(alone, TRANSACTION).withColumn("share", _until("outcome_at"))
        parts = _shares(_with_durations(several, outcomes))
        shares = at_once.unionByName(whole.select(*at_once.columns)).unionByName(parts)
    return shares.groupBy("message_id").agg(
        F.sum("share").alias("service"), F.min("event_time").alias("first_taken_at")
    )


def _with_durations(receipts: DataFrame, outcomes: DataFrame) -> DataFrame:
    """The receipts of transactions with an outcome, with `lasts`, their duration."""
    in_order = Window.partitionBy(*TRANSACTION).orderBy("event_time")
    moments = receipts.select(*RECEIVE).distinct().withColumn("next_at", F.lead("event_time").over(in_order))
    lasts = _until(F.coalesce("next_at", "outcome_at"))
    durations = moments.join(outcomes, TRANSACTION).select(*RECEIVE, lasts.alias("lasts"))
    return receipts.join(durations, RECEIVE)


def _until(moment: Column | str) -> Column:
    """Microseconds from the receipt to a moment."""
    return F.greatest(F.unix_micros(moment) - F.unix_micros("event_time"), F.lit(0))


def _shares(receipts: DataFrame) -> DataFrame:
    of_receive = Window.partitionBy(*RECEIVE)
    numbered = receipts.withColumns(
        {
            "messages": F.count(F.lit(1)).over(of_receive),
            "number": F.row_number().over(of_receive.orderBy("message_id")),
        }
    )
    remainder = (F.col("number") <= F.col("lasts") % F.col("messages")).cast("bigint")
    share = F.expr("lasts div messages")
    return numbered.select("message_id", *RECEIVE, (share + remainder).alias("share"))


def with_service(played: DataFrame, received: DataFrame, *, default: int) -> DataFrame:
    """Add the duration of the work on each message.

    Args:
        played: the messages with `service`, null where they were never received.
        received: of the messages that count for medians: instance, database, queue, contract, message_type,
            `service`.
        default: microseconds for a message of a queue without medians.

    Returns:
        The rows with `service` in microseconds, and `estimated`: the message was never received, so the
        service is the median of its queue, contract and message type, else of its queue, else the default.
    """
    of_kinds = medians(received, KIND).withColumnRenamed("median", "median_of_kind")
    of_queues = medians(received, QUEUE).withColumnRenamed("median", "median_of_queue")
    service = F.coalesce("service", "median_of_kind", "median_of_queue", F.lit(default).cast("bigint"))
    return (
        played.join(F.broadcast(of_kinds), KIND, "left")
        .join(F.broadcast(of_queues), QUEUE, "left")
        .withColumns({"estimated": F.col("service").isNull(), "service": service})
        .drop("median_of_kind", "median_of_queue")
    )


def medians(received: DataFrame, key: list[str]) -> DataFrame:
    """The median of `service` by nearest rank: `median`, by key."""
    by_key = Window.partitionBy(*key)
    ranked = received.withColumns(
        {"rank": F.row_number().over(by_key.orderBy("service")), "all": F.count(F.lit(1)).over(by_key)}
    )
    return ranked.where("rank = (all + 1) div 2").select(*key, F.col("service").alias("median"))


def counts_for_medians(period: Period) -> Column:
    """Whether a message was first received from 24 hours before the period to 24 hours after it."""
    first = F.col("first_taken_at")
    return (first >= F.lit(period.around.start)) & (first < F.lit(period.around.end))
