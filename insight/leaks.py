"""Conversations that are never ended: they stay in the server's tables until somebody ends them."""

from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.state.endpoints import SIDE
from pipelines.state.happened import happened
from schemas.events import ENDPOINT_FACTS, ENDS, MESSAGES
from schemas.ledger import ENDPOINTS
from storage.collected import collected
from storage.warehouse import Warehouse

DAYS = 7
"""So many days without traffic make a leak, where nothing else is asked for (our choice)."""

KIND = ("instance", "database", "contract", "local_service", "remote_service", "reason")
DAY = 86_400_000_000
"""Microseconds."""


def leaks(
    endpoints: DataFrame,
    endpoint_events: DataFrame,
    message_events: DataFrame,
    *,
    as_of: datetime,
    days: float = DAYS,
) -> DataFrame:
    """The endpoints that nobody ends.

    Args:
        endpoints: `endpoints` rows that may matter at as_of.
        endpoint_events: endpoint events that may matter at as_of.
        message_events: all message events, closed ones too.
        as_of: the instant.
        days: after so many days without traffic a conversation counts as left alone.

    Returns:
        One row per endpoint that exists at as_of, has not ended, and leaks; key (conversation_id,
        is_initiator): where it lives, its names and handle, `created_at`, `age_days` since then,
        `far_ended_at` (when the other side ended; null if it has not), `last_traffic` and `reason`:
        far_side_ended, else no_traffic. Traffic is a message event of either direction, or the creation,
        and not that a message is gone which a snapshot no longer shows.

    Source: our choice. The documentation says that a conversation lives until both sides have ended it.
    """
    ended = (
        happened(endpoint_events, as_of)
        .where(F.col("event_type").isin(*ENDS))
        .groupBy("conversation_id", (~F.col("is_initiator")).alias("is_initiator"))
        .agg(F.min("event_time").alias("far_ended_at"))
    )
    at = F.lit(as_of)
    living = (
        endpoints.where((F.col("created_at") < at) & (F.col("ended_at").isNull() | (F.col("ended_at") >= at)))
        .select(*SIDE, *KIND[:2], "queue", *KIND[2:5], "conversation_handle", "created_at")
        .join(ended, SIDE, "left")
    )
    traffic = (
        happened(message_events, as_of)
        .where("inferred is null")
        .join(living.select("conversation_id").distinct(), "conversation_id", "left_semi")
        .groupBy("conversation_id")
        .agg(F.max("event_time").alias("last_message"))
    )
    is_left_alone = F.col("last_traffic") <= F.lit(as_of - timedelta(days=days))
    reason = F.when(F.col("far_ended_at").isNotNull(), "far_side_ended").when(is_left_alone, "no_traffic")
    return (
        living.join(traffic, "conversation_id", "left")
        .withColumn("last_traffic", F.greatest("created_at", "last_message"))
        .withColumns({"reason": reason, "age_days": F.round(_days(F.col("created_at"), as_of), 2)})
        .where("reason is not null")
        .drop("last_message")
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
    return leaks(
        warehouse.read_open(ENDPOINTS, as_of),
        warehouse.read_open(ENDPOINT_FACTS, as_of),
        warehouse.read(MESSAGES),
        as_of=as_of,
        days=days,
    )


def what_leaks(warehouse: Warehouse, *, as_of: datetime, days: float, limit: int) -> dict[str, Any]:
    """Read what leaks at an as_of.

    Args:
        warehouse: what to read.
        as_of: an as_of that was published.
        days: after so many days without traffic a conversation counts as left alone.
        limit: rows of each part.

    Returns:
        `as_of`, `days`, `endpoints` (how many leak), `kinds` (`leak_kinds`, the oldest first) and
        `oldest` (`leaks`, the oldest first).
    """
    with warehouse.kept(leaks_at(warehouse, as_of, days=days)) as leaking:
        kinds = leak_kinds(leaking, as_of=as_of)
        return {
            "as_of": as_of,
            "days": days,
            "endpoints": leaking.count(),
            "kinds": collected(kinds.orderBy(*oldest_first()).limit(limit)),
            "oldest": collected(leaking.orderBy("created_at", *SIDE).limit(limit)),
        }


def oldest_first() -> list[Column]:
    """The order of `leak_kinds`, complete."""
    return [F.col("oldest"), *map(F.col, KIND)]


def _days(since: Column, as_of: datetime) -> Column:
    return (F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / F.lit(DAY)
