"""Conversation endpoints: who they are, from all that is known of their conversation."""

from pyspark.sql import Column, DataFrame, functions as F

from schemas.events import CREATIONS, END_WITH_CLEANUP, END_WITH_ERROR, ENDS, MOVE
from schemas.ledger import ARRIVAL, MOVES

CREATION_COLUMNS = (
    "instance",
    "database",
    "contract",
    "local_service",
    "remote_service",
    "conversation_handle",
    "logged_priority",
)
RESOLVED_FROM = ("created_at", "instance", "database", "contract", "local_service", "remote_service")
"""What a stored priority was resolved from; it is resolved again only if one of these changes."""


def fold_endpoints(
    old: DataFrame, early: DataFrame, endpoint_events: DataFrame, message_events: DataFrame
) -> DataFrame:
    """Fold events into endpoints.

    Args:
        old: `endpoints` rows that the events may concern, always both of a conversation.
        early: all `early_facts`.
        endpoint_events: accepted endpoint events; repeats and any order allowed.
        message_events: accepted message events, for first arrivals; repeats and any order allowed.

    Returns:
        One row per endpoint of which anything is known; key (conversation_id, is_initiator). `created_at`
        and all that a creation says are null where the endpoint is not known yet. `resolution` is what
        an old row's priority was resolved from and to, null for a new one. `last_fact_on` is the
        conversation's, and `is_over` says whether all its known endpoints have ended.

    A target endpoint without DIALOG_CREATED is inferred from the first arrival of a message of the
    initiator, once the initiator endpoint is known; where both are known the earlier time counts.
    Source: the design, "endpoint_events" and "State at as_of".
    """
    facts = (
        _from_events(endpoint_events)
        .unionByName(_from_arrivals(message_events), allowMissingColumns=True)
        .unionByName(_from_rows(old), allowMissingColumns=True)
        .unionByName(early, allowMissingColumns=True)
    )
    # As for messages: nothing is gained by aggregating before the shuffle.
    conversations = (
        facts.repartition("conversation_id")
        .groupBy("conversation_id")
        .agg(
            _side(True).alias("initiator"),
            _side(False).alias("target"),
            F.min("first_arrival").alias("first_arrival"),
            F.max("last_fact_on").alias("last_fact_on"),
        )
    )
    sides = conversations.select(
        "conversation_id", "last_fact_on", F.array(_initiator(), _target()).alias("sides")
    )
    is_over = _is_over(F.col("sides")[0]) & _is_over(F.col("sides")[1])
    sides = sides.select("conversation_id", "last_fact_on", is_over.alias("is_over"), F.inline("sides"))
    later = F.filter("moves", lambda move: move.moved_at >= F.col("created_at"))
    # Functions over arrays are interpreted and slow: endpoints that never move, nearly all, go without.
    latest = F.when(F.size("moves") > 0, F.array_max(later))
    return sides.where(_anything_known()).withColumn(
        "conversation_group_id", F.coalesce(latest.conversation_group_id, F.col("conversation_group_id"))
    )


def _is_over(side: Column) -> Column:
    return side.created_at.isNull() | side.ended_at.isNotNull()


def _from_events(events: DataFrame) -> DataFrame:
    event_type, time = F.col("event_type"), F.col("event_time")
    creation = F.struct("event_time", "event_id", "conversation_group_id", *CREATION_COLUMNS)
    move = F.struct(time.alias("moved_at"), F.col("event_id"), F.col("conversation_group_id"))
    return events.select(
        "conversation_id",
        "is_initiator",
        F.when(event_type.isin(*CREATIONS), creation).alias("creation"),
        F.when(event_type == MOVE, F.array(move)).alias("moves"),
        F.when(event_type.isin(*ENDS), time).alias("ended_at"),
        F.when(event_type == END_WITH_ERROR, time).alias("ended_with_error_at"),
        F.when(event_type == END_WITH_CLEANUP, time).alias("ended_with_cleanup_at"),
        F.col("event_date").alias("last_fact_on"),
    )


def _from_arrivals(message_events: DataFrame) -> DataFrame:
    kind = F.when(F.col("event_type") == "DELIVERED", 1).when(F.col("event_type") == "RECEIVED", 2)
    arrival = F.struct(
        F.col("event_time").alias("arrived_at"), kind.alias("kind"), "event_id", "instance", "database"
    )
    of_initiator = kind.isNotNull() & F.col("sent_by_initiator")
    return message_events.select(
        "conversation_id",
        F.when(of_initiator, arrival).alias("first_arrival"),
        F.col("event_date").alias("last_fact_on"),
    )


def _from_rows(old: DataFrame) -> DataFrame:
    creation = F.struct(
        "creation.event_time", "creation.event_id", "creation.conversation_group_id", *CREATION_COLUMNS
    )
    return old.select(
        "conversation_id",
        "is_initiator",
        F.when(F.col("creation").isNotNull(), creation).alias("creation"),
        "first_arrival",
        "moves",
        "ended_at",
        "ended_with_error_at",
        "ended_with_cleanup_at",
        "last_fact_on",
        F.struct(*RESOLVED_FROM, "priority", "rule_name", "ladder_step").alias("resolution"),
    )


def _side(is_initiator: bool) -> Column:
    """The facts of one of the two endpoints, as a struct."""
    own = F.col("is_initiator") if is_initiator else ~F.col("is_initiator")

    def least(name: str) -> Column:
        return F.min(F.when(own, F.col(name))).alias(name)

    moves = F.sort_array(F.array_distinct(F.flatten(F.collect_list(F.when(own, F.col("moves"))))))
    return F.struct(
        least("creation"),
        moves.alias("moves"),
        least("ended_at"),
        least("ended_with_error_at"),
        least("ended_with_cleanup_at"),
        F.max(F.when(own, F.col("resolution"))).alias("resolution"),
    )


def _initiator() -> Column:
    side = F.col("initiator")
    return _endpoint(
        side,
        is_initiator=True,
        created_at=side.creation.event_time,
        group=side.creation.conversation_group_id,
        names={name: side.creation[name] for name in CREATION_COLUMNS},
        inferred=F.lit(False),
        first_arrival=F.lit(None).cast(ARRIVAL),
    )


def _target() -> Column:
    side, other, arrival = F.col("target"), F.col("initiator.creation"), F.col("first_arrival")
    can_infer = other.isNotNull() & arrival.isNotNull()
    inferred = side.creation.isNull() & can_infer
    names = {
        "instance": arrival.instance,
        "database": arrival.database,
        "contract": other.contract,
        "local_service": other.remote_service,
        "remote_service": other.local_service,
    }
    return _endpoint(
        side,
        is_initiator=False,
        created_at=F.least(side.creation.event_time, F.when(can_infer, arrival.arrived_at)),
        group=F.when(inferred, F.col("conversation_id")).otherwise(side.creation.conversation_group_id),
        names={
            name: F.when(inferred, names[name]).otherwise(side.creation[name])
            if name in names
            else side.creation[name]
            for name in CREATION_COLUMNS
        },
        inferred=inferred,
        first_arrival=arrival,
    )


def _endpoint(
    side: Column,
    *,
    is_initiator: bool,
    created_at: Column,
    group: Column,
    names: dict[str, Column],
    inferred: Column,
    first_arrival: Column,
) -> Column:
    creation = side.creation
    deciding = F.struct(
        creation.event_time.alias("event_time"),
        creation.event_id.alias("event_id"),
        creation.conversation_group_id.alias("conversation_group_id"),
    )
    return F.struct(
        F.lit(is_initiator).alias("is_initiator"),
        created_at.alias("created_at"),
        group.alias("conversation_group_id"),
        *[value.alias(name) for name, value in names.items()],
        inferred.alias("inferred"),
        F.when(creation.isNotNull(), deciding).alias("creation"),
        first_arrival.alias("first_arrival"),
        F.coalesce(side.moves, F.array().cast(MOVES)).alias("moves"),
        side.ended_at.alias("ended_at"),
        side.ended_with_error_at.alias("ended_with_error_at"),
        side.ended_with_cleanup_at.alias("ended_with_cleanup_at"),
        side.resolution.alias("resolution"),
    )


def _anything_known() -> Column:
    return (
        F.col("created_at").isNotNull()
        | F.col("first_arrival").isNotNull()
        | (F.size("moves") > 0)
        | F.col("ended_at").isNotNull()
    )
