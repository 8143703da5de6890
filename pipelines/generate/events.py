"""The three event tables of the logs, from conversations, messages and readers."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.generate.messages import POISON_ATTEMPTS
from pipelines.generate.plan import Plan

RELAY_DATABASE = "msdb"
"""Forwarding is done by the instance; what it logs is logged here."""


def endpoint_events(conversations: DataFrame, *, plan: Plan) -> DataFrame:
    """Log what happens to the endpoints of the conversations.

    Args:
        conversations: see `conversations.conversations`.
        plan: how much of what.

    Returns:
        The columns of the endpoint_events contract, and `c` and `at` (event_time in microseconds).
    """
    draws = plan.volume.draws
    arrived = F.col("first_arrival")
    target_end = F.coalesce(
        "gives_up_at", F.col("done_at") - F.when(F.col("with_error"), 1_000_000).otherwise(0)
    )
    initiator_end = F.when(~F.col("with_cleanup"), F.col("done_at") + F.col("way") + 900_000)
    how = F.when(F.col("with_cleanup"), "END_CONVERSATION_WITH_CLEANUP").when(
        F.col("with_error"), "END_CONVERSATION_WITH_ERROR"
    )
    happenings = F.array(
        _happening("BEGIN_DIALOG", F.col("begin"), True),
        _happening("DIALOG_CREATED", F.when(F.col("created_logged"), arrived), False),
        _happening("MOVE_CONVERSATION", F.col("moves_at"), True),
        _happening(
            F.coalesce(how, F.lit("END_CONVERSATION")), F.when(arrived.isNotNull(), target_end), False
        ),
        _happening("END_CONVERSATION", initiator_end, True),
    )
    creation = F.col("event_type").isin("BEGIN_DIALOG", "DIALOG_CREATED")
    group = (
        F.when(F.col("event_type") == "MOVE_CONVERSATION", F.col("moved_group"))
        .when(creation & F.col("is_initiator"), F.col("initiator_group"))
        .when(creation, F.col("target_group"))
    )
    reported = creation & draws.chance(0.3, "reported", F.col("c"), F.col("is_initiator"))
    return (
        conversations.withColumn("happening", F.explode(happenings))
        .select("*", "happening.event_type", "happening.at", "happening.is_initiator")
        .withColumn("at", F.col("at") + _side("skew"))
        .where(F.col("at") < plan.volume.cut_us)
        .select(
            "c",
            "at",
            draws.uuid("endpoint event", F.col("c"), F.col("event_type"), F.col("is_initiator")).alias(
                "event_id"
            ),
            F.timestamp_micros("at").alias("event_time"),
            _side("instance").alias("instance"),
            _side("database").alias("database"),
            "event_type",
            "conversation_id",
            "is_initiator",
            _side("handle").alias("conversation_handle"),
            group.alias("conversation_group_id"),
            F.when(creation, F.col("contract")).alias("contract"),
            F.when(creation, _side("service")).alias("local_service"),
            F.when(creation, _other("service")).alias("remote_service"),
            F.when(reported, _side("level")).cast("int").alias("logged_priority"),
        )
    )


def message_events(messages: DataFrame, *, plan: Plan) -> DataFrame:
    """Log the life of the messages.

    Args:
        messages: see `messages.messages`.
        plan: how much of what.

    Returns:
        The columns of the message_events contract, and `c` and `at` (event_time in microseconds).
    """
    draws, c, turn = plan.volume.draws, F.col("c"), F.col("turn")
    logged = F.col("received_at").isNull() | draws.chance(plan.volume.delivered_logged, "logged", c, turn)
    relayed = F.col("relayed") & F.col("sent_at").isNotNull()
    passed_on = F.col("arrived_at").isNotNull()
    accepted = passed_on | draws.chance(0.5, "accepted", c, turn)
    happenings = F.array(
        _life("SENT", F.col("sent_at")),
        _life("FORWARD_ACCEPTED", F.when(relayed & accepted, F.col("sent_at") + F.floor(F.col("way") / 3))),
        _life("FORWARDED", F.when(relayed & passed_on, F.col("sent_at") + F.floor(F.col("way") * 2 / 3))),
        _life("DELIVERED", F.when(logged, F.col("arrived_at"))),
        *[_life("RECEIVED", _failed_at(attempt), attempt) for attempt in range(1, POISON_ATTEMPTS + 1)],
        _life("RECEIVED", F.col("open_at"), 0),
        _life("RECEIVED", F.col("received_at")),
    )
    kind = F.col("event_type")
    relays = kind.startswith("FORWARD")
    at_sender = kind == "SENT"
    skew = (
        F.when(at_sender, F.col("sender_skew"))
        .when(relays, F.col("relay_skew"))
        .otherwise(F.col("receiver_skew"))
    )
    counter = F.when(draws.chance(0.98, "counted", c, turn), F.col("arrived_at") - plan.volume.start_us)
    return (
        messages.withColumn("happening", F.explode(happenings))
        .select("*", "happening.event_type", "happening.at", "happening.attempt")
        .withColumn("at", F.col("at") + skew)
        .where(F.col("at") < plan.volume.cut_us)
        .select(
            "c",
            "at",
            draws.uuid("message event", c, turn, kind, F.coalesce("attempt", F.lit(-1))).alias("event_id"),
            F.timestamp_micros("at").alias("event_time"),
            F.when(at_sender, F.col("sender_instance"))
            .when(relays, F.col("relay"))
            .otherwise(F.col("receiver_instance"))
            .alias("instance"),
            F.when(at_sender, F.col("sender_database"))
            .when(relays, F.lit(RELAY_DATABASE))
            .otherwise(F.col("receiver_database"))
            .alias("database"),
            "event_type",
            "message_id",
            "conversation_id",
            F.col("by_initiator").alias("sent_by_initiator"),
            F.col("sequence").alias("message_sequence_number"),
            "message_type",
            "size_bytes",
            F.when(kind == "DELIVERED", counter).alias("queuing_order"),
            F.when(kind == "RECEIVED", transaction(plan)).alias("transaction_id"),
        )
    )


def transaction(plan: Plan) -> Column:
    """The id of the receiving transaction: one for every attempt, null where the RECEIVE stands alone."""
    named = plan.volume.draws.uuid(
        "transaction", F.col("c"), F.col("batch"), F.coalesce("attempt", F.lit(-1))
    )
    return F.when(F.col("attempt").isNotNull() | ~F.col("autocommit"), named)


def _failed_at(attempt: int) -> Column:
    """When an attempt to receive the message that is rolled back takes it; null if there are fewer."""
    return F.when(F.col("failed") >= attempt, F.col("batch_ready") + F.col("attempt_every") * attempt)


def queue_events(messages: DataFrame, *, plan: Plan) -> DataFrame:
    """Log the statements and transactions that receive the messages.

    Args:
        messages: see `messages.messages`.
        plan: how much of what.

    Returns:
        The columns of the queue_events contract, and `c` and `at` (event_time in microseconds).
    """
    draws, c, batch = plan.volume.draws, F.col("c"), F.col("batch")
    received, committed = F.col("received_at"), F.col("committed_at")
    asks_first = ~F.col("autocommit") & draws.chance(0.05, "asks", c, batch)
    waits = F.col("waits") & F.col("by_initiator")
    locked = F.col("locked") & F.col("arrived_at").isNotNull() & (F.col("turn") == F.col("pending_from"))
    lock_at = F.greatest(
        F.col("arrived_at") + 1, F.lit(plan.volume.end_us) - draws.below(240_000_000, "locks", c)
    )
    happenings = [
        _life("WAIT_ENDED", F.when(waits, received - 300)),
        _life("GET_CONVERSATION_GROUP", F.when(asks_first, received - 1_000)),
        _life("RECEIVE", received),
        _life("COMMIT", F.when(received.isNotNull(), committed)),
        _life("WAIT_STARTED", F.when(waits, F.coalesce(committed, received) + 1_000)),
        _life("RECEIVE", F.col("open_at"), 0),
        _life("GET_CONVERSATION_GROUP", F.when(locked, lock_at), 0),
    ]
    for attempt in range(1, POISON_ATTEMPTS + 1):
        taken = _failed_at(attempt)
        rolled_back = taken + F.least(F.floor(F.col("attempt_every") / 2), F.lit(3_000))
        happenings += [_life("RECEIVE", taken, attempt), _life("ROLLBACK", rolled_back, attempt)]
    kind = F.col("event_type")
    statement = kind.isin("RECEIVE", "GET_CONVERSATION_GROUP")
    in_transaction = statement | kind.isin("COMMIT", "ROLLBACK")
    reader = draws.below(F.greatest("receiver_readers", F.lit(1)), "reader", c, batch)
    # One message of a batch speaks for all.
    logged = F.when((F.col("turn") == batch) & F.col("arrived_at").isNotNull(), F.array(*happenings))
    return (
        messages.withColumn("happening", F.explode(logged))
        .select("*", "happening.event_type", "happening.at", "happening.attempt")
        .withColumn("at", F.col("at") + F.col("receiver_skew"))
        .where(F.col("at") < plan.volume.cut_us)
        .select(
            "c",
            "at",
            draws.uuid("queue event", c, F.col("turn"), kind, F.coalesce("attempt", F.lit(-1))).alias(
                "event_id"
            ),
            F.timestamp_micros("at").alias("event_time"),
            F.col("receiver_instance").alias("instance"),
            F.col("receiver_database").alias("database"),
            F.col("receiver_queue").alias("queue"),
            "event_type",
            (F.col("receiver_session") + reader).alias("session_id"),
            F.when(in_transaction, transaction(plan)).alias("transaction_id"),
            F.when(statement, F.col("receiver_group")).alias("conversation_group_id"),
            F.when(statement, draws.chance(0.04, "where", c, batch)).alias("has_where"),
            F.when(kind == "RECEIVE", F.col("last_of_batch") - F.col("turn") + 1).alias("row_count"),
            F.lit(None).cast("string").alias("queue_status"),
        )
    )


def _happening(event_type: str | Column, at: Column, is_initiator: bool) -> Column:
    kind = F.lit(event_type) if isinstance(event_type, str) else event_type
    return F.struct(kind.alias("event_type"), at.alias("at"), F.lit(is_initiator).alias("is_initiator"))


def _life(event_type: str, at: Column, attempt: int | None = None) -> Column:
    """An event of a message; `attempt` is 0 for a transaction that stays open, 1.. for one rolled back."""
    return F.struct(
        F.lit(event_type).alias("event_type"), at.alias("at"), F.lit(attempt).cast("int").alias("attempt")
    )


def _side(name: str) -> Column:
    return F.when(F.col("is_initiator"), F.col(f"initiator_{name}")).otherwise(F.col(f"target_{name}"))


def _other(name: str) -> Column:
    return F.when(F.col("is_initiator"), F.col(f"target_{name}")).otherwise(F.col(f"initiator_{name}"))
