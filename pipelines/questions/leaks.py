"""Conversations that are never ended: they stay in the server's tables until somebody ends them."""

from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.questions.endpoint_states import closed_endpoints
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import events_before
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, ENDS, MESSAGES
from schemas.ledger import ENDPOINTS
from schemas.reading import open_at

KEPT = timedelta(minutes=30)
"""How long a server keeps an endpoint that is closed."""
NOT_KNOWN = "traffic_not_known"
"""The reason of endpoints of which no log says whether they had traffic: they may be no leaks."""
DAYS = 7
"""So many days without traffic make a leak, where nothing else is asked for (our choice)."""

KIND = ("instance", "database", "contract", "local_service", "remote_service", "reason")
OF_ENDPOINT = (*KIND[:2], "queue", *KIND[2:5], "conversation_handle", "created_at", "created_by")
DAY = 86_400_000_000
"""Microseconds."""


def leaks(
    endpoints: DataFrame,
    endpoint_events: DataFrame,
    message_events: DataFrame,
    *,
    as_of: datetime,
    days: float = DAYS,
    closed: DataFrame | None = None,
) -> DataFrame:
    """The endpoints that nobody ends, and those that the server does not remove.

    Args:
        endpoints: `endpoints` rows that may matter at as_of.
        endpoint_events: endpoint events that may matter at as_of.
        message_events: all message events, closed ones too.
        as_of: the instant.
        days: after so many days without traffic a conversation counts as left alone.
        closed: `endpoint_states.closed_endpoints`; `endpoints` has theirs. None without snapshots.

    Returns:
        One row per endpoint that exists at as_of, has not ended, and leaks; key (conversation_id,
        is_initiator): where it lives, its names and handle, `created_at`, `created_by`, `age_days` since
        then, `far_ended_at` (when the other side ended; null if it has not), `far_ended_by` (log, or snapshot
        if only one shows that it had by then), `last_traffic` and `reason`: far_side_ended, else no_traffic.
        Traffic is a message event of either direction, or the creation, and not that a message is gone which
        a snapshot no longer shows. Unless a log has messages both before and in these days, silence says
        nothing: the reason is traffic_not_known. Beside these, endpoints that the newest snapshot shows
        CLOSED, with the reason closed: their logged end, else their creation, is more than half an hour
        before it.

    Source: our choice. The documentation says that a conversation lives until both sides have ended it.
    """
    ended = (
        events_before(endpoint_events, as_of)
        .where(F.col("event_type").isin(*ENDS))
        .groupBy("conversation_id", (~F.col("is_initiator")).alias("is_initiator"))
        .agg(
            F.min("event_time").alias("far_ended_at"),
            F.when(F.min_by(F.col("seen_at").isNull(), "event_time"), "log")
            .otherwise("snapshot")
            .alias("far_ended_by"),
        )
    )
    at = F.lit(as_of)
    living = (
        endpoints.where((F.col("created_at") < at) & (F.col("ended_at").isNull() | (F.col("ended_at") >= at)))
        .select(*SIDE, *OF_ENDPOINT, F.lit(False).alias("is_closed"))
        .unionByName(_long_closed(endpoints, closed))
        .join(ended, SIDE, "left")
    )
    traffic = (
        events_before(message_events, as_of)
        .where("inferred is null")
        .join(living.select("conversation_id").distinct(), "conversation_id", "left_semi")
        .groupBy("conversation_id")
        .agg(F.max("event_time").alias("last_message"))
    )
    since = F.lit(as_of - timedelta(days=days))
    is_left_alone = F.col("last_traffic") <= since
    logged = message_events.where("seen_at is null").agg(
        (F.count_if((F.col("event_time") > since) & (F.col("event_time") < at)) > 0).alias("knows_now"),
        (F.count_if(F.col("event_time") <= since) > 0).alias("knows_before"),
    )
    reason = (
        F.when(F.col("is_closed"), "closed")
        .when(F.col("far_ended_at").isNotNull(), "far_side_ended")
        .when(is_left_alone & F.col("knows_now") & F.col("knows_before"), "no_traffic")
        .when(is_left_alone, NOT_KNOWN)
    )
    return (
        living.join(traffic, "conversation_id", "left")
        .crossJoin(F.broadcast(logged))
        .withColumn("last_traffic", F.greatest("created_at", "last_message"))
        .withColumns({"reason": reason, "age_days": F.round(_days(F.col("created_at"), as_of), 2)})
        .where("reason is not null")
        .drop("last_message", "is_closed", "knows_now", "knows_before")
    )


def _long_closed(endpoints: DataFrame, closed: DataFrame | None) -> DataFrame:
    """The endpoints that were closed longer than the server keeps them, by the age that is known."""
    columns: list[Column | str] = [*SIDE, *OF_ENDPOINT, F.lit(True).alias("is_closed")]
    if closed is None:
        return endpoints.where("false").select(*columns)
    age = F.unix_micros("closed_seen_at") - F.unix_micros(F.coalesce("logged_end", "created_at"))
    return (
        endpoints.join(closed, SIDE, "inner")
        .where(age > F.lit(KEPT // timedelta(microseconds=1)))
        .select(*columns)
    )


def leak_kinds(leaking: DataFrame, *, as_of: datetime) -> DataFrame:
    """Count `leaks` by where they are and what they are of.

    Returns:
        One row per instance, database, contract, local_service, remote_service and reason: `endpoints`,
        the `oldest` creation, `oldest_days` since then, and `a_day`: how many came with each day since
        then, the first day counted whole.

    Source: our choice.
    """
    oldest_days = _days(F.min("created_at"), as_of)
    return leaking.groupBy(*KIND).agg(
        F.count(F.lit(1)).alias("endpoints"),
        F.min("created_at").alias("oldest"),
        F.round(oldest_days, 2).alias("oldest_days"),
        F.round(F.count(F.lit(1)) / F.greatest(oldest_days, F.lit(1.0)), 2).alias("a_day"),
    )


def leaks_at(warehouse: Warehouse, as_of: datetime, *, days: float = DAYS) -> DataFrame:
    """`leaks` of the tables; an as_of that was published."""
    closed = closed_endpoints(warehouse, as_of)
    endpoints = warehouse.read_open(ENDPOINTS, as_of)
    if closed is not None:
        # A closed one is over for the ledger, whatever the server still keeps.
        over = warehouse.read(ENDPOINTS).where(f"not ({open_at(as_of)})").join(closed, SIDE, "left_semi")
        endpoints = endpoints.unionByName(over)
    return leaks(
        endpoints,
        warehouse.read_open(ENDPOINT_FACTS, as_of),
        warehouse.read(MESSAGES),
        as_of=as_of,
        days=days,
        closed=closed,
    )


def conversation_leaks(warehouse: Warehouse, *, as_of: datetime, days: float, limit: int) -> dict[str, Any]:
    """Read what leaks at an as_of.

    Args:
        warehouse: what to read.
        as_of: an as_of that was published.
        days: after so many days without traffic a conversation counts as left alone.
        limit: rows of each part.

    Returns:
        `as_of`, `days`, `endpoints` (how many leak), `traffic_not_known` (how many more may, as no log says
        whether they had traffic), `kinds` (`leak_kinds`, the oldest first) and `oldest` (`leaks`, the oldest
        first), both with the latter.
    """
    with warehouse.materialized(leaks_at(warehouse, as_of, days=days)) as leaking:
        kinds = leak_kinds(leaking, as_of=as_of)
        return {
            "as_of": as_of,
            "days": days,
            "endpoints": leaking.where(F.col("reason") != NOT_KNOWN).count(),
            "traffic_not_known": leaking.where(F.col("reason") == NOT_KNOWN).count(),
            "kinds": collect_rows(kinds.orderBy(*oldest_first()).limit(limit)),
            "oldest": collect_rows(leaking.orderBy("created_at", *SIDE).limit(limit)),
        }


def oldest_first() -> list[Column]:
    """The order of `leak_kinds`, complete."""
    return [F.col("oldest"), *map(F.col, KIND)]


def _days(since: Column, as_of: datetime) -> Column:
    return (F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / F.lit(DAY)
