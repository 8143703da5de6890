"""Refuse snapshots of databases that hold the same endpoints: a copy, or one database under two names."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import CopyError
from pipelines.console.wording import format_count
from pipelines.engine.frames import small_frame, union_all
from pipelines.ingest.snapshots.contradictions import as_accepted
from pipelines.ingest.snapshots.message_endpoints import made_of_messages
from pipelines.ingest.snapshots.read import ViewsRead
from pipelines.server.snapshots.checks import describe_copy
from pipelines.server.snapshots.places import PLACE, Place
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import ever
from pipelines.storage.collect import collect_rows
from pipelines.storage.placed import without_left_out
from pipelines.storage.warehouse import Warehouse
from schemas.events import CREATIONS, ENDPOINT_FACTS, ENDS
from schemas.outputs import SNAPSHOTS


def require_one_place(warehouse: Warehouse, views: ViewsRead | None, *, are_places_new: bool) -> None:
    """Refuse an endpoint that snapshots of two databases show open.

    Args:
        warehouse: the tables, for what snapshots showed before.
        views: what new snapshots show; None without any.
        are_places_new: whether the settings name or leave out other databases than before. Without this, only
            the endpoints of new snapshots are looked for.

    Raises:
        CopyError: there are such databases; one line a pair.
    """
    new = None if views is None else views.made.get(ENDPOINT_FACTS.name)
    places = set() if views is None else {each.database_key for each in views.snapshots}
    taken = warehouse.read(SNAPSHOTS).select(*PLACE).distinct()
    places |= {(row["instance"], row["database"]) for row in collect_rows(taken)}
    if len(places - warehouse.places.left_out) < 2:
        return
    frames = [] if new is None else [open_endpoints(without_left_out(new, warehouse.places))]
    if warehouse.exists(ENDPOINT_FACTS) and (frames or are_places_new):
        recorded = warehouse.read(ENDPOINT_FACTS).where("seen_at is not null and inferred is null")
        if not are_places_new:
            ids = frames[0].select("conversation_id").distinct()
            recorded = recorded.join(ids, "conversation_id", "left_semi")
        frames.append(open_endpoints(recorded))
    copies = find_copies(union_all(frames), sorted(places)) if frames else {}
    if copies:
        raise CopyError(
            *(
                describe_copy(*pair, f"{format_count(copies[pair], 'endpoint')} open in both")
                for pair in sorted(copies)
            )
        )


def open_endpoints(endpoint_events: DataFrame) -> DataFrame:
    """The endpoints that snapshots show open, each once a database.

    Args:
        endpoint_events: events of snapshots, none of them inferred.

    Returns:
        `SIDE` and `PLACE`. An endpoint that only a message to be sent shows is none: another database may
        hold the message.
    """
    # What a snapshot showed, also where a later one overrules it.
    event_type = as_accepted()
    own_end = event_type.isin(*ENDS) & F.col("conversation_handle").isNotNull()
    is_there = event_type.isin(*CREATIONS) & ~(made_of_messages() & F.col("is_initiator"))
    of_moment = endpoint_events.groupBy(*SIDE, *PLACE, "seen_at").agg(
        ever(is_there).alias("is_there"), ever(own_end).alias("is_ended")
    )
    return of_moment.where("is_there and not is_ended").select(*SIDE, *PLACE).distinct()


def find_copies(endpoints: DataFrame, places: Sequence[Place]) -> dict[tuple[Place, Place], int]:
    """The pairs of databases that have the same endpoints, with the number of these.

    Args:
        endpoints: `open_endpoints`, also several of them.
        places: all databases, in order.
    """
    rows = [(number, *place) for number, place in enumerate(places)]
    numbered = small_frame(endpoints.sparkSession, rows, "place int, instance string, database string")
    each = endpoints.join(F.broadcast(numbered), [*PLACE], "inner").select(*SIDE, "place").distinct()
    together = F.array_join(F.array_sort(F.collect_set(F.col("place").cast("string"))), ",")
    held = each.groupBy(*SIDE).agg(together.alias("places"), F.count(F.lit(1)).alias("count"))
    kinds = held.where("count > 1").groupBy("places").agg(F.count(F.lit(1)).alias("endpoints"))
    found = Counter[tuple[Place, Place]]()
    for row in collect_rows(kinds):
        numbers = sorted(map(int, row["places"].split(",")))
        for one, other in combinations(numbers, 2):
            found[places[one], places[other]] += row["endpoints"]
    return dict(found)
