"""Infer ends: a row that a complete view no longer shows has ended.

A logged fact in the last minute before the snapshot is not contradicted by it: the views of a snapshot are
read one after the other, and clocks differ. What an earlier snapshot showed has gone, however short the time
between them. Each batch infers the ends again from all known rows, so later rows correct them.
"""

from datetime import date
from functools import reduce

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.ingest.snapshots.event_rows import event_rows
from pipelines.ladder.ladder import is_in_period
from pipelines.server.snapshots.views import ENDPOINTS, TRANSMISSION
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import just_before
from pipelines.state.ledger import Ledger
from pipelines.state.messages import (
    ARRIVALS,
    LATELY,
    SHOWN,
    dropped_at,
    is_receive,
    is_sent,
    order_of_sights,
    sent_again_at,
    shown_last,
)
from pipelines.state.transactions import TRANSACTION
from schemas.events import (
    CREATIONS,
    END,
    END_WITH_CLEANUP,
    END_WITH_ERROR,
    ENDPOINT_FACTS,
    ENDS,
    LEFT,
    MESSAGES,
    MOVE,
)

MOST_DAYS = 1_000
"""Between two views that stand for days: a clock that is wrong by centuries makes few rows."""
YEARS = 10_000_000
"""More than any number of a day."""


def infer_endpoint_ends(endpoints: DataFrame, endpoint_events: DataFrame, views: DataFrame) -> DataFrame:
    """Infer the ends of endpoints that a complete conversation_endpoints does not show.

    Args:
        endpoints: `created`.
        endpoint_events: all endpoint events of the conversations.
        views: complete views, (instance, database, view, taken_at, queue), unique.

    Returns:
        Rows of `endpoint_events` without batch, `inferred`: an END_CONVERSATION just before the first
        taken_at that is later than the last snapshot that showed it, and a minute later than its logged
        creation or move.
    """
    event_type, is_logged = F.col("event_type"), F.col("seen_at").isNull()
    is_creation = event_type.isin(*CREATIONS)
    facts = endpoint_events.groupBy(*SIDE).agg(
        F.max(F.when((event_type == MOVE) & is_logged, F.col("event_time"))).alias("logged"),
        F.max("seen_at").alias("shown"),
        F.count(F.when(is_creation, 1)).alias("creations"),
        F.count(F.when(is_creation & is_logged, 1)).alias("logged_creations"),
    )
    # An inferred endpoint has no creation: a logged arrival shows it.
    is_only_shown = F.coalesce(F.expr("creations > 0 and logged_creations = 0"), F.lit(False))
    living = endpoints.join(facts, SIDE, "left").withColumn(
        "logged", F.greatest("logged", F.when(~is_only_shown, F.col("created_at")))
    )
    missing = _missing(
        living, views.where(F.col("view") == ENDPOINTS).drop("view", "queue"), ["instance", "database"]
    )
    return event_rows(
        missing.withColumnRenamed("taken_at", "seen_at"),
        ENDPOINT_FACTS,
        "instance",
        "database",
        *SIDE,
        "conversation_handle",
        **_absent(END, "conversation_id", _text("is_initiator")),
    )


BINDING_PERIODS = (
    "instance string, database string, local_service string, queue string, since timestamp, until timestamp"
)


def views_of_queues(views: DataFrame, periods: DataFrame) -> DataFrame:
    """The complete views of queues by the services that were bound to them at their moment.

    Args:
        views: complete views, as for `infer_endpoint_ends`.
        periods: BINDING_PERIODS, the bindings of all times.

    Returns:
        (instance, database, local_service, taken_at).
    """
    of_queues = views.where("queue is not null").join(
        F.broadcast(periods), ["instance", "database", "queue"], "inner"
    )
    is_bound = is_in_period(F.col("taken_at"), F.col("since"), F.col("until"))
    return of_queues.where(is_bound).select("instance", "database", "local_service", "taken_at")


SIGHTS = {"shown_sent": "SENT", "shown_ready": "DELIVERED"}
"""When a transmission queue last showed a message, and when a queue did, by the type of event."""


def infer_message_ends(ledger: Ledger, views: DataFrame, queues: DataFrame) -> DataFrame:
    """Infer that messages missing from a complete view were received or left the transmission queue.

    Args:
        ledger: message events and queue events that can matter; `endpoints` are those of `created` with
            `queue`; endpoint events are all of their conversations, with those of `infer_endpoint_ends`.
        views: complete views, as for `infer_endpoint_ends`.
        queues: `views_of_queues`.

    A message that a queue shows is looked for in later views of that queue, too, whatever its endpoint and
    the bindings say, and although the sender's transmission queue may show it again, as after a restore. One
    that is gone in the same snapshot as its endpoint has a row, too: it was received, or the end dropped it.

    Returns:
        Rows of `message_events` without batch, `inferred`, just before the first taken_at that shows it: a
        RECEIVED of a message that was ready in a complete queue, a LEFT of one that waited in a complete
        transmission_queue, if its last logged event is a minute older. `not_before` is its last fact.
    """
    event_type, time = F.col("event_type"), F.col("event_time")
    newest = views.agg(F.max("taken_at").alias("newest"))
    is_sent_once = F.expr("arrived_at is not null and sent_again_at is null")
    facts = (
        ledger.message_events.where((event_type != "SENT") | is_sent())
        .groupBy("message_id")
        .agg(
            F.max(F.when(F.col("seen_at").isNull(), time)).alias("logged"),
            *[F.max(F.when(event_type == of, shown_last())).alias(name) for name, of in SIGHTS.items()],
            *[F.max_by(of, order_of_sights()).alias(name) for name, of in SHOWN.items()],
            F.min("conversation_id").alias("conversation_id"),
            F.min("sent_by_initiator").alias("sent_by_initiator"),
            F.max("message_type").alias("message_type"),
            F.max("message_sequence_number").alias("message_sequence_number"),
            F.min(F.when(event_type.isin(*ARRIVALS), time)).alias("arrived_at"),
            F.min(F.when(event_type == "SENT", time)).alias("sent_at"),
            F.count(F.when(is_receive(), 1)).alias("takes"),
            sent_again_at().alias("sent_again_at"),
        )
        # The sight after which the message can be gone from a view: of one whose number was given again,
        # either sight can be.
        .withColumn("shown", F.when(is_sent_once, F.col("shown_ready")).otherwise(F.least(*SIGHTS)))
        .crossJoin(F.broadcast(newest))
        .where(_is_contradicted("newest"))
    )
    back = _count_redeliveries(ledger)
    ended = (
        ledger.endpoint_events.where(event_type.isin(*ENDS))
        .groupBy(*SIDE)
        .agg(F.min("event_time").alias("ended_at"))
    )
    locations = (
        ledger.endpoints.drop("ended_at")
        .join(ended, SIDE, "left")
        .select(*SIDE, "instance", "database", "local_service", "created_at", "ended_at")
    )
    arrived = facts.where("arrived_at is not null").withColumn("shown", F.col("shown_ready"))
    arrived = arrived.join(back, "message_id", "left")
    free = arrived.where("takes = 0 or given_back = takes").withColumn(
        "logged", F.greatest("logged", "given_back_at")
    )
    receivers = _with_endpoint(
        free, locations, ~F.col("is_initiator"), are_shown=F.col("shown_queue").isNotNull()
    )
    of_queues = views.where("queue is not null").withColumnRenamed("queue", "shown_queue").drop("view")
    received = reduce(
        DataFrame.unionByName,
        [
            _missing(receivers, queues, ["instance", "database", "local_service"], just_before("taken_at")),
            _missing(receivers, of_queues, ["instance", "database", "shown_queue"], just_before("taken_at")),
        ],
    )
    sent = facts.where("sent_again_at is not null or arrived_at is null and sent_at is not null")
    sent = sent.withColumn("shown", F.col("shown_sent")).join(
        _ends_by_effect(ledger.endpoint_events), "conversation_id", "left"
    )
    transmitted = views.where(F.col("view") == TRANSMISSION).drop("view", "queue")
    # Of a number that was given again, a queue can show the first message.
    are_shown = F.expr("shown is not null and (sent_again_at is null or shown_ready is null)")
    senders = _with_endpoint(sent, locations.drop("ended_at"), F.col("is_initiator"), are_shown=are_shown)
    left = _missing(senders.withColumn("ended_at", _dropped_at()), transmitted, ["instance", "database"])
    return _rows(received, "RECEIVED").unionByName(_rows(left, LEFT))


def _missing(
    rows: DataFrame, views: DataFrame, key: list[str], ended_from: Column | None = None
) -> DataFrame:
    """The rows with the first taken_at at which they existed and were not in the view.

    They existed if they had not ended before `ended_from`, else before taken_at.

    Most rows are in the newest view of their place. The others are compared with the views of one day: each
    view stands for the days since the one before it, or for the years if the days are too many.
    """
    before = F.lag("taken_at").over(Window.partitionBy(*key).orderBy("taken_at"))
    following = views.withColumn("before", F.coalesce(before, just_before("taken_at")))
    following = following.withColumn("is_long", F.datediff("taken_at", "before") > F.lit(MOST_DAYS))
    spans = F.sequence(
        F.when(F.col("is_long"), _year_of("before")).otherwise(_day_of("before")),
        F.when(F.col("is_long"), _year_of("taken_at")).otherwise(_day_of("taken_at")),
    )
    of_place = following.groupBy(*key).agg(
        F.min("taken_at").alias("oldest_view"),
        F.max("taken_at").alias("newest_view"),
        F.max("is_long").alias("has_long"),
    )
    last_fact = F.greatest("shown", F.col("logged") + F.lit(LATELY), "created_at", just_before("oldest_view"))
    day, year = _day_of("last_fact"), _year_of("last_fact")
    absent = (
        rows.where("created_at is not null or shown is not null")
        .join(F.broadcast(of_place), key, "inner")
        .withColumn("last_fact", last_fact)
        .where("last_fact < newest_view")
        .withColumn("span", F.explode(F.when(F.col("has_long"), F.array(day, year)).otherwise(F.array(day))))
        .join(F.broadcast(following.withColumn("span", F.explode(spans))), [*key, "span"], "inner")
    )
    end_before = F.col("taken_at") if ended_from is None else ended_from
    lives = F.col("ended_at").isNull() | (F.col("ended_at") >= end_before)
    return absent.where("before <= last_fact and last_fact < taken_at").where(lives)


def _day_of(name: str) -> Column:
    return F.datediff(name, F.lit(date(1970, 1, 1)))


def _year_of(name: str) -> Column:
    """The year as a number that no day has."""
    return F.year(name) + F.lit(YEARS)


def _is_contradicted(taken_at: str) -> Column:
    """Whether a snapshot is later than what is known: `shown` before it, and `logged` a minute before."""
    minute = F.expr(f"INTERVAL {LATELY.seconds} SECONDS")
    logged = F.col("logged").isNull() | (F.col("logged") < F.col(taken_at) - minute)
    return logged & (F.col("shown").isNull() | (F.col("shown") < F.col(taken_at)))


def _with_endpoint(
    messages: DataFrame, locations: DataFrame, sent_by_initiator: Column, *, are_shown: Column
) -> DataFrame:
    """The messages with one of their endpoints, and in the database whose view shows them, else in its own.

    A message that is shown may have a handle that no endpoint has.
    """
    sides = locations.withColumn("sent_by_initiator", sent_by_initiator).drop("is_initiator")
    known = messages.join(sides, ["conversation_id", "sent_by_initiator"], "left")
    place = {
        name: F.when(are_shown, F.col(f"shown_{name}")).otherwise(F.col(name))
        for name in ("instance", "database")
    }
    return known.withColumns(place).where("instance is not null")


def _ends_by_effect(endpoint_events: DataFrame) -> DataFrame:
    """The times of the ends of both endpoints of each conversation, by their effect on sent messages."""
    event_type, time = F.col("event_type"), F.col("event_time")
    flags = {
        f"{name}_{side}": F.min(F.when(event_type.isin(*types) & (F.col("is_initiator") == is_own), time))
        for side, is_own in (("initiator", True), ("target", False))
        for name, types in (("end", ENDS), ("error", [END_WITH_ERROR]), ("cleanup", [END_WITH_CLEANUP]))
    }
    return endpoint_events.groupBy("conversation_id").agg(*[flag.alias(name) for name, flag in flags.items()])


def _dropped_at() -> Column:
    """When a message that never arrived was dropped; null if it was not."""

    def of(sender: str, receiver: str) -> Column:
        ends = (f"end_{receiver}", f"error_{sender}", f"cleanup_{sender}")
        return dropped_at(*map(F.col, (*ends, "shown")))

    return F.when(F.col("sent_by_initiator"), of("initiator", "target")).otherwise(of("target", "initiator"))


def _count_redeliveries(ledger: Ledger) -> DataFrame:
    """How often a ROLLBACK returned a received message to its queue, and when last.

    A RECEIVED whose transaction was committed or is open was not rolled back.
    """
    outcome = ledger.queue_events.where("event_type in ('COMMIT', 'ROLLBACK') and transaction_id is not null")
    rolled_back = (
        outcome.groupBy(*TRANSACTION)
        .agg(
            F.count(F.when(F.col("event_type") == "COMMIT", 1)).alias("commits"),
            F.min("event_time").alias("rolled_back_at"),
        )
        .where("commits = 0")
        .drop("commits")
    )
    takes = ledger.message_events.where("event_type = 'RECEIVED'").where(F.lit(ledger.has_queue_events))
    return (
        takes.select("message_id", *TRANSACTION)
        .join(rolled_back, TRANSACTION, "inner")
        .groupBy("message_id")
        .agg(F.count(F.lit(1)).alias("given_back"), F.max("rolled_back_at").alias("given_back_at"))
    )


def _rows(missing: DataFrame, event_type: str) -> DataFrame:
    what = (
        "message_id",
        "conversation_id",
        "sent_by_initiator",
        "message_sequence_number",
        "message_type",
        "instance",
        "database",
    )
    first = missing.groupBy(*what).agg(
        F.min("taken_at").alias("seen_at"), F.max(F.greatest("logged", "shown")).alias("not_before")
    )
    absent = _absent(event_type, F.lit(event_type), "message_id")
    return event_rows(first, MESSAGES, *what, "not_before", **absent)


def _absent(event_type: str, *key: str | Column) -> dict[str, Column]:
    """What all events have that follow from a row's absence; `key` is the end of their ids."""
    return {
        "event_id": F.concat_ws("/", F.lit("absent"), _text("seen_at"), *key),
        "event_time": just_before("seen_at"),
        "event_type": F.lit(event_type),
        "seen_at": F.col("seen_at"),
        "inferred": F.lit(True),
    }


def _text(name: str) -> Column:
    column = F.unix_micros(name) if name.endswith("_at") else F.col(name)
    return column.cast("string")
