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

TRAVELS = (
    "event_time",
    "event_id",
    "conversation_id",
    "sent_by_initiator",
    "message_type",
    "message_sequence_number",
    "size_bytes",
    "queuing_order",
    "instance",
    "database",
    "transaction_id",
    "committed_at",
    "rolled_back_at",
    "event_date",
)
"""What is taken of an event, and of the outcome of its transaction."""


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
    in_transaction = (F.col("event_type") == "RECEIVED") & F.col("transaction_id").isNotNull()
    receives = _with_outcome(message_events.where(in_transaction), outcomes)
    rows = (
        message_events.where(~in_transaction)
        .unionByName(receives, allowMissingColumns=True)
        .select("message_id", *_of_event())
        .unionByName(_from_rows(old), allowMissingColumns=True)
        .unionByName(_receives_of_rows(old, outcomes), allowMissingColumns=True)
    )
    # Rows travel and are sorted as events, which say each id once: a quarter fewer bytes than their facts.
    # A message's few events come from everywhere: aggregating before the shuffle would only sort them twice.
    # In ranges, so that each file holds a stretch of ids and a search for one message opens few files.
    facts = (
        rows.repartitionByRange("message_id")
        .sortWithinPartitions("message_id")
        .select("message_id", *_facts(), *END_DAYS)
    )
    folded = facts.groupBy("message_id").agg(
        *[pick(name).alias(name) for name, pick in FACTS.items()],
        F.collect_set("receive").alias("receives"),
        F.collect_set("forward").alias("forward_facts"),
        *[flag.alias(name) for name, flag in _receiving(every_receive_counts).items()],
        *[F.max(day).alias(day) for day in END_DAYS],
    )
    folded = folded.withColumns(
        {"receives": F.sort_array("receives"), "forwards": _forwards(F.col("forward_facts"))}
    )
    return folded.withColumn("closed_on", _closed_on()).drop(
        "forward_facts", *_receiving(every_receive_counts), *END_DAYS
    )


def _of_event() -> list[Column]:
    """What an event says, as it travels."""
    kind = F.coalesce(*[F.when(F.col("event_type") == name, F.lit(rank)) for name, rank in KINDS.items()])
    return [kind.alias("kind"), *map(F.col, TRAVELS)]


def _facts() -> list[Column]:
    """The facts of a row: of an old message or, of an event, all that it tells; null what it does not."""
    kind = F.col("kind")
    known_by = [F.col("event_time"), kind, F.col("event_id")]
    place = [F.col("event_time").alias("arrived_at"), *known_by[1:], F.col("instance"), F.col("database")]
    outcome = [F.col("transaction_id"), F.col("committed_at"), F.col("rolled_back_at")]
    receive = [F.col("event_time").alias("received_at"), F.col("event_id"), F.col("instance"), *outcome]

    def known(name: str) -> Column:
        return F.when(F.col(name).isNotNull(), F.struct(*known_by, F.col(name).alias("value")))

    told = {
        "first_event": F.when(
            kind.isNotNull(), F.struct(*known_by, "conversation_id", "sent_by_initiator", "message_type")
        ),
        "sequence": known("message_sequence_number"),
        "size": known("size_bytes"),
        "queuing": known("queuing_order"),
        "sent_at": F.when(kind == KINDS["SENT"], F.col("event_time")),
        "arrival": F.when(kind.isin(KINDS["DELIVERED"], KINDS["RECEIVED"]), F.struct(*place)),
        "last_fact_on": F.col("event_date"),
        "receive": F.when(kind == KINDS["RECEIVED"], F.struct(*receive)),
        "forward": _forward_fact(kind),
    }
    return [F.coalesce(name, fact).alias(name) for name, fact in told.items()]


def _forward_fact(kind: Column) -> Column:
    accepted = F.struct(
        F.col("event_time").alias("accepted_at"),
        F.col("event_id").alias("accepted_event_id"),
        F.col("database"),
    )
    fact = F.struct(
        F.col("instance"),
        F.when(kind == KINDS["FORWARD_ACCEPTED"], accepted).alias("accepted"),
        F.when(kind == KINDS["FORWARDED"], F.col("event_time")).alias("forwarded_at"),
    )
    return F.when(kind.isin(KINDS["FORWARD_ACCEPTED"], KINDS["FORWARDED"]), fact)


def _from_rows(old: DataFrame) -> DataFrame:
    """One row of facts per old message, and one per instance that forwards it; receives come apart."""
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
    )


def _receives_of_rows(old: DataFrame, outcomes: DataFrame) -> DataFrame:
    """One row per receive of an old message, with what is known by now of its transaction."""
    receives = old.select("message_id", F.explode("receives").alias("receive")).select(
        "message_id", "receive.*"
    )
    known = receives.withColumnsRenamed({"committed_at": "known_commit", "rolled_back_at": "known_rollback"})
    receive = F.struct(
        "received_at",
        "event_id",
        "instance",
        "transaction_id",
        F.least("known_commit", "committed_at").alias("committed_at"),
        F.least("known_rollback", "rolled_back_at").alias("rolled_back_at"),
    )
    return _with_outcome(known, outcomes).select("message_id", receive.alias("receive"))


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
    receive = F.col("receive")
    settles = receive.transaction_id.isNull() | receive.committed_at.isNotNull() | F.lit(every_receive_counts)
    return {
        "is_received": F.max(receive.isNotNull() & settles),
        "is_held": F.max(receive.isNotNull() & ~settles & receive.rolled_back_at.isNull()),
        "over_at": F.max(F.greatest(receive.committed_at, receive.rolled_back_at)),
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
