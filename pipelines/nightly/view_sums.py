"""Whether the rows of each queue in its newest complete view are the open messages of that queue.

Each row is open at as_of, or a later fact took it. Each open message of the queue is such a row, or a later
fact brought it. See docs/semantics.md#what-a-view-must-add-up-to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.engine.frames import small_frame, union_all
from pipelines.ingest.snapshots.inferred_ends import BINDING_PERIODS
from pipelines.ladder.ladder import is_in_period
from pipelines.schedules.view_sums import PLACE, frame_of
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import events_before, ever
from pipelines.state.messages import ARRIVALS, LATELY, is_receive, is_sight_of_message, shown_last
from pipelines.storage.collect import collect_rows
from pipelines.storage.snapshots.newest import SummedView
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, ENDS, LEFT, MESSAGES
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, UNRESOLVED

ROW = [*PLACE, "message_id"]
NO_QUEUE = ""
Period = tuple[str, str, str, str, datetime | None, datetime | None]


@dataclass(frozen=True)
class LaterFacts:
    """What facts after a view did to the messages of its queue.

    Attributes:
        took: rows of the view that wait there no more.
        brought: messages that wait there, and that the view does not show.
    """

    took: int = 0
    brought: int = 0


def compare_views(
    warehouse: Warehouse,
    as_of: datetime,
    open_messages: Mapping[SummedView, tuple[int, int]],
    written: Mapping[tuple[str, str | None, str | None, str], int],
    periods: Sequence[Period],
) -> list[str]:
    """Compare the rows of views with the rows of the schedules, and say which sums do not hold.

    Args:
        warehouse: the tables; those of this as_of are written.
        as_of: the as_of.
        open_messages: of each view, how many open messages of its queue it shows, and how many it does not.
        written: rows of the schedules and of `unresolved` by `PLACE`.
        periods: `binding_periods`.

    The ledger is read only for views whose rows are not exactly the open messages.
    """
    differing = [each for each, (shown, others) in open_messages.items() if others or shown != each.rows]
    later = find_later_facts(warehouse, as_of, differing, periods) if differing else {}
    wrong = []
    for each in open_messages:
        facts = later.get(each, LaterFacts())
        waiting = written.get((each.kind, each.instance, each.database, each.queue or NO_QUEUE), 0)
        if each.rows - facts.took + facts.brought != waiting and not each.is_late:
            place = queue_text((each.instance, each.database, each.queue or "transmission_queue"))
            wrong.append(
                f"{place}: {each.rows} rows of the snapshot of {format_instant(each.taken_at)} - "
                f"{facts.took} that later facts took + {facts.brought} that they brought is not {waiting}"
            )
    return wrong


def find_later_facts(
    warehouse: Warehouse, as_of: datetime, views: Sequence[SummedView], periods: Sequence[Period]
) -> dict[SummedView, LaterFacts]:
    """What later facts did to the messages of queues, as far as the ledger says why.

    Args:
        warehouse: the tables; those of this as_of are written.
        as_of: the as_of.
        views: at least one; one at most of each queue.
        periods: `binding_periods`.

    A row that is gone, or new, without a fact that explains it counts in neither number.
    """
    since = min(each.taken_at for each in views) - timedelta(microseconds=1)
    messages = warehouse.read_left(MESSAGES, since)
    events = events_before(messages, as_of)
    of_views = frame_of(events, views)
    shown = _sights(events).join(F.broadcast(of_views), PLACE, "inner")
    in_views = (
        shown.where("taken_at between seen_at and shown_last").select(*ROW, "view", "taken_at").distinct()
    )
    written = _written(warehouse, as_of)
    waiting = written.join(F.broadcast(of_views), PLACE, "inner").select(*ROW, "view", "taken_at")
    gone = in_views.join(written, ROW, "left_anti").withColumn("change", F.lit("took"))
    new = waiting.join(in_views.select(*ROW), ROW, "left_anti").withColumn("change", F.lit("brought"))
    differing = gone.unionByName(new)
    ids = differing.select("message_id").distinct()
    elsewhere = (
        written.join(ids, "message_id", "left_semi")
        .groupBy("message_id", "kind")
        .agg(F.count(F.lit(1)).alias("written"))
    )
    # After a restore, a message of the same number may have been sent again after as_of.
    again = messages.where(is_sight_of_message()).join(ids, "message_id", "left_semi")
    known = (
        differing.join(_facts(events.join(ids, "message_id", "left_semi")), "message_id", "left")
        .join(again.groupBy("message_id").agg(F.max(shown_last()).alias("shown")), "message_id", "left")
        .join(elsewhere, ["message_id", "kind"], "left")
        .withColumn("is_initiator", F.col("sent_by_initiator") == (F.col("kind") == "transmission"))
    )
    ended = events_before(warehouse.read_left(ENDPOINT_FACTS, since), as_of).where(
        F.col("event_type").isin(*ENDS)
    )
    endpoints = warehouse.read_left(ENDPOINTS, since).select(
        *SIDE, F.col("database").alias("own_database"), "local_service", "created_at"
    )
    known = (
        known.join(
            ended.groupBy("conversation_id").agg(F.count(F.lit(1)).alias("ends")), "conversation_id", "left"
        )
        .join(endpoints, SIDE, "left")
        .join(F.broadcast(_bound(of_views, periods)), ["view", "local_service"], "left")
    )
    is_explained = F.when(F.col("change") == "took", _is_taken()).otherwise(_is_brought())
    counted = collect_rows(
        known.where(is_explained).groupBy("view", "change").agg(F.count(F.lit(1)).alias("messages"))
    )
    numbers = {(row["view"], row["change"]): row["messages"] for row in counted}
    return {
        each: LaterFacts(*[numbers.get((number, change), 0) for change in ("took", "brought")])
        for number, each in enumerate(views)
    }


def _sights(events: DataFrame) -> DataFrame:
    """The rows of views among message events, by PLACE."""
    is_ready = F.col("event_type") == "DELIVERED"
    return events.where(is_sight_of_message()).select(
        F.when(is_ready, "receive").otherwise("transmission").alias("kind"),
        "instance",
        "database",
        F.coalesce("shown_queue", F.lit(NO_QUEUE)).alias("queue"),
        "message_id",
        "seen_at",
        shown_last().alias("shown_last"),
    )


def _written(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The open messages of this as_of as the tables have them: ROW."""
    received = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of)
    sent = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of).where("not forwarded")
    lost = warehouse.read_as_of(UNRESOLVED, as_of)
    queue = F.coalesce("queue", F.lit(NO_QUEUE)).alias("queue")
    return union_all(
        [
            received.select(F.lit("receive").alias("kind"), *QUEUE, "message_id"),
            sent.select(
                F.lit("transmission").alias("kind"),
                *QUEUE[:2],
                F.lit(NO_QUEUE).alias("queue"),
                "message_id",
            ),
            lost.select("kind", *QUEUE[:2], queue, F.col("id").alias("message_id")),
        ]
    )


def _facts(events: DataFrame) -> DataFrame:
    """What the ledger says of messages, one row each."""
    event_type, is_shown = F.col("event_type"), is_sight_of_message()
    place = F.when(is_shown, F.concat_ws("/", "instance", "database", "shown_queue"))
    return events.groupBy("message_id").agg(
        F.max("conversation_id").alias("conversation_id"),
        F.max("sent_by_initiator").alias("sent_by_initiator"),
        ever(is_receive() | (event_type == LEFT)).alias("left"),
        ever((event_type == "RECEIVED") & F.col("transaction_id").isNotNull()).alias("given_back"),
        ever(event_type.isin(*ARRIVALS)).alias("arrived"),
        F.max(F.when(F.col("seen_at").isNull(), F.col("event_time"))).alias("logged"),
        (F.min(place) != F.max(place)).alias("moved"),
    )


def _bound(of_views: DataFrame, periods: Sequence[Period]) -> DataFrame:
    """The services whose queue a view shows, at its moment: (view, local_service, bound_at)."""
    bindings = small_frame(of_views.sparkSession, periods, BINDING_PERIODS)
    named = of_views.join(bindings, QUEUE, "inner")
    then = named.where(is_in_period(F.col("taken_at"), F.col("since"), F.col("until")))
    return then.groupBy("view", "local_service").agg(F.max("taken_at").alias("bound_at"))


def _is_taken() -> Column:
    """Whether a fact says why a row of a view waits there no more."""
    is_sent = (F.col("kind") == "transmission") & F.col("arrived")
    return F.col("left") | is_sent | F.col("ends").isNotNull() | F.col("written").isNotNull()


def _is_brought() -> Column:
    """Whether a fact says why a message waits that the view does not show."""
    taken_at, minute = F.col("taken_at"), F.expr(f"INTERVAL {LATELY.seconds} SECONDS")
    is_late = (F.col("logged") >= taken_at - minute) | (F.col("shown") > taken_at)
    is_new = is_late | F.col("given_back") | F.col("moved") | (F.col("created_at") >= taken_at)
    is_elsewhere = (F.col("kind") == "transmission") & (F.col("own_database") != F.col("database"))
    was_elsewhere = (
        (F.col("kind") == "receive") & F.col("local_service").isNotNull() & F.col("bound_at").isNull()
    )
    return F.coalesce(is_new, F.lit(False)) | F.coalesce(is_elsewhere, F.lit(False)) | was_elsewhere
