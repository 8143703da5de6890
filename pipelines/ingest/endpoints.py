"""Conversation endpoints: who they are, from all that is known of their conversation."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.ingest.sides import arrivals
from pipelines.ladder.ladder import with_level
from pipelines.state.endpoints import SIDE, group_after_moves
from pipelines.state.events_before import moment_and_id, moment_rank_and_id
from schemas.events import CREATIONS

NAMES = ("instance", "database", "contract", "local_service", "remote_service")
RESOLVED_FROM = ("created_at", *NAMES, "level_source", "server_level")
"""What a priority is resolved from; a stored one is resolved again only if one of these changes."""
GIVEN = ("priority", "rule_name", "ladder_step")


def first_places(message_events: DataFrame, known: DataFrame) -> DataFrame:
    """Where the first message of the initiator arrived: what an inferred target endpoint is made of.

    Args:
        message_events: message events of the conversations asked for; few if most targets are logged.
        known: `endpoints` rows, which remember the first arrivals of earlier folds.

    Returns:
        One row per conversation_id with any: first_arrival_kind, first_arrival_id, arrival_instance,
        arrival_database.

    Source: the design, "message_events" (by event_time, DELIVERED first, event_id).
    """
    now = arrivals(message_events).select(
        "conversation_id",
        "event_time",
        F.when(F.col("event_type") == "DELIVERED", 1).otherwise(2).alias("first_arrival_kind"),
        "event_id",
        "instance",
        "database",
    )
    before = known.where("inferred").select(
        "conversation_id",
        F.col("first_arrived_at").alias("event_time"),
        "first_arrival_kind",
        F.col("first_arrival_id").alias("event_id"),
        "instance",
        "database",
    )
    rows = now.unionByName(before).withColumn("place", moment_rank_and_id(F.col("first_arrival_kind")))
    found = {
        "first_arrival_kind": "first_arrival_kind",
        "event_id": "first_arrival_id",
        "instance": "arrival_instance",
        "database": "arrival_database",
    }
    return rows.groupBy("conversation_id").agg(
        *[F.min_by(name, "place").alias(alias) for name, alias in found.items()]
    )


def created(endpoint_events: DataFrame, sides: DataFrame, places: DataFrame) -> DataFrame:
    """The endpoints of conversations as they were created.

    Args:
        endpoint_events: all endpoint events of these conversations, each once.
        sides: `sides.conversation_sides` of them.
        places: `first_places` of those that have no creation of the target.

    Returns:
        One row per endpoint whose creation is known or can be inferred; key (conversation_id,
        is_initiator): where it lives, its names, `first_group_id`, `created_at`, `created_by`,
        `level_source`, `logged_priority`, how it was inferred, and `ended_at`.

    A target endpoint without DIALOG_CREATED is inferred from the first arrival of a message of the
    initiator, once the initiator endpoint is known. One that has a DIALOG_CREATED was created at the
    earlier of that and the first arrival, whether or not the initiator endpoint is known. What a snapshot
    shows stands in for a creation that was not logged.
    Source: the design, "endpoint_events"; of snapshots, docs/semantics.md.
    """
    creations = endpoint_events.where(F.col("event_type").isin(*CREATIONS))
    # The narrow side stands on the left: the embedded engine holds that one in memory.
    of_both = sides.join(_first_of_each(creations, sides), "conversation_id", "right")
    joined = places.withColumn("can_infer", F.lit(True)).join(of_both, "conversation_id", "right")
    # An initiator endpoint whose target is inferred gives two rows.
    infers = F.col("is_initiator") & F.coalesce("can_infer", F.lit(False))
    copies = F.when(infers, F.array(F.lit(False), F.lit(True))).otherwise(F.array(F.lit(False)))
    return joined.withColumn("inferred", F.explode(copies)).select(*_identity())


def _first_of_each(creations: DataFrame, sides: DataFrame) -> DataFrame:
    """The creation that decides each endpoint: the first event, else the first that a snapshot shows.

    Args:
        creations: creation events, each once.
        sides: `sides.conversation_sides`.

    Returns:
        One row of `creations` per endpoint, with `server_level`: the server never changes a level.

    Most endpoints have one creation. Only those of conversations with several are compared, by few columns.
    """
    shown = F.col("seen_at").isNotNull()
    place = F.concat(F.when(shown, "1").otherwise("0"), moment_and_id())
    shown_level = F.when(shown, F.col("logged_priority"))
    again = sides.where("created_again").select("conversation_id")
    several = (
        creations.join(again, "conversation_id", "left_semi")
        .groupBy(*SIDE)
        .agg(F.min(place).alias("first_place"), F.min(shown_level).alias("least_level"))
    )
    is_only = F.col("first_place").isNull()
    return (
        several.join(creations, SIDE, "right")
        .where(is_only | (F.col("first_place") == place))
        .withColumn("server_level", F.when(is_only, shown_level).otherwise(F.col("least_level")))
    )


def endpoints(
    endpoint_events: DataFrame,
    sides: DataFrame,
    moves: DataFrame,
    places: DataFrame,
    known: DataFrame,
    rules: DataFrame,
) -> DataFrame:
    """The endpoints of conversations, with the priority that they were given at their creation.

    Args:
        endpoint_events: all endpoint events of these conversations.
        sides: `sides.conversation_sides` of them.
        moves: `state.latest_moves` of the events; few.
        places: `first_places` of those that have no creation of the target.
        known: `endpoints` rows of earlier folds, for the priorities that stay.
        rules: the rule history (`priority_rules`).

    Returns:
        The rows of `created` as the `endpoints` table has them, without queue, closed_on and fold; key
        (conversation_id, is_initiator).

    A stored priority stays while what it was resolved from is the same, whatever became of the rules.
    Source: the design, "State at as_of" and "Endpoint priority".
    """
    placed = (
        moves.join(created(endpoint_events, sides, places), SIDE, "right")
        .withColumn("conversation_group_id", group_after_moves())
        .drop("moved_at", "moved_to")
    )
    return _with_given(placed, known, rules)


def _identity() -> list[Column]:
    """Who an endpoint is: as its creation says or, if inferred, the initiator's with the services swapped."""
    inferred, is_target = F.col("inferred"), F.col("inferred") | ~F.col("is_initiator")

    def either(if_inferred: Column, otherwise: str, name: str) -> Column:
        return F.when(inferred, if_inferred).otherwise(F.col(otherwise)).alias(name)

    nothing = F.lit(None)
    created_at = F.when(~is_target, F.col("event_time")).otherwise(
        F.least(F.when(~inferred, F.col("event_time")), "first_arrived_at")
    )
    return [
        F.col("conversation_id"),
        (~is_target).alias("is_initiator"),
        either(F.col("arrival_instance"), "instance", "instance"),
        either(F.col("arrival_database"), "database", "database"),
        F.col("contract"),
        either(F.col("remote_service"), "local_service", "local_service"),
        either(F.col("local_service"), "remote_service", "remote_service"),
        either(nothing.cast("string"), "conversation_handle", "conversation_handle"),
        F.when(~inferred, F.coalesce("logged_priority", "server_level")).alias("logged_priority"),
        F.when(inferred | F.col("seen_at").isNull() | (created_at < F.col("event_time")), "log")
        .when(F.unix_micros("event_time") == F.unix_micros("seen_at") - 1, "snapshot")
        .otherwise("lifetime")
        .alias("created_by"),
        F.when(inferred | F.col("seen_at").isNull(), "ladder").otherwise("server").alias("level_source"),
        either(F.col("conversation_id"), "conversation_group_id", "first_group_id"),
        created_at.alias("created_at"),
        inferred,
        F.when(is_target, F.col("first_arrived_at")).alias("first_arrived_at"),
        F.when(inferred, F.col("first_arrival_kind")).alias("first_arrival_kind"),
        F.when(inferred, F.col("first_arrival_id")).alias("first_arrival_id"),
        F.when(is_target, F.col("target_ended_at")).otherwise(F.col("initiator_ended_at")).alias("ended_at"),
    ]


def _with_given(endpoints: DataFrame, known: DataFrame, rules: DataFrame) -> DataFrame:
    # A level that a snapshot shows later, beside a logged creation, decides nothing.
    server_level = F.when(F.col("level_source") == "server", F.col("logged_priority"))
    told = known.withColumn("server_level", server_level)
    before = told.select(*SIDE, *[F.col(name).alias(f"was_{name}") for name in (*RESOLVED_FROM, *GIVEN)])
    resolved = before.join(
        with_level(endpoints, rules).withColumn("server_level", server_level), SIDE, "right"
    )
    same = F.lit(True)
    for name in RESOLVED_FROM:
        same &= F.col(name).eqNullSafe(F.col(f"was_{name}"))
    return resolved.withColumns(
        {name: F.when(same, F.col(f"was_{name}")).otherwise(F.col(name)) for name in GIVEN}
    ).drop("server_level", *[f"was_{name}" for name in (*RESOLVED_FROM, *GIVEN)])
