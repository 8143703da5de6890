"""Group messages that wait to be sent by their transmission_status."""

from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import TRANSMISSION_SCHEDULE

STATUS_COLUMNS = ("messages", "why_still_here", "oldest", "example_message_id")


def count_statuses(schedule: DataFrame) -> DataFrame:
    """Count messages that wait to be sent by transmission_status.

    Args:
        schedule: rows of `transmission_schedule` of one as_of.

    Returns:
        One row per text, whole, byte by byte: `why_still_here` (null: no transmission_status, or no
        snapshot shows the message), `messages`, `oldest` (sendable_at) and `example_message_id`, the one
        that has waited longest, of several the first by id.
    """
    grouped = schedule.groupBy("why_still_here").agg(
        F.count(F.lit(1)).alias("messages"),
        F.min("sendable_at").alias("oldest"),
        F.min(F.struct("sendable_at", "message_id"))["message_id"].alias("example_message_id"),
    )
    return grouped.select(*STATUS_COLUMNS)


def read_statuses(warehouse: Warehouse, as_of: datetime, limit: int) -> list[dict[str, Any]]:
    """Count the statuses of a published as_of, most messages first; empty if no message has one."""
    schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
    order = [F.col("why_still_here").isNull(), F.desc("messages"), F.col("why_still_here")]
    rows = collect_rows(count_statuses(schedule).orderBy(*order).limit(limit))
    return rows if any(row["why_still_here"] is not None for row in rows) else []
