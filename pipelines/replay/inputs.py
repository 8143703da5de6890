"""What a replay starts from, read from the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.load import Settings
from pipelines.config.proposal import Proposal, standing
from pipelines.engine.differences import Materialize
from pipelines.replay.leaves import leaves
from pipelines.replay.messages import WHAT, arriving, in_time, ready_messages
from pipelines.replay.period import Period
from pipelines.replay.readers import logged_readers
from pipelines.replay.receivers import receivers, receiving
from pipelines.replay.services import counts_for_medians, services, with_service
from pipelines.replay.timeline import Inputs
from pipelines.replay.transactions import open_transactions, outcomes
from pipelines.schedules.read import catalog_frames, read_backlog
from pipelines.state.endpoints import SIDE
from pipelines.state.messages import ARRIVALS, facts_of_many
from pipelines.storage.batches import completed_batches
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.levels import as_proposed, changed_kinds, rules_frame
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS

MILLISECOND = 1000


@dataclass(frozen=True)
class Read:
    """What a replay starts from, and what the log says became of it.

    Attributes:
        inputs: for the timeline.
        first_received: message_id, `first_received_at` of those received in the period.
    """

    inputs: Inputs
    first_received: DataFrame


def read_inputs(
    warehouse: Warehouse,
    settings: Settings,
    proposal: Proposal | None,
    queues: DataFrame,
    period: Period,
    *,
    as_if: datetime | None,
    materialize: Materialize,
) -> Read:
    """Read what is played on the queues.

    Args:
        warehouse: what to read; nothing is written into it.
        settings: the current settings.
        proposal: the proposed ones; without them `proposed` levels are the recorded ones.
        queues: (instance, database, queue) of those that are played, unique.
        period: what is played.
        as_if: as in a what-if.
        materialize: computes a frame once.
    """
    spark = warehouse.spark
    knows_queues = completed_batches(warehouse).has_queue_events
    catalog = catalog_frames(warehouse, settings)
    waiting = read_backlog(warehouse, catalog, period.start, materialize, knows_queues=knows_queues)
    since = _since(warehouse, waiting.messages, period)
    message_events, endpoint_events, queue_events, endpoints = (
        warehouse.read_open(table, since) for table in (MESSAGES, ENDPOINT_FACTS, QUEUE_FACTS, ENDPOINTS)
    )
    # Small sides come first: the embedded engine hashes the left one where it knows no sizes.
    receiving_there = F.broadcast(queues).join(receivers(endpoints, endpoint_events, catalog, period), QUEUE)
    # What was begun after the period is not played. The work on it counts for medians, and who reads it is
    # a reader of the hour in which the period ends.
    around = materialize(receiving_there)
    there = around.where(F.col("created_at") < F.lit(period.end))
    ended = materialize(outcomes(queue_events))
    in_flight = waiting.messages.where("in_flight").select(
        "message_id", "conversation_id", "sent_by_initiator"
    )
    now_open = open_transactions(
        message_events, queue_events, endpoint_events, ended, in_flight, there, start=period.start
    )
    work = materialize(
        services(message_events, ended, every_receive_counts=not knows_queues, materialize=materialize)
    )
    arrivals = message_events.where(F.col("event_type").isin(*ARRIVALS) & _within(period))
    wanted = (
        arrivals.select("message_id")
        .unionByName(work.where(counts_for_medians(period)).select("message_id"))
        .distinct()
    )
    # Large, and joined once: messages that arrive and those that count for medians are mostly the same.
    known = (
        facts_of_many(message_events, materialize, ids=wanted).select(*WHAT).join(work, "message_id", "left")
    )
    placed = materialize(receiving(known, around))
    ready = ready_messages(waiting.messages, now_open.returns, there, period)
    played = in_time(ready.join(work, "message_id", "left").unionByName(arriving(placed, period)), period)
    taken = placed.where(counts_for_medians(period))
    default = settings.replay.default_service_ms * MILLISECOND
    serviced = with_service(played, taken, default=default).withColumnRenamed("priority", "level")
    if proposal:
        rules = rules_frame(spark, standing(proposal.settings.rule_history))
        levels = as_proposed(there, materialize(changed_kinds(there, rules, as_if=as_if)), as_if=as_if)
        messages = serviced.join(levels.select(*SIDE, F.col("priority").alias("proposed")), SIDE)
    else:
        messages = serviced.withColumn("proposed", F.col("level"))
    received = message_events.where(_within(period) & F.expr("event_type = 'RECEIVED' and inferred is null"))
    readers = logged_readers(
        message_events,
        queue_events,
        endpoint_events,
        ended,
        around,
        period,
        queues=queues if knows_queues else None,
    )
    return Read(
        inputs=Inputs(
            messages=materialize(messages),
            leaves=leaves(message_events, queue_events, endpoint_events, ended, there, period),
            endpoint_events=endpoint_events,
            queue_events=queue_events,
            locks=now_open.locks,
            holds=now_open.holds,
            readers=materialize(readers),
            off=waiting.off,
        ),
        first_received=received.groupBy("message_id").agg(F.min("event_time").alias("first_received_at")),
    )


def _within(period: Period) -> Column:
    time = F.col("event_time")
    return (time >= F.lit(period.start)) & (time < F.lit(period.end))


def _since(warehouse: Warehouse, waiting: DataFrame, period: Period) -> datetime:
    """From when on rows of the ledger matter: 24 hours before the period, or earlier.

    A message that was taken earlier and is still open shared the work on it with others that may be closed.
    """
    around = period.around.start
    taken = warehouse.read_open(MESSAGES, period.start).where(
        (F.col("event_type") == "RECEIVED") & (F.col("event_time") < F.lit(around))
    )
    open_still = waiting.where("in_queue or in_flight").select("message_id")
    [row] = collect_rows(
        taken.join(open_still, "message_id", "left_semi").agg(F.min("event_time").alias("first_taken_at"))
    )
    return min(around, row["first_taken_at"] or around)


def queue_numbers(names: Sequence[tuple[str, str, str]]) -> list[tuple[int, str, str, str]]:
    """The queues with their numbers, in the order of their names."""
    return [(number, *name) for number, name in enumerate(sorted(names))]
