"""Messages: their attributes, and the events that decide their state."""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.state.events_before import ever, moment_of, moment_rank_and_id
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import TRANSACTION
from schemas.events import LEFT

EVENT_RANKS = {"SENT": 0, "DELIVERED": 1, "RECEIVED": 2, "FORWARD_ACCEPTED": 3, "FORWARDED": 3, LEFT: 4}
"""The rank of an event type among events of a message at the same time: the lower rank is earlier."""

ARRIVALS = ("DELIVERED", "RECEIVED")
LATELY = timedelta(seconds=60)
"""Facts of two sources that are this near do not contradict each other: clocks differ."""

TYPE = "message_type"
OF_ANY_EVENT = (
    "conversation_id",
    "sent_by_initiator",
    TYPE,
    "message_sequence_number",
    "size_bytes",
    "queuing_order",
)
"""Attributes that any event of a message can have."""
SHOWN = {
    "shown_instance": "instance",
    "shown_database": "database",
    "shown_queue": "shown_queue",
    "last_shown_at": "seen_at",
}
"""The place in which a snapshot shows a message, and when, by the columns of its event."""


def is_sent() -> Column:
    """Whether an event is a SENT with its moment; that of a retained copy is not known."""
    return (F.col("event_type") == "SENT") & F.col("inferred").isNull()


def is_receive() -> Column:
    """Whether an event is a RECEIVED that no later sight of the message undoes."""
    return F.expr("event_type = 'RECEIVED' and undone is null")


def order_of_events() -> Column:
    """The order of a message's events: (event_time; rank of the event type; event_id)."""
    rank = F.coalesce(
        *[F.when(F.col("event_type") == name, F.lit(rank)) for name, rank in EVENT_RANKS.items()]
    )
    return moment_rank_and_id(rank)


def shown_last(shown_until: datetime | None = None) -> Column:
    """When the last snapshot up to a moment was taken that shows what an event says; null for a log's."""
    last = F.coalesce("shown_until", "seen_at")
    return last if shown_until is None else F.least(last, F.lit(shown_until))


def is_sight_of_message() -> Column:
    """Whether an event is the row of a view in which a message waits."""
    is_waiting = F.col("event_type").isin("SENT", "DELIVERED") & F.col("inferred").isNull()
    return F.col("seen_at").isNotNull() & is_waiting


def order_of_sights(shown_until: datetime | None = None) -> Column:
    """The order of the rows of views that show a message up to a moment; null for other events.

    A queue that shows it goes after a transmission queue; then the later snapshot goes after the earlier one.
    """
    is_sight = is_sight_of_message()
    if shown_until is not None:
        is_sight &= F.col("seen_at") <= F.lit(shown_until)
    rank = F.when(F.col("event_type") == "DELIVERED", "1").otherwise("0")
    return F.when(is_sight, F.concat(rank, moment_of(shown_last(shown_until)), moment_of("seen_at")))


def sent_again_at(sent_before: datetime | None = None) -> Column:
    """When a number was given to another message, as an aggregate of its events; null if it was not.

    It is so if a transmission queue shows that it was sent more than a minute after it last arrived, as after
    a restore.

    Args:
        sent_before: what was sent then or later does not count; None for any time.
    """
    time = F.col("event_time")
    is_sight = is_sent() & F.col("seen_at").isNotNull()
    if sent_before is not None:
        is_sight &= time < F.lit(sent_before)
    sent = F.max(F.when(is_sight, time))
    is_arrival = F.col("event_type").isin(*ARRIVALS) & F.col("inferred").isNull()
    arrived = F.max(F.when(is_arrival, F.greatest(time, shown_last())))
    return F.when(sent > arrived + F.lit(LATELY), sent)


def undecided(ledger: Ledger, uncommitted: DataFrame) -> DataFrame:
    """The messages that were sent or arrived and are not received; few, as most are.

    Args:
        ledger: the message events that count.
        uncommitted: `transactions.uncommitted` of them; few.

    Returns:
        One row per message_id: `sent` (it did not arrive, or was sent again, and a transmission queue can
        still hold it), `arrived` (it is not received), `taken_at`, when an open transaction first received
        it, and `shown_at`, the last snapshot that shows it in a transmission queue; null if none. See
        docs/semantics.md#state-at-as_of.
    """
    event_type, event_time = F.col("event_type"), F.col("event_time")
    rows = ledger.message_events.where(event_type.isin(LEFT, *ARRIVALS) | is_sent()).select(
        *("message_id", "event_type", "event_time", "seen_at", "shown_until", "inferred", "undone"),
        *TRANSACTION,
    )
    if not ledger.has_queue_events:
        never = F.lit(None).cast("timestamp")
        flagged = rows.withColumns({"counts": is_receive(), "taken_at": never})
    else:
        exceptions = uncommitted.select(*TRANSACTION, F.col("is_open"))
        flagged = rows.join(exceptions, TRANSACTION, "left").withColumns(
            {
                "counts": is_receive() & F.col("is_open").isNull(),
                "taken_at": F.when(is_receive() & F.col("is_open"), event_time),
            }
        )
    by_message = flagged.groupBy("message_id").agg(
        ever(F.col("counts")).alias("received"),
        F.min("taken_at").alias("taken_at"),
        (ever(event_type == "SENT") & ~ever(event_type == LEFT)).alias("sent"),
        ever(event_type.isin(*ARRIVALS)).alias("arrived"),
        F.max(F.when(event_type == "SENT", shown_last())).alias("shown_at"),
        sent_again_at().isNotNull().alias("is_again"),
    )
    open = by_message.withColumns(
        {"sent": F.expr("sent and (not arrived or is_again)"), "arrived": F.expr("arrived and not received")}
    )
    return open.where("sent or arrived").drop("received", "is_again")


def describe_messages(
    message_events: DataFrame,
    materialize: Materialize,
    *,
    ids: DataFrame | None = None,
    shown_until: datetime | None = None,
) -> DataFrame:
    """The attributes of messages, from all their accepted events, whatever as_of.

    Args:
        message_events: message events, all of each message; they are read twice.
        materialize: computes a frame once.
        ids: message_id of the messages to return, unique; without it all messages of the events.
        shown_until: neither a transmission_status of a later snapshot counts, nor a number that was given
            again later; None for any.

    Returns:
        One row per message_id: `OF_ANY_EVENT`, each of the message's earliest event that has it, but
        `message_type` of the latest snapshot that has it, as a restore can give a number again; `sent_at`,
        when it was sent first, or when the number was given again, and `arrived_at`, null if it was not sent
        or did not arrive; `unknown_handle`, its handle in a snapshot if no endpoint has that handle, else
        null; `why_still_here`, the transmission_status in the latest snapshot that shows it in a
        transmission queue; and `SHOWN`, the place in the latest snapshot that shows it in a queue, else in a
        transmission queue, and when: null if none does.

    The least and the greatest value together cost a third of the earliest one, and agree for most messages.
    """
    # The small side stands on the left, which is held in memory.
    events = message_events if ids is None else ids.join(message_events, "message_id")
    sight = order_of_sights(shown_until)
    says_why = is_sent() & sight.isNotNull()
    shown = {name: F.col(of) for name, of in SHOWN.items()} | {"last_shown_at": shown_last(shown_until)}
    extremes = materialize(
        events.groupBy("message_id").agg(
            *[F.min(name).alias(name) for name in OF_ANY_EVENT],
            *[F.max(name).alias(f"greatest_{name}") for name in OF_ANY_EVENT],
            *_times(shown_until),
            F.max(F.when(says_why, F.col("transmission_status"))).alias("why_still_here"),
            *[F.max(F.when(sight.isNotNull(), value)).alias(name) for name, value in shown.items()],
            F.count(sight).alias("times_shown"),
        )
    )
    agree = F.col("times_shown") < 2
    for name in OF_ANY_EVENT:
        agree &= F.col(name).eqNullSafe(F.col(f"greatest_{name}"))
    differing = extremes.where(~agree).select("message_id").join(message_events, "message_id")
    why = "why_still_here"
    names = ["message_id", *OF_ANY_EVENT, "sent_at", "arrived_at", "unknown_handle", why, *SHOWN]
    latest = [F.max_by(value, sight).alias(name) for name, value in shown.items()]
    latest.append(F.max_by("transmission_status", F.when(says_why, sight)).alias(why))
    latest.append(F.max_by(TYPE, F.when(F.col(TYPE).isNotNull(), sight)).alias("shown_type"))
    exact = _describe_by_earliest_events(differing, *_times(shown_until), *latest)
    exact = exact.withColumn(TYPE, F.coalesce("shown_type", TYPE))
    return extremes.where(agree).select(*names).unionByName(exact.select(*names))


def _describe_by_earliest_events(message_events: DataFrame, *more: Column) -> DataFrame:
    """`describe_messages` by the order of events, with more aggregates.

    It takes long where messages are many.
    """
    rows = message_events.withColumn("position", order_of_events())

    def earliest(name: str) -> Column:
        return F.min_by(name, F.when(F.col(name).isNotNull(), F.col("position"))).alias(name)

    return rows.groupBy("message_id").agg(*[earliest(name) for name in OF_ANY_EVENT], *more)


def _times(shown_until: datetime | None) -> list[Column]:
    """`sent_at`, `arrived_at` and `unknown_handle`, as aggregates of a message's events."""
    event_type, event_time = F.col("event_type"), F.col("event_time")
    return [
        F.coalesce(sent_again_at(shown_until), F.min(F.when(is_sent(), event_time))).alias("sent_at"),
        F.min(F.when(event_type.isin(*ARRIVALS), event_time)).alias("arrived_at"),
        F.max(F.when(of_unknown_endpoint(), F.col("conversation_handle"))).alias("unknown_handle"),
    ]


UNKNOWN = "/unknown"
"""The conversation id of a handle that no endpoint has is the handle and this suffix."""


def of_unknown_endpoint() -> Column:
    """Whether no known endpoint has the handle of a snapshot's message."""
    return F.col("conversation_id") == F.concat(F.col("conversation_handle"), F.lit(UNKNOWN))


def forwarding(message_events: DataFrame) -> DataFrame:
    """The messages that an instance has accepted for forwarding and not forwarded yet.

    Args:
        message_events: the message events that count.

    Returns:
        One row per (message_id, instance): `database` and `accepted_at` of the earliest acceptance.

    Acceptances at the sender's own instance are included. See docs/semantics.md#state-at-as_of.
    """
    event_type = F.col("event_type")
    accepted = event_type == "FORWARD_ACCEPTED"
    rows = message_events.where(event_type.isin("FORWARD_ACCEPTED", "FORWARDED")).withColumn(
        "position", order_of_events()
    )
    by_message = rows.groupBy("message_id", "instance").agg(
        ever(~accepted).alias("forwarded"),
        F.min(F.when(accepted, F.col("event_time"))).alias("accepted_at"),
        F.min_by("database", F.when(accepted, F.col("position"))).alias("database"),
    )
    return by_message.where("not forwarded and accepted_at is not null").drop("forwarded")


def dropped_at(receiver: Column, error: Column, cleanup: Column, shown_at: Column) -> Column:
    """When the ends of its endpoints dropped a message that was not delivered; null if they did not.

    Args:
        receiver: when the receiving endpoint ended; null if it has not.
        error: when the sender ended WITH ERROR, which its own Error message survives; null if it has not.
        cleanup: when the sender ended WITH CLEANUP; null if it has not.
        shown_at: when a snapshot last showed the message in a transmission queue; null if none did. What a
            view shows after an end was not dropped by it.
    """
    is_error = F.col("message_type").endswith("/ServiceBroker/Error")
    dropped = F.least(receiver, cleanup, F.when(~is_error, error))
    return F.when(shown_at.isNull() | (shown_at <= dropped), dropped)
