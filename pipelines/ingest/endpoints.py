"""The rows of the table `endpoints`, from all events of their conversations."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.ingest.sides import arrivals
from pipelines.ingest.snapshots.message_endpoints import made_of_messages
from pipelines.ladder.ladder import with_level
from pipelines.rules.statements import CRITERIA
from pipelines.server.snapshots.views import ENDPOINTS as ENDPOINTS_VIEW
from pipelines.state.endpoints import SIDE, group_after_moves
from pipelines.state.events_before import moment_and_id, moment_rank_and_id
from schemas.events import CREATIONS
from schemas.keys import ENDPOINT_NAMES

RESOLVED_FROM = ("created_at", *ENDPOINT_NAMES, "level_source", "server_level")
"""The columns that decide a priority; a stored priority is resolved again only if one of them changes."""
RESOLVED = ("priority", "rule_name", "ladder_step")


def find_first_arrivals(message_events: DataFrame, known: DataFrame) -> DataFrame:
    """The first arrival of a message of the initiator, from which a target endpoint is inferred.

    Args:
        message_events: message events of the conversations; few if most targets are logged.
        known: `endpoints` rows, which hold the first arrivals of earlier batches.

    Returns:
        One row per conversation_id with any: first_arrival_kind, first_arrival_id, arrival_instance,
        arrival_database.

    The order is (event_time; DELIVERED first; event_id).
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


def find_created(
    endpoint_events: DataFrame,
    sides: DataFrame,
    arrivals_by_conversation: DataFrame,
    views: DataFrame | None = None,
) -> DataFrame:
    """Find the endpoints of conversations as they were created.

    Args:
        endpoint_events: all endpoint events of the conversations, each once.
        sides: `conversation_sides` of the conversations.
        arrivals_by_conversation: `find_first_arrivals` of the conversations without a creation of the target.
        views: complete views, as `infer_endpoint_ends` takes them; None if there is none.

    Returns:
        One row per endpoint whose creation is known or can be inferred; key (conversation_id,
        is_initiator): `side_known`, instance, database, names, `first_group_id`, `created_at`, `created_by`,
        `level_source`, `logged_priority`, the columns of an inferred endpoint, and `ended_at`.

    A target endpoint without DIALOG_CREATED is inferred from the first arrival of a message of the
    initiator, once the initiator endpoint is known. One that has a DIALOG_CREATED was created at the
    earlier of that and the first arrival, whether or not the initiator endpoint is known. A row
    of a snapshot replaces a creation that was not logged; it is not before the last complete view that does
    not show the endpoint. See docs/semantics.md#what-events-say.
    """
    creations = endpoint_events.where(F.col("event_type").isin(*CREATIONS))
    first = _first_of_each(creations, sides)
    if views is None:
        first = first.withColumn("not_before", F.lit(None).cast("timestamp"))
    else:
        first = _not_before_views(first, views)
    # The narrow side stands on the left, which is held in memory.
    of_both = sides.join(first, "conversation_id", "right")
    joined = arrivals_by_conversation.withColumn("can_infer", F.lit(True)).join(
        of_both, "conversation_id", "right"
    )
    # An initiator endpoint whose target is inferred gives two rows.
    infers = F.col("is_initiator") & F.coalesce("can_infer", F.lit(False))
    copies = F.when(infers, F.array(F.lit(False), F.lit(True))).otherwise(F.array(F.lit(False)))
    return joined.withColumn("inferred", F.explode(copies)).select(*_identity())


def _first_of_each(creations: DataFrame, sides: DataFrame) -> DataFrame:
    """The creation that defines each endpoint: the first event, else the first one in a snapshot.

    Args:
        creations: creation events, each once.
        sides: `sides.conversation_sides`.

    Returns:
        One row of `creations` per endpoint, with `server_level` and `expires_at` of any of them: the server
        changes neither.

    Most endpoints have one creation. Only creations of conversations with several are compared, by few
    columns.
    """
    is_seen = F.col("seen_at").isNotNull()
    position = F.concat(F.when(is_seen, "1").otherwise("0"), moment_and_id())
    seen_level = F.when(is_seen, F.col("logged_priority"))
    again = sides.where("created_again").select("conversation_id")
    several = (
        creations.join(again, "conversation_id", "left_semi")
        .groupBy(*SIDE)
        .agg(
            F.min(position).alias("first_place"),
            F.min(seen_level).alias("least_level"),
            F.min("expires_at").alias("first_expiry"),
        )
    )
    is_only = F.col("first_place").isNull()
    return (
        several.join(creations, SIDE, "right")
        .where(is_only | (F.col("first_place") == position))
        .withColumn("server_level", F.when(is_only, seen_level).otherwise(F.col("least_level")))
        .withColumn("expires_at", F.coalesce("expires_at", "first_expiry"))
    )


def _not_before_views(first: DataFrame, views: DataFrame) -> DataFrame:
    """The creations, of which no snapshot's is before the complete view that came before the snapshot.

    That view does not show the endpoint, as the snapshot is the first that does.
    """
    place = ["instance", "database"]
    between = (
        views.where(F.col("view") == ENDPOINTS_VIEW)
        .select(*place, F.col("taken_at").alias("not_before"))
        .withColumn("until", F.lead("not_before").over(Window.partitionBy(*place).orderBy("not_before")))
    )
    is_between = (F.col("first.seen_at") > F.col("view.not_before")) & (
        F.col("view.until").isNull() | (F.col("first.seen_at") <= F.col("view.until"))
    )
    for name in place:
        is_between &= F.col(f"first.{name}") == F.col(f"view.{name}")
    bounded = first.alias("first").join(F.broadcast(between).alias("view"), is_between, "left")
    return bounded.select("first.*", "view.not_before").withColumn(
        "event_time", F.greatest("event_time", "not_before")
    )


def find_kinds(endpoint_events: DataFrame, arrivals_by_conversation: DataFrame) -> DataFrame:
    """The kinds of endpoints that `find_created` can find, unique; perhaps some more.

    Args:
        endpoint_events: the endpoint events of the conversations.
        arrivals_by_conversation: `find_first_arrivals` of the conversations without a creation of the target.
    """
    creations = endpoint_events.where(F.col("event_type").isin(*CREATIONS))
    of_initiators = creations.where("is_initiator").select("conversation_id", *CRITERIA)
    inferred = arrivals_by_conversation.join(of_initiators, "conversation_id").select(
        F.col("arrival_instance").alias("instance"),
        F.col("arrival_database").alias("database"),
        "contract",
        F.col("remote_service").alias("local_service"),
        F.col("local_service").alias("remote_service"),
    )
    return creations.select(*ENDPOINT_NAMES).unionByName(inferred).distinct()


def resolve_endpoints(
    endpoint_events: DataFrame,
    sides: DataFrame,
    moves: DataFrame,
    arrivals_by_conversation: DataFrame,
    known: DataFrame,
    levels: DataFrame,
    views: DataFrame | None = None,
) -> DataFrame:
    """Resolve the endpoints of conversations, with the priority of their creation.

    Args:
        endpoint_events: all endpoint events of the conversations.
        sides: `conversation_sides` of the conversations.
        moves: `state.latest_moves` of the events; few.
        arrivals_by_conversation: `find_first_arrivals` of the conversations without a creation of the target.
        known: `endpoints` rows of earlier folds, for the priorities that stay.
        levels: `ladder.levels_of_kinds` of their kinds, with queue.
        views: as in `find_created`.

    Returns:
        The rows of `find_created` with the columns of the table `endpoints`, without closed_on and fold; key
        (conversation_id, is_initiator).

    A priority that the ladder gave stays while the columns of `RESOLVED_FROM` are the same, even if rules
    change. See
    docs/semantics.md#priority-of-an-endpoint.
    """
    with_groups = (
        moves.join(find_created(endpoint_events, sides, arrivals_by_conversation, views), SIDE, "right")
        .withColumn("conversation_group_id", group_after_moves())
        .drop("moved_at", "moved_to")
    )
    return _with_stored_priority(with_groups, known, levels)


def _identity() -> list[Column]:
    """Identity of an endpoint: from its creation or, if inferred, the initiator's with swapped services."""
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
        (~made_of_messages()).alias("side_known"),
        either(F.col("arrival_instance"), "instance", "instance"),
        either(F.col("arrival_database"), "database", "database"),
        F.col("contract"),
        either(F.col("remote_service"), "local_service", "local_service"),
        either(F.col("local_service"), "remote_service", "remote_service"),
        either(nothing.cast("string"), "conversation_handle", "conversation_handle"),
        F.when(~inferred, F.coalesce("logged_priority", "server_level")).alias("logged_priority"),
        F.when(inferred | F.col("seen_at").isNull() | (created_at < F.col("event_time")), "log")
        .when(_is_of_snapshot(), "snapshot")
        .otherwise("lifetime")
        .alias("created_by"),
        F.when(inferred | F.col("seen_at").isNull(), "ladder").otherwise("server").alias("level_source"),
        F.col("seen_at").alias("shown_at"),
        either(F.col("conversation_id"), "conversation_group_id", "first_group_id"),
        created_at.alias("created_at"),
        F.when(~inferred, F.col("expires_at")).alias("expires_at"),
        inferred,
        F.when(is_target, F.col("first_arrived_at")).alias("first_arrived_at"),
        F.when(inferred, F.col("first_arrival_kind")).alias("first_arrival_kind"),
        F.when(inferred, F.col("first_arrival_id")).alias("first_arrival_id"),
        F.when(is_target, F.col("target_ended_at")).otherwise(F.col("initiator_ended_at")).alias("ended_at"),
    ]


def _is_of_snapshot() -> Column:
    """Whether a creation is known from when a snapshot showed it, or a complete view before did not."""
    is_bounded = F.coalesce(F.col("event_time") == F.col("not_before"), F.lit(False))
    return is_bounded | (F.unix_micros("event_time") == F.unix_micros("seen_at") - 1)


def _with_stored_priority(created: DataFrame, known: DataFrame, levels: DataFrame) -> DataFrame:
    # A level in a later snapshot has no effect beside a logged creation.
    server_level = F.when(F.col("level_source") == "server", F.col("logged_priority"))
    known_levels = known.withColumn("server_level", server_level)
    before = known_levels.select(
        *SIDE, *[F.col(name).alias(f"was_{name}") for name in (*RESOLVED_FROM, *RESOLVED)]
    )
    resolved = before.join(
        with_level(created, levels, shown_at=F.col("shown_at")).withColumn("server_level", server_level),
        SIDE,
        "right",
    )
    # What rules say of a level of the server's follows from all snapshots, in whatever order they came.
    same = F.col("level_source") == "ladder"
    for name in RESOLVED_FROM:
        same &= F.col(name).eqNullSafe(F.col(f"was_{name}"))
    return resolved.withColumns(
        {name: F.when(same, F.col(f"was_{name}")).otherwise(F.col(name)) for name in RESOLVED}
    ).drop("server_level", "shown_at", *[f"was_{name}" for name in (*RESOLVED_FROM, *RESOLVED)])
