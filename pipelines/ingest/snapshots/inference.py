"""The working set with what snapshots imply: ids that events know, moves, and ends."""

from dataclasses import replace

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.ingest.endpoints import find_created, find_first_arrivals
from pipelines.ingest.sides import conversation_sides, without_target
from pipelines.ingest.snapshots.contradictions import undo_receives
from pipelines.ingest.snapshots.identity import Rows, name_messages
from pipelines.ingest.snapshots.inferred_ends import infer_endpoint_ends, infer_message_ends
from pipelines.ingest.snapshots.message_endpoints import made_of_messages, without_known
from pipelines.ingest.snapshots.moves import moves_between_snapshots
from pipelines.ingest.snapshots.retained import place_retained
from pipelines.ingest.snapshots.sights import store_once
from pipelines.ingest.snapshots.view_events import is_retained
from pipelines.state.endpoints import with_queue
from pipelines.state.ledger import Ledger


def infer(
    ledger: Ledger,
    *,
    arrivals: DataFrame | None,
    views: DataFrame,
    new_views: DataFrame | None,
    bindings: DataFrame,
    queues: DataFrame,
    number: int,
    has_views_by_hand: bool,
    materialize: Materialize,
) -> Ledger:
    """Infer again what snapshots imply, as a new batch can change it.

    Args:
        ledger: the working set; events with `batch`.
        arrivals: `WorkingSet.arrivals`; None if there are none.
        views: complete views of all snapshots.
        new_views: the views that the batch brings, `sights.with_neighbors`; None if it brings none.
        bindings: the catalog's (instance, database, service, queue).
        queues: `views_of_queues`.
        number: the batch that infers it.
        has_views_by_hand: whether views may have rows that RETENTION keeps; captures have none.
        materialize: computes a frame once.

    Returns:
        The ledger, with the ids that events know and the inferred events, materialized.
    """
    batch = F.lit(number).cast("bigint")
    said_before = (F.col("seen_at").isNotNull()) & (F.col("batch") < number)
    facts = Rows(
        ledger.message_events.where(F.col("inferred").isNull() | is_retained()),
        ledger.endpoint_events.where("inferred is null"),
    )
    # Rows of new snapshots got their ids when they were read.
    old = Rows(facts.messages.where(said_before), facts.conversations.where(said_before))
    rest = Rows(facts.messages.where(~said_before), facts.conversations.where(~said_before))
    if number > 1:
        old, rest = (
            Rows(materialize(each.messages), materialize(each.conversations)) for each in (old, rest)
        )
        both = old.conversations.unionByName(rest.conversations)
        if not both.where(made_of_messages()).isEmpty():
            old, rest = (
                Rows(each.messages, materialize(without_known(each.conversations, both)))
                for each in (old, rest)
            )
        logged = Rows(rest.messages.where("seen_at is null"), rest.conversations)
        found = name_messages(old, logged, materialize)
        facts = Rows(rest.messages.unionByName(found), rest.conversations.unionByName(old.conversations))
    messages = facts.messages if new_views is None else store_once(facts.messages, new_views, number)
    of_messages = materialize(messages)
    if has_views_by_hand and not (retained := of_messages.where(is_retained())).isEmpty():
        of_messages = materialize(place_retained(of_messages, retained, views))
    of_messages = undo_receives(replace(ledger, message_events=of_messages), materialize)
    moves = moves_between_snapshots(facts.conversations).withColumn("batch", batch)
    of_conversations = materialize(facts.conversations.unionByName(moves))
    arrived = (
        of_messages if arrivals is None else of_messages.unionByName(arrivals.select(*of_messages.columns))
    )
    sides = materialize(conversation_sides(of_conversations, arrived, ledger.endpoints))
    alone = without_target(sides)
    places = find_first_arrivals(
        arrived.join(alone, "conversation_id", "left_semi"),
        ledger.endpoints.join(alone, "conversation_id", "left_semi"),
    )
    made = materialize(with_queue(find_created(of_conversations, sides, places, views), bindings))
    gone = infer_endpoint_ends(made, of_conversations, views).withColumn("batch", batch)
    with_ends = materialize(of_conversations.unionByName(gone))
    so_far = replace(ledger, message_events=of_messages, endpoint_events=with_ends, endpoints=made)
    taken = infer_message_ends(so_far, views, queues).withColumn("batch", batch)
    return replace(
        ledger,
        message_events=materialize(of_messages.unionByName(taken)),
        endpoint_events=with_ends,
    )
