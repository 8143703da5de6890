"""Find conversations that are never ended: the server keeps their endpoints until an END CONVERSATION."""

from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.instants import format_instant
from pipelines.questions.endpoint_states import find_closed_endpoints
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import events_before
from pipelines.storage.collect import collect_rows
from pipelines.storage.pruned_days import pruned_error, require_left, start_of
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, ENDS, MESSAGES
from schemas.ledger import ENDPOINTS
from schemas.reading import open_at

CLOSED_LIFETIME = timedelta(minutes=30)
"""How long a server keeps an endpoint that is closed."""
TRAFFIC_NOT_KNOWN = "traffic_not_known"
"""The reason of endpoints whose traffic no log covers: they may be no leaks."""
DAYS = 7
"""Days without traffic that make a leak by default: longer than a weekend and a holiday."""

LEAK_KEY = ("instance", "database", "contract", "local_service", "remote_service", "reason")
ENDPOINT_COLUMNS = (*LEAK_KEY[:2], "queue", *LEAK_KEY[2:5], "conversation_handle", "created_at", "created_by")
DAY = 86_400_000_000
"""Microseconds."""


def find_leaks(
    endpoints: DataFrame,
    endpoint_events: DataFrame,
    message_events: DataFrame,
    *,
    as_of: datetime,
    days: float = DAYS,
    closed: DataFrame | None = None,
    knows_before: bool = False,
) -> DataFrame:
    """Find the endpoints that no application ends, and those that the server does not remove.

    Args:
        endpoints: `endpoints` rows that may matter at as_of.
        endpoint_events: endpoint events that may matter at as_of.
        message_events: all message events that are left, closed ones too.
        as_of: the instant.
        days: a conversation without traffic for this many days counts as idle.
        closed: `endpoint_states.find_closed_endpoints`; `endpoints` has theirs. None without snapshots.
        knows_before: whether the log had messages before these days that were pruned since.

    Returns:
        One row per endpoint that exists at as_of, has not ended, and leaks; key (conversation_id,
        is_initiator): where it lives, its names and handle, `created_at`, `created_by`, `age_days` since
        then, `far_ended_at` (when the other side ended; null if it has not), `far_ended_by` (log, or snapshot
        if only one shows that it had by then), `last_traffic` and `reason`: far_side_ended, else no_traffic.
        Traffic is a message event of either direction, or the creation, and not that a message is gone which
        a snapshot no longer shows. The reason is traffic_not_known unless a log has messages both before and
        in these days. Beside these, endpoints that the newest snapshot shows
        CLOSED, with the reason closed: their logged end, else their creation, is more than half an hour
        before it.

    The vendor's documentation says that a conversation lives until both sides have ended it.
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
    existing = (
        endpoints.where((F.col("created_at") < at) & (F.col("ended_at").isNull() | (F.col("ended_at") >= at)))
        .select(*SIDE, *ENDPOINT_COLUMNS, F.lit(False).alias("is_closed"))
        .unionByName(_find_closed(endpoints, closed))
        .join(ended, SIDE, "left")
    )
    traffic = (
        events_before(message_events, as_of)
        .where("inferred is null")
        .join(existing.select("conversation_id").distinct(), "conversation_id", "left_semi")
        .groupBy("conversation_id")
        .agg(F.max("event_time").alias("last_message"))
    )
    since = F.lit(as_of - timedelta(days=days))
    is_idle = F.col("last_traffic") <= since
    logged = message_events.where("seen_at is null").agg(
        (F.count_if((F.col("event_time") > since) & (F.col("event_time") < at)) > 0).alias("knows_now"),
        ((F.count_if(F.col("event_time") <= since) > 0) | F.lit(knows_before)).alias("knows_before"),
    )
    reason = (
        F.when(F.col("is_closed"), "closed")
        .when(F.col("far_ended_at").isNotNull(), "far_side_ended")
        .when(is_idle & F.col("knows_now") & F.col("knows_before"), "no_traffic")
        .when(is_idle, TRAFFIC_NOT_KNOWN)
    )
    return (
        existing.join(traffic, "conversation_id", "left")
        .crossJoin(F.broadcast(logged))
        .withColumn("last_traffic", F.greatest("created_at", "last_message"))
        .withColumns({"reason": reason, "age_days": F.round(_days(F.col("created_at"), as_of), 2)})
        .where("reason is not null")
        .drop("last_message", "is_closed", "knows_now", "knows_before")
    )


def _find_closed(endpoints: DataFrame, closed: DataFrame | None) -> DataFrame:
    """Find the closed endpoints that are older than the server keeps them, by the age that is known."""
    columns: list[Column | str] = [*SIDE, *ENDPOINT_COLUMNS, F.lit(True).alias("is_closed")]
    if closed is None:
        return endpoints.where("false").select(*columns)
    age = F.unix_micros("closed_seen_at") - F.unix_micros(F.coalesce("logged_end", "created_at"))
    return (
        endpoints.join(closed, SIDE, "inner")
        .where(age > F.lit(CLOSED_LIFETIME // timedelta(microseconds=1)))
        .select(*columns)
    )


def count_leaks(leaking: DataFrame, *, as_of: datetime) -> DataFrame:
    """Count the rows of `find_leaks` by database, contract, services and reason.

    Returns:
        One row per instance, database, contract, local_service, remote_service and reason: `endpoints`,
        the `oldest` creation, `oldest_days` since then, and `a_day`: endpoints a day since
        then, the first day counted whole.
    """
    oldest_days = _days(F.min("created_at"), as_of)
    return leaking.groupBy(*LEAK_KEY).agg(
        F.count(F.lit(1)).alias("endpoints"),
        F.min("created_at").alias("oldest"),
        F.round(oldest_days, 2).alias("oldest_days"),
        F.round(F.count(F.lit(1)) / F.greatest(oldest_days, F.lit(1.0)), 2).alias("a_day"),
    )


def read_leaks(warehouse: Warehouse, as_of: datetime, *, days: float = DAYS) -> DataFrame:
    """Find the leaks of the tables at a published as_of.

    Raises:
        ConfigError: the `days` before as_of have a pruned day.
    """
    _require_days_left(warehouse, as_of, days)
    return _find_leaks(warehouse, as_of, days, warehouse.read(MESSAGES))


def read_leaking(warehouse: Warehouse, as_of: datetime, *, days: float) -> DataFrame:
    """Find the endpoints that `read_leaks` lists, by the messages of the `days` before as_of.

    The days must be left. The cost is that of the days, and not of the history. In return the reasons
    no_traffic and traffic_not_known are not told apart, and `last_traffic` before these days is the creation.
    """
    # A closed row has no event after the day on which it was closed.
    messages = warehouse.read_left(MESSAGES, as_of - timedelta(days=days))
    return _find_leaks(warehouse, as_of, days, messages)


def _find_leaks(warehouse: Warehouse, as_of: datetime, days: float, messages: DataFrame) -> DataFrame:
    closed = find_closed_endpoints(warehouse, as_of)
    endpoints = warehouse.read_open(ENDPOINTS, as_of)
    if closed is not None:
        # The ledger has ended a closed endpoint that the server still keeps.
        over = warehouse.read(ENDPOINTS).where(f"not ({open_at(as_of)})").join(closed, SIDE, "left_semi")
        endpoints = endpoints.unionByName(over)
    return find_leaks(
        endpoints,
        warehouse.read_open(ENDPOINT_FACTS, as_of),
        messages,
        as_of=as_of,
        days=days,
        closed=closed,
        knows_before=warehouse.first_day is not None,
    )


def _require_days_left(warehouse: Warehouse, as_of: datetime, days: float) -> None:
    subject = f"command line: --as-of {format_instant(as_of)}"
    require_left(warehouse.first_day, as_of, subject=subject, moment=as_of)
    since = as_of - timedelta(days=days)
    if warehouse.first_day is not None and warehouse.is_pruned(since):
        left = (as_of - start_of(warehouse.first_day)).days
        remedy = f"name --days {left} or less" if left else "name a later --as-of"
        subject = f"command line: --days {days:g}"
        raise pruned_error(warehouse.first_day, since, subject=subject, remedy=remedy)


def report_leaks(warehouse: Warehouse, *, as_of: datetime, days: float, limit: int) -> dict[str, Any]:
    """Report the leaks at an as_of.

    Args:
        warehouse: what to read.
        as_of: an as_of that was published.
        days: a conversation without traffic for this many days counts as idle.
        limit: rows of each part.

    Returns:
        `as_of`, `days`, `endpoints` (leaks), `traffic_not_known` (endpoints whose traffic no log covers),
        `kinds` (`count_leaks`) and `oldest` (`find_leaks`), both with the endpoints of unknown traffic and
        the oldest first.
    """
    with warehouse.materialized(read_leaks(warehouse, as_of, days=days)) as leaking:
        kinds = count_leaks(leaking, as_of=as_of)
        return {
            "as_of": as_of,
            "days": days,
            "endpoints": leaking.where(F.col("reason") != TRAFFIC_NOT_KNOWN).count(),
            "traffic_not_known": leaking.where(F.col("reason") == TRAFFIC_NOT_KNOWN).count(),
            "kinds": collect_rows(kinds.orderBy(*leak_order()).limit(limit)),
            "oldest": collect_rows(leaking.orderBy("created_at", *SIDE).limit(limit)),
        }


def leak_order() -> list[Column]:
    """Return the order of `count_leaks`: total, so that the same leaks give the same rows."""
    return [F.col("oldest"), *map(F.col, LEAK_KEY)]


def _days(since: Column, as_of: datetime) -> Column:
    return (F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / F.lit(DAY)
