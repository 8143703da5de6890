"""How long the work on a message takes, by the log."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.differences import Materialize
from pipelines.engine.ordered import single_and_repeated
from pipelines.replay.period import Period
from pipelines.state.transactions import TRANSACTION
from schemas.keys import QUEUE

TAKE = [*TRANSACTION, "event_time"]
KIND = [*QUEUE, "contract", "message_type"]


def services(
    message_events: DataFrame, ended: DataFrame, *, every_receive_counts: bool, materialize: Materialize
) -> DataFrame:
    """The work on each message that was taken: the sum of its shares.

    Args:
        message_events: message events that may matter, whatever their time.
        ended: `transactions.outcomes`.
        every_receive_counts: without any queue events nothing says how long the work took.
        materialize: computes a frame once.

    Returns:
        One row per message_id with any take: `service` in whole microseconds, `first_taken_at`.

    A take is a distinct (message, transaction, time). It lasts until the next RECEIVED of its transaction,
    else until the outcome, and at least 0; all messages of that transaction and time share it, remainders to
    the first by message_id. Without a transaction, or without queue events, it is 0. What a transaction
    without outcome received is no take. Source: our choice.
    """
    # When a message was received that a snapshot lacks, nobody knows.
    takes = message_events.where("event_type = 'RECEIVED' and inferred is null")
    takes = takes.select("message_id", *TAKE).distinct()
    if every_receive_counts:
        shares = takes.withColumn("share", F.lit(0).cast("bigint"))
    else:
        at_once = takes.where("transaction_id is null").withColumn("share", F.lit(0).cast("bigint"))
        in_transactions = materialize(takes.where("transaction_id is not null"))
        # Most transactions take one message: nothing comes next, and nothing is shared.
        alone, several = single_and_repeated(in_transactions, TRANSACTION)
        all_of_it = ended.join(alone, TRANSACTION).withColumn("share", _until("outcome_at"))
        of_several = _shared(_lasting(several, ended))
        shares = at_once.unionByName(all_of_it.select(*at_once.columns)).unionByName(of_several)
    return shares.groupBy("message_id").agg(
        F.sum("share").alias("service"), F.min("event_time").alias("first_taken_at")
    )


def _lasting(takes: DataFrame, ended: DataFrame) -> DataFrame:
    """The takes of transactions with an outcome, with how long they last."""
    in_order = Window.partitionBy(*TRANSACTION).orderBy("event_time")
    moments = takes.select(*TAKE).distinct().withColumn("next_at", F.lead("event_time").over(in_order))
    lasts = _until(F.coalesce("next_at", "outcome_at"))
    lasting = moments.join(ended, TRANSACTION).select(*TAKE, lasts.alias("lasts"))
    return takes.join(lasting, TAKE)


def _until(moment: Column | str) -> Column:
    """Microseconds from the take to a moment."""
    return F.greatest(F.unix_micros(moment) - F.unix_micros("event_time"), F.lit(0))


def _shared(takes: DataFrame) -> DataFrame:
    together = Window.partitionBy(*TAKE)
    numbered = takes.withColumns(
        {
            "messages": F.count(F.lit(1)).over(together),
            "number": F.row_number().over(together.orderBy("message_id")),
        }
    )
    remainder = (F.col("number") <= F.col("lasts") % F.col("messages")).cast("bigint")
    share = F.expr("lasts div messages")
    return numbered.select("message_id", *TAKE, (share + remainder).alias("share"))


def with_service(played: DataFrame, taken: DataFrame, *, default: int) -> DataFrame:
    """Say how long the work on each message takes.

    Args:
        played: the messages with `service`, null where they were never taken.
        taken: of the messages that count for medians: instance, database, queue, contract, message_type,
            `service`.
        default: microseconds for a message of a queue of which nothing is known.

    Returns:
        The rows with `service` in microseconds, and `estimated`: it was never taken, so it is the median of
        its queue, contract and message type, else of its queue, else the default.
    """
    of_kinds = medians(taken, KIND).withColumnRenamed("median", "median_of_kind")
    of_queues = medians(taken, QUEUE).withColumnRenamed("median", "median_of_queue")
    service = F.coalesce("service", "median_of_kind", "median_of_queue", F.lit(default).cast("bigint"))
    return (
        played.join(F.broadcast(of_kinds), KIND, "left")
        .join(F.broadcast(of_queues), QUEUE, "left")
        .withColumns({"estimated": F.col("service").isNull(), "service": service})
        .drop("median_of_kind", "median_of_queue")
    )


def medians(taken: DataFrame, key: list[str]) -> DataFrame:
    """The median of `service` by nearest rank: `median`, by key."""
    by_key = Window.partitionBy(*key)
    ranked = taken.withColumns(
        {
            "rank": F.row_number().over(by_key.orderBy("service")),
            "all": F.count(F.lit(1)).over(by_key),
        }
    )
    return ranked.where("rank = (all + 1) div 2").select(*key, F.col("service").alias("median"))


def counts_for_medians(period: Period) -> Column:
    """Whether a message was taken first from 24 hours before the period to 24 hours after it."""
    first = F.col("first_taken_at")
    return (first >= F.lit(period.around.start)) & (first < F.lit(period.around.end))
