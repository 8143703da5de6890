"""Events that the own database contradicts: what it shows of its endpoints and messages wins."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.ingest.snapshots.view_events import FAR_ENDED, OPEN
from pipelines.state.endpoints import SIDE
from pipelines.state.ledger import Ledger
from pipelines.state.messages import LATELY, is_sight_of_message, shown_last
from pipelines.state.transactions import TRANSACTION, first_outcomes
from schemas.events import CREATIONS, ENDS, OVERRULED


def overrule_ends(
    endpoint_events: DataFrame, message_events: DataFrame, materialize: Materialize
) -> DataFrame:
    """Overrule the ends of endpoints that snapshots of their own database show open afterwards.

    Args:
        endpoint_events: all endpoint events of the conversations.
        message_events: their message events; a message that is ready shows that its receiver has not ended.
        materialize: computes a frame once.

    Returns:
        The same rows. An end has `OVERRULED` before its event_type, and is none then, if the endpoint's own
        view shows it SO, SI, CO or ER, or its queue a message of it: at the same taken_at or later, if its
        own state says it, as before a restore (then DI counts, too, and a message of a later taken_at only);
        at the first of them or later, if the far endpoint's state says it, in each snapshot again; more than
        a minute later, if it is logged. Rows of earlier batches are judged again.
    """
    events = endpoint_events.withColumn("event_type", as_accepted())
    is_judged = F.col("event_type").isin(*ENDS) & F.col("inferred").isNull()
    ends = events.where(is_judged)
    if ends.isEmpty():
        return events
    shown = (
        events.where(F.col("event_type").isin(*CREATIONS) & F.col("state").isin(*OPEN, FAR_ENDED))
        .groupBy(*SIDE)
        .agg(
            F.max(F.when(F.col("state").isin(*OPEN), F.col("seen_at"))).alias("open_at"),
            F.max("seen_at").alias("alive_at"),
        )
    )
    said = ends.groupBy(*SIDE).agg(F.min(F.when(_is_far(), F.col("seen_at"))).alias("said_at"))
    ready = (
        message_events.where(is_sight_of_message() & (F.col("event_type") == "DELIVERED"))
        .select(
            "conversation_id", (~F.col("sent_by_initiator")).alias("is_initiator"), shown_last().alias("at")
        )
        .join(said, SIDE, "left_semi")
        .groupBy(*SIDE)
        .agg(F.max("at").alias("ready_at"))
    )
    known = said.join(shown, SIDE, "left").join(ready, SIDE, "left")
    open_at, seen_at = F.greatest("open_at", "ready_at"), F.col("seen_at")
    is_contradicted = (
        F.when(_is_far(), open_at >= F.col("said_at"))
        .when(seen_at.isNotNull(), (F.col("alive_at") >= seen_at) | (F.col("ready_at") > seen_at))
        .otherwise(open_at > F.col("event_time") + F.lit(LATELY))
    )
    judged = known.join(ends, SIDE, "right").withColumn("event_type", _overruled_if(is_contradicted))
    return materialize(events.where(~is_judged).unionByName(judged.select(*events.columns)))


def undo_receives(ledger: Ledger, materialize: Materialize) -> DataFrame:
    """Undo the logged receives of messages that a queue shows ready afterwards, as after a restore.

    Args:
        ledger: the working set; its message events are materialized.
        materialize: computes a frame once.

    Returns:
        The message events. A logged RECEIVED is `undone` if a view shows the message ready more than a minute
        after it and after the COMMIT of its transaction. It stays what readers did.
    """
    messages = ledger.message_events.drop("undone")
    ready = messages.where("event_type = 'DELIVERED' and seen_at is not null")
    shown = ready.groupBy("message_id").agg(F.max(shown_last() - F.lit(LATELY)).alias("before"))
    received = messages.where("event_type = 'RECEIVED' and seen_at is null").join(shown, "message_id")
    key = ["event_id", "event_time"]
    found = materialize(received.where("event_time < before").select(*key, *TRANSACTION, "before"))
    if found.isEmpty():
        return messages.withColumn("undone", F.lit(None).cast("boolean"))
    if ledger.has_queue_events:
        ended = found.join(first_outcomes(ledger.queue_events), TRANSACTION, "left")
        found = ended.where("transaction_id is null or committed_at < before")
    undone = found.select(*key, F.lit(True).alias("undone"))
    return materialize(messages.join(undone, key, "left"))


def as_accepted() -> Column:
    """The event_type that an endpoint event came with."""
    return F.regexp_replace("event_type", f"^{OVERRULED}", "")


def _is_far() -> Column:
    """Whether the state of the far endpoint says an end: then it has no handle."""
    return F.col("seen_at").isNotNull() & F.col("conversation_handle").isNull()


def _overruled_if(is_contradicted: Column) -> Column:
    event_type = F.col("event_type")
    return F.when(is_contradicted, F.concat(F.lit(OVERRULED), event_type)).otherwise(event_type)
