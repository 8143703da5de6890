"""All that a fold looks at, with what follows from snapshots: ids that events know, and what has gone."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.differences import Materialize
from pipelines.ingest.endpoints import created, first_places
from pipelines.ingest.queues import with_queue
from pipelines.ingest.sides import conversation_sides, without_target
from pipelines.ingest.snapshots.identity import Rows, named
from pipelines.ingest.snapshots.inferred_ends import endpoints_gone, messages_gone
from pipelines.ingest.snapshots.message_endpoints import made_of_messages, without_known
from pipelines.ingest.snapshots.moves import moves_between_snapshots


@dataclass(frozen=True)
class Inference:
    """The rows of the fold.

    Attributes:
        messages: rows of `message_events` with batch.
        conversations: rows of `endpoint_events` with batch.
    """

    messages: DataFrame
    conversations: DataFrame


def infer(
    messages: DataFrame,
    conversations: DataFrame,
    transactions: DataFrame,
    known: DataFrame,
    *,
    arrivals: DataFrame | None,
    views: DataFrame,
    bindings: DataFrame,
    number: int,
    every_receive_counts: bool,
    materialize: Materialize,
) -> Inference:
    """Conclude anew what snapshots say, now that other rows have come.

    Args:
        messages: all message events that the fold looks at, with batch.
        conversations: all endpoint events, likewise.
        transactions: all queue events, likewise.
        known: `endpoints` rows of earlier folds.
        arrivals: closed message events of conversations whose creation has come; None if there are none.
        views: complete views of all snapshots.
        bindings: the catalog's (instance, database, service, queue).
        number: the batch, which concludes it.
        every_receive_counts: without any queue events a RECEIVED counts as committed.
        materialize: computes a frame once.
    """
    batch = F.lit(number).cast("bigint")
    said_before = (F.col("seen_at").isNotNull()) & (F.col("batch") < number)
    facts = Rows(messages.where("inferred is null"), conversations.where("inferred is null"))
    # What new snapshots show was named when they were read.
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
        found = named(old, Rows(rest.messages.where("seen_at is null"), rest.conversations))
        facts = Rows(rest.messages.unionByName(found), rest.conversations.unionByName(old.conversations))
    of_messages = materialize(facts.messages)
    moves = moves_between_snapshots(facts.conversations).withColumn("batch", batch)
    of_conversations = materialize(facts.conversations.unionByName(moves))
    arrived = (
        of_messages if arrivals is None else of_messages.unionByName(arrivals.select(*of_messages.columns))
    )
    sides = materialize(conversation_sides(of_conversations, arrived, known))
    alone = without_target(sides)
    places = first_places(
        arrived.join(alone, "conversation_id", "left_semi"),
        known.join(alone, "conversation_id", "left_semi"),
    )
    made = materialize(with_queue(created(of_conversations, sides, places), bindings))
    gone = endpoints_gone(made, of_conversations, views).withColumn("batch", batch)
    with_ends = materialize(of_conversations.unionByName(gone))
    taken = messages_gone(
        made,
        with_ends,
        of_messages,
        transactions,
        views,
        every_receive_counts=every_receive_counts,
    ).withColumn("batch", batch)
    return Inference(materialize(of_messages.unionByName(taken)), with_ends)
