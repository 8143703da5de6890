"""When each message becomes ready and when it stops to be."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation import happenings as h
from pipelines.activation.facts import may_return
from pipelines.arrays import each_of

CHANGE = "struct<time:bigint,rank:int,event_id:string,kind:int>"


def with_changes(messages: DataFrame, rollbacks: DataFrame) -> DataFrame:
    """Add what happens to each message in its queue.

    An arrival makes it ready, unless its endpoint has ended. A RECEIVED takes it if it is ready. A ROLLBACK
    on the queue gives back what its transaction took, unless the endpoint has ended. An end takes it.

    Args:
        messages: `monitored_messages`.
        rollbacks: (queue_number, transaction_id, event_time, event_id) of the ROLLBACK events on
            monitored queues before as_of, not older than the first RECEIVED they may concern.

    Returns:
        The same rows with `changes`: array of (time in microseconds, rank, event_id, kind) in the order in
        which they are played; see `pipelines.activation.happenings`.

    Source: the design, "Activation".
    """
    simple = messages.where(~may_return()).withColumn("changes", _taken_once())
    returning = messages.where(may_return())
    rolled_back = (
        returning.select("message_id", "queue_number", F.explode("receives").alias("receive"))
        .select("message_id", "queue_number", F.col("receive.transaction").alias("transaction_id"))
        .distinct()
        .join(rollbacks, ["queue_number", "transaction_id"], "inner")
        .groupBy("message_id")
        .agg(F.collect_list(_fact("event_time", h.QUEUE_EVENTS, "event_id", "transaction_id")).alias("backs"))
    )
    replayed = (
        returning.join(rolled_back, "message_id", "left")
        .withColumn("changes", _taken_and_given_back())
        .drop("backs")
    )
    return simple.unionByName(replayed)


def _change(time: Column, rank: int, event_id: Column, kind: int | Column) -> Column:
    return F.struct(
        time.alias("time"),
        F.lit(rank).alias("rank"),
        event_id.alias("event_id"),
        F.lit(kind).alias("kind"),
    )


def _arrival() -> Column:
    """The arrival, as the only element; none where the endpoint had ended."""
    arrives = F.col("ended").isNull() | (F.col("arrived") <= F.col("ended"))
    arrival = _change(F.col("arrived"), h.ARRIVALS, F.col("arrival_id"), h.ARRIVAL)
    return F.when(arrives, F.array(arrival)).otherwise(F.array().cast(f"array<{CHANGE}>"))


def _taken_once() -> Column:
    """Without a ROLLBACK: the first RECEIVED takes it, or the end, whichever is first."""
    first, ended = F.get("receives", F.lit(0)), F.col("ended")
    arrives = ended.isNull() | (F.col("arrived") <= ended)
    takes = arrives & (ended.isNull() | (first.time <= ended))

    def received(receive: Column, kind: int | Column) -> Column:
        return _change(receive.time, h.RECEIVES, receive.event_id, kind)

    decides = received(first, F.when(takes, h.TAKEN).otherwise(h.NOT_READY))
    later = F.slice("receives", 2, F.size("receives"))
    taken = F.when(
        first.isNotNull(),
        F.concat(F.array(decides), each_of(later, lambda receive: received(receive, h.NOT_READY))),
    ).otherwise(F.array().cast(f"array<{CHANGE}>"))
    ends = arrives & ended.isNotNull() & ~F.coalesce(takes, F.lit(False))
    end = _change(ended, h.ENDS, F.lit(""), h.TAKEN)
    return F.concat(
        _arrival(), taken, F.when(ends, F.array(end)).otherwise(F.array().cast(f"array<{CHANGE}>"))
    )


def _fact(time: str, rank: int, event_id: str, transaction: str) -> Column:
    return F.struct(
        F.col(time).alias("time"),
        F.lit(rank).alias("rank"),
        F.col(event_id).alias("event_id"),
        F.col(transaction).alias("transaction"),
    )


def _taken_and_given_back() -> Column:
    """With a ROLLBACK: one fact after the other, with what holds the message."""
    receives = F.transform(
        "receives",
        lambda receive: F.struct(
            receive.time.alias("time"),
            F.lit(h.RECEIVES).alias("rank"),
            receive.event_id.alias("event_id"),
            receive.transaction.alias("transaction"),
        ),
    )
    facts = "array<struct<time:bigint,rank:int,event_id:string,transaction:string>>"
    nothing = F.array().cast(facts)
    end = F.struct(
        F.col("ended").alias("time"),
        F.lit(h.ENDS).alias("rank"),
        F.lit("").alias("event_id"),
        F.lit(None).cast("string").alias("transaction"),
    )
    ends = F.when(F.col("ended").isNotNull(), F.array(end)).otherwise(nothing)
    ordered = F.array_sort(F.concat(receives, ends, F.coalesce("backs", nothing)))
    start = F.struct(
        (F.size(_arrival()) > 0).alias("ready"),
        F.lit(None).cast("string").alias("holder"),
        _arrival().alias("changes"),
    )
    return F.aggregate(ordered, start, _play, lambda state: state.changes)


def _play(state: Column, fact: Column) -> Column:
    is_receive, is_end = fact["rank"] == h.RECEIVES, fact["rank"] == h.ENDS
    takes, ends = state.ready & is_receive, state.ready & is_end
    # After an end nothing holds the message, so nothing gives it back.
    returns = ~state.ready & (fact["rank"] == h.QUEUE_EVENTS) & (state.holder == fact["transaction"])
    returns = F.coalesce(returns, F.lit(False))
    kind = F.when(takes | ends, h.TAKEN).when(returns, h.GIVEN_BACK).when(is_receive, h.NOT_READY).cast("int")
    change = F.struct(
        fact["time"].alias("time"),
        fact["rank"].alias("rank"),
        fact["event_id"].alias("event_id"),
        kind.alias("kind"),
    )
    changed = F.when(kind.isNull(), state.changes).otherwise(F.concat(state.changes, F.array(change)))
    holder = F.when(takes, fact["transaction"]).when(~is_end & ~returns, state.holder)
    return F.struct(
        ((state.ready & ~takes & ~ends) | returns).alias("ready"),
        holder.alias("holder"),
        changed.alias("changes"),
    )
