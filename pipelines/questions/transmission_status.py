"""What the server says of messages that wait to be sent: transmission_status."""

from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import TRANSMISSION_SCHEDULE

COLUMNS = ("messages", "why_still_here", "oldest", "example_message_id")


def statuses(schedule: DataFrame) -> DataFrame:
    """Group messages that wait to be sent by what the server says of them.

    Args:
        schedule: rows of `transmission_schedule` of one as_of.

    Returns:
        One row per text, whole, byte by byte: `why_still_here` (null: the server says nothing, or no
        snapshot shows them), `messages`, `oldest` (sendable_at) and `example_message_id`, the one that has
        waited longest.
    """
    grouped = schedule.groupBy("why_still_here").agg(
        F.count(F.lit(1)).alias("messages"),
        F.min("sendable_at").alias("oldest"),
        F.min_by("message_id", "position").alias("example_message_id"),
    )
    return grouped.select(*COLUMNS)


def transmission_statuses(warehouse: Warehouse, as_of: datetime, limit: int) -> list[dict[str, Any]]:
    """`statuses` of a published as_of, texts first, most messages first; empty if no message has a text."""
    schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
    order = [F.col("why_still_here").isNull(), F.desc("messages"), F.col("why_still_here")]
    rows = collect_rows(statuses(schedule).orderBy(*order).limit(limit))
    return rows if any(row["why_still_here"] is not None for row in rows) else []
