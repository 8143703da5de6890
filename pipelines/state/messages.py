"""Messages: what they are, and what became of them."""

from functools import reduce

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.differences import Materialize
from pipelines.engine.ordered import single_and_repeated
from pipelines.state.events_before import ever, moment_rank_and_id
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import TRANSACTION
from schemas.events import LEFT

KINDS = {"SENT": 0, "DELIVERED": 1, "RECEIVED": 2, "FORWARD_ACCEPTED": 3, "FORWARDED": 3, LEFT: 4}
"""Which event of a message counts as the earlier one where the times are equal. Source: the design,
"message_events"."""

ARRIVALS = ("DELIVERED", "RECEIVED")

OF_ANY_EVENT = (
    "conversation_id",
    "sent_by_initiator",
    "message_type",
    "message_sequence_number",
    "size_bytes",
    "queuing_order",
)
"""What any event of a message may tell of it."""


def order_of_events() -> Column:
    """The order of a message's events: (event_time; kind; event_id)."""
    kind = F.coalesce(*[F.when(F.col("event_type") == name, F.lit(rank)) for name, rank in KINDS.items()])
    return moment_rank_and_id(kind)


def undecided(ledger: Ledger, uncommitted: DataFrame) -> DataFrame:
    """The messages that were sent or arrived and are not received for good: most are, so these are few.

    Args:
        ledger: the message events that count.
        uncommitted: `transactions.uncommitted` of them; few.

    Returns:
        One row per message_id: `sent` (and a transmission queue may still hold it), `arrived` (whether it
        was) and `held` (an open transaction has received it).

    Source: the design, "State at as_of".
    """
    event_type = F.col("event_type")
    rows = ledger.message_events.where(event_type.isin("SENT", LEFT, *ARRIVALS)).select(
        "message_id", "event_type", *TRANSACTION
    )
    if not ledger.has_queue_events:
        flagged = rows.withColumns({"counts": event_type == "RECEIVED", "holds": F.lit(False)})
    else:
        exceptions = uncommitted.select(*TRANSACTION, F.col("is_open"))
        flagged = rows.join(exceptions, TRANSACTION, "left").withColumns(
            {
                "counts": (event_type == "RECEIVED") & F.col("is_open").isNull(),
                "holds": (event_type == "RECEIVED") & F.coalesce("is_open", F.lit(False)),
            }
        )
    folded = flagged.groupBy("message_id").agg(
        ever(F.col("counts")).alias("received"),
        ever(F.col("holds")).alias("held"),
        (ever(event_type == "SENT") & ~ever(event_type == LEFT)).alias("sent"),
        ever(event_type.isin(*ARRIVALS)).alias("arrived"),
    )
    return folded.where("not received").drop("received")


def facts(message_events: DataFrame) -> DataFrame:
    """What messages are, from all accepted events of them, whatever as_of.

    Args:
        message_events: all events of the messages asked for; the fewer, the better.

    Returns:
        One row per message_id: conversation_id, sent_by_initiator, message_type, message_sequence_number,
        size_bytes and queuing_order, each of its earliest event that has it; `sent_at` and `arrived_at`,
        null if it never was; `unknown_handle`, which a snapshot shows it under and no endpoint has, else
        null; `why_still_here`, what the latest snapshot says that shows it in a transmission queue.

    Source: the design, "message_events".
    """
    event_type = F.col("event_type")
    rows = message_events.withColumn("place", order_of_events())

    def earliest(name: str) -> Column:
        return F.min_by(name, F.when(F.col(name).isNotNull(), F.col("place"))).alias(name)

    return rows.groupBy("message_id").agg(
        *[earliest(name) for name in OF_ANY_EVENT],
        F.min(F.when(event_type == "SENT", F.col("event_time"))).alias("sent_at"),
        F.min(F.when(event_type.isin(*ARRIVALS), F.col("event_time"))).alias("arrived_at"),
        F.max(F.when(of_unknown_endpoint(), F.col("conversation_handle"))).alias("unknown_handle"),
        F.max_by("transmission_status", F.when(event_type == "SENT", F.col("seen_at"))).alias(
            "why_still_here"
        ),
    )


def facts_of_few(message_events: DataFrame) -> DataFrame:
    """As `facts`, and quicker where most messages have one event, as those do that a snapshot shows.

    Args:
        message_events: all events of the messages asked for, kept.
    """
    alone, several = single_and_repeated(message_events, ["message_id"])
    return alone.select(*_of_the_only_event()).unionByName(facts(several))


def _of_the_only_event() -> list[Column | str]:
    """The columns of `facts`, of a message's only event."""
    is_sent, is_arrival = F.col("event_type") == "SENT", F.col("event_type").isin(*ARRIVALS)
    return [
        "message_id",
        *OF_ANY_EVENT,
        F.when(is_sent, F.col("event_time")).alias("sent_at"),
        F.when(is_arrival, F.col("event_time")).alias("arrived_at"),
        F.when(of_unknown_endpoint(), F.col("conversation_handle")).alias("unknown_handle"),
        F.when(is_sent & F.col("seen_at").isNotNull(), F.col("transmission_status")).alias("why_still_here"),
    ]


def facts_of_many(
    message_events: DataFrame, materialize: Materialize, *, ids: DataFrame | None = None
) -> DataFrame:
    """`OF_ANY_EVENT`, `sent_at` and `arrived_at` as in `facts`, and quicker where messages are many.

    The least and the greatest value together cost a third of the value of the earliest event. They are the
    same for nearly all messages; the others go by `facts`.

    Args:
        message_events: message events, all of each message; they are read twice.
        materialize: computes a frame once (`pipelines.engine.differences.kept`).
        ids: message_id of those asked for, unique; without it all are.
    """
    asked = message_events if ids is None else message_events.join(ids, "message_id", "left_semi")
    event_type, time = F.col("event_type"), F.col("event_time")
    folded = materialize(
        asked.groupBy("message_id").agg(
            *[F.min(name).alias(name) for name in OF_ANY_EVENT],
            *[F.max(name).alias(f"{name}_too") for name in OF_ANY_EVENT],
            F.min(F.when(event_type == "SENT", time)).alias("sent_at"),
            F.min(F.when(event_type.isin(*ARRIVALS), time)).alias("arrived_at"),
        )
    )
    agrees = reduce(Column.__and__, [F.col(name).eqNullSafe(F.col(f"{name}_too")) for name in OF_ANY_EVENT])
    names = ["message_id", *OF_ANY_EVENT, "sent_at", "arrived_at"]
    # The few stand on the left: the embedded engine holds that side in memory.
    differing = folded.where(~agrees).select("message_id").join(message_events, "message_id")
    return folded.where(agrees).select(*names).unionByName(facts(differing).select(*names))


UNKNOWN = "/unknown"
"""What follows its handle in place of a conversation's id and side, where no endpoint has that handle."""


def of_unknown_endpoint() -> Column:
    """Whether no endpoint is known that has the handle of a snapshot's message."""
    return F.col("conversation_id") == F.concat(F.col("conversation_handle"), F.lit(UNKNOWN))


def forwarding(message_events: DataFrame) -> DataFrame:
    """The messages that an instance has accepted for forwarding and not forwarded yet.

    Args:
        message_events: the message events that count.

    Returns:
        One row per (message_id, instance): `database` and `accepted_at` of the earliest acceptance.

    Source: the design, "State at as_of". Acceptances at the sender's own instance are still among them.
    """
    event_type = F.col("event_type")
    accepted = event_type == "FORWARD_ACCEPTED"
    rows = message_events.where(event_type.isin("FORWARD_ACCEPTED", "FORWARDED")).withColumn(
        "place", order_of_events()
    )
    folded = rows.groupBy("message_id", "instance").agg(
        ever(~accepted).alias("forwarded"),
        F.min(F.when(accepted, F.col("event_time"))).alias("accepted_at"),
        F.min_by("database", F.when(accepted, F.col("place"))).alias("database"),
    )
    return folded.where("not forwarded and accepted_at is not null").drop("forwarded")


def is_dropped(message_type: Column, with_error: Column, with_cleanup: Column) -> Column:
    """Whether the sender's end drops what was not delivered; its own Error message survives WITH_ERROR."""
    none = F.lit(False)
    is_error = message_type.endswith("/ServiceBroker/Error")
    return F.coalesce(with_cleanup, none) | (F.coalesce(with_error, none) & ~is_error)
