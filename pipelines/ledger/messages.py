"""Messages: one row each, with the earliest of every fact."""

from pyspark.sql import Column, DataFrame, functions as F

from schemas.ledger import FORWARDS

KINDS = {"SENT": 0, "DELIVERED": 1, "RECEIVED": 2, "FORWARD_ACCEPTED": 3, "FORWARDED": 4}
"""Which event of a message counts as the earlier one where the times are equal."""

FACTS = {
    "first_event": F.min,
    "sequence": F.min,
    "size": F.min,
    "queuing": F.min,
    "sent_at": F.min,
    "arrival": F.min,
    "last_fact_on": F.max,
}
END_DAYS = ("ended_on", "dropped_on")


def fold_messages(
    old: DataFrame, message_events: DataFrame, outcomes: DataFrame, *, every_receive_counts: bool
) -> DataFrame:
    """Fold message events into messages.

    Args:
        old: `messages` rows that the events may concern, with the days of `closing.with_ends`.
        message_events: accepted message events; repeats and any order allowed.
        outcomes: (instance, transaction_id, committed_at, rolled_back_at) of every transaction that a
            RECEIVED event of either may belong to; unique by its first two columns.
        every_receive_counts: without any queue events a RECEIVED counts as committed.

    Returns:
        One row per message_id of either: the `messages` table without `ledger_batch`. A message is
        closed once it is received for good, or its receiving endpoint ended and no transaction
        holds it, or its sender's end dropped it before it arrived; and every instance that accepted
        it for forwarding has forwarded it. The ends are those known before this fold: what a
        conversation's end closes is closed by the next one, which is when it would be read next.

    Source: the design, "message_events" and "State at as_of".
    """
    received = F.col("event_type") == "RECEIVED"
    in_transaction = received & F.col("transaction_id").isNotNull()
    settled = _from_events(message_events.where(~in_transaction)).withColumns(
        {"committed_at": F.lit(None).cast("timestamp"), "rolled_back_at": F.lit(None).cast("timestamp")}
    )
    receives = _with_outcome(_from_events(message_events.where(in_transaction)), outcomes)
    facts = (
        settled.unionByName(receives)
        .unionByName(_from_rows(old))
        .unionByName(_receives_of_rows(old, outcomes))
    )
    receive = F.struct(
        "received_at", "event_id", "instance", "transaction_id", "committed_at", "rolled_back_at"
    )
    # A message's few events come from everywhere: aggregating before the shuffle would only sort them twice.
    # In ranges, so that each file holds a stretch of ids and a search for one message opens few files.
    folded = (
        facts.repartitionByRange("message_id")
        .groupBy("message_id")
        .agg(
            *[pick(name).alias(name) for name, pick in FACTS.items()],
            F.collect_set(F.when(F.col("received_at").isNotNull(), receive)).alias("receives"),
            F.collect_set("forward").alias("forward_facts"),
            *[flag.alias(name) for name, flag in _receiving(every_receive_counts).items()],
            *[F.max(day).alias(day) for day in END_DAYS],
        )
    )
    folded = folded.withColumns(
        {"receives": F.sort_array("receives"), "forwards": _forwards(F.col("forward_facts"))}
    )
    return folded.withColumn("closed_on", _closed_on()).drop(
        "forward_facts", *_receiving(every_receive_counts), *END_DAYS
    )


def _from_events(events: DataFrame) -> DataFrame:
    """One row of facts per event; every fact that the event does not tell is null."""
    event_type = F.col("event_type")
    kind = F.coalesce(*[F.when(event_type == name, F.lit(rank)) for name, rank in KINDS.items()])
    known_by = [F.col("event_time"), kind.alias("kind"), F.col("event_id")]
    arrives = event_type.isin("DELIVERED", "RECEIVED")
    place = [F.col("event_time").alias("arrived_at"), *known_by[1:], F.col("instance"), F.col("database")]
    is_received = event_type == "RECEIVED"

    def known(name: str) -> Column:
        return F.when(F.col(name).isNotNull(), F.struct(*known_by, F.col(name).alias("value")))

    return events.select(
        "message_id",
        F.struct(*known_by, "conversation_id", "sent_by_initiator", "message_type").alias("first_event"),
        known("message_sequence_number").alias("sequence"),
        known("size_bytes").alias("size"),
        known("queuing_order").alias("queuing"),
        F.when(event_type == "SENT", F.col("event_time")).alias("sent_at"),
        F.when(arrives, F.struct(*place)).alias("arrival"),
        F.when(is_received, F.col("event_time")).alias("received_at"),
        "event_id",
        "instance",
        "transaction_id",
        _forward_fact(event_type).alias("forward"),
        *[F.lit(None).cast("date").alias(day) for day in END_DAYS],
        F.col("event_date").alias("last_fact_on"),
    )


def _forward_fact(event_type: Column) -> Column:
    accepted = F.struct(
        F.col("event_time").alias("accepted_at"),
        F.col("event_id").alias("accepted_event_id"),
        F.col("database"),
    )
    fact = F.struct(
        F.col("instance"),
        F.when(event_type == "FORWARD_ACCEPTED", accepted).alias("accepted"),
        F.when(event_type == "FORWARDED", F.col("event_time")).alias("forwarded_at"),
    )
    return F.when(event_type.isin("FORWARD_ACCEPTED", "FORWARDED"), fact)


def _from_rows(old: DataFrame) -> DataFrame:
    """One row of facts per old message, and one per instance that forwards it; receives come apart."""
    no_receive = {
        "received_at": "timestamp",
        "event_id": "string",
        "instance": "string",
        "transaction_id": "string",
        "committed_at": "timestamp",
        "rolled_back_at": "timestamp",
    }
    forward = F.struct(
        F.col("forwarding.instance"),
        F.when(
            F.col("forwarding.accepted_at").isNotNull(),
            F.struct("forwarding.accepted_at", "forwarding.accepted_event_id", "forwarding.database"),
        ).alias("accepted"),
        F.col("forwarding.forwarded_at"),
    )
    return old.select("*", F.explode_outer("forwards").alias("forwarding")).select(
        "message_id",
        *FACTS,
        F.when(F.col("forwarding").isNotNull(), forward).alias("forward"),
        *END_DAYS,
        *[F.lit(None).cast(type).alias(name) for name, type in no_receive.items()],
    )


def _receives_of_rows(old: DataFrame, outcomes: DataFrame) -> DataFrame:
    """One row of facts per receive of an old message."""
    nothing = [F.lit(None).cast(old.schema[name].dataType).alias(name) for name in FACTS]
    receives = old.select("message_id", F.explode("receives").alias("receive")).select(
        "message_id", "receive.*"
    )
    known = receives.withColumnsRenamed({"committed_at": "known_commit", "rolled_back_at": "known_rollback"})
    joined = _with_outcome(known, outcomes)
    accepted = "struct<accepted_at:timestamp,accepted_event_id:string,database:string>"
    forward = f"struct<instance:string,accepted:{accepted},forwarded_at:timestamp>"
    return joined.select(
        "message_id",
        *nothing,
        F.lit(None).cast(forward).alias("forward"),
        *[F.lit(None).cast("date").alias(day) for day in END_DAYS],
        *["received_at", "event_id", "instance", "transaction_id"],
        F.least("known_commit", "committed_at").alias("committed_at"),
        F.least("known_rollback", "rolled_back_at").alias("rolled_back_at"),
    )


def _with_outcome(receives: DataFrame, outcomes: DataFrame) -> DataFrame:
    return receives.join(outcomes, ["instance", "transaction_id"], "left")


def _forwards(facts: Column) -> Column:
    """Per forwarding instance the earliest acceptance and the earliest forwarding."""

    def of(instance: Column) -> Column:
        own = F.filter(facts, lambda fact: fact.instance == instance)
        accepted = F.array_min(F.transform(own, lambda fact: fact.accepted))
        return F.struct(
            instance.alias("instance"),
            accepted.accepted_at.alias("accepted_at"),
            accepted.accepted_event_id.alias("accepted_event_id"),
            accepted.database.alias("database"),
            F.array_min(F.transform(own, lambda fact: fact.forwarded_at)).alias("forwarded_at"),
        )

    instances = F.array_sort(F.array_distinct(F.transform(facts, lambda fact: fact.instance)))
    # Functions over arrays are interpreted and slow: messages that nobody forwards, nearly all, go without.
    return F.when(F.size(facts) == 0, F.array().cast(FORWARDS)).otherwise(F.transform(instances, of))


def _receiving(every_receive_counts: bool) -> dict[str, Column]:
    """What the receives of a message come to, as aggregates over its facts."""
    is_receive = F.col("received_at").isNotNull()
    settles = (
        F.col("transaction_id").isNull() | F.col("committed_at").isNotNull() | F.lit(every_receive_counts)
    )
    return {
        "is_received": F.max(is_receive & settles),
        "is_held": F.max(is_receive & ~settles & F.col("rolled_back_at").isNull()),
        "over_at": F.max(F.greatest("committed_at", "rolled_back_at")),
    }


def _closed_on() -> Column:
    is_discarded = F.col("ended_on").isNotNull() & ~F.col("is_held")
    is_dropped = F.col("dropped_on").isNotNull() & F.col("arrival").isNull()
    forwarded = (F.size("forward_facts") == 0) | F.forall(
        "forwards", lambda forward: forward.accepted_at.isNull() | forward.forwarded_at.isNotNull()
    )
    # Null in greatest is passed over: transactions and endpoints may end on a later day.
    last_day = F.greatest("last_fact_on", F.to_date("over_at"), *END_DAYS)
    return F.when((F.col("is_received") | is_discarded | is_dropped) & forwarded, last_day)
