"""Group messages that wait to be sent by what the server says of them."""

from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.questions.unresolved import locate_unresolved
from pipelines.storage.collect import collect_first
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import TRANSMISSION_SCHEDULE

LEFT_OUT = (
    "'[^']*'|\"[^\"]*\"",
    "[A-Za-z]+://[^ ,;)]*",
    "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){2,}([.][0-9]+)*",
    "[0-9]+([.:,/-][0-9]+)*",
)
"""What texts of one kind may differ in: quoted parts, addresses, GUIDs, times, numbers."""


def kind_of_status(text: str) -> Column:
    """The kind of a transmission_status: the text in a column without what LEFT_OUT names."""
    kind = F.col(text)
    for pattern in LEFT_OUT:
        kind = F.regexp_replace(kind, pattern, "#")
    return kind


def count_statuses(schedule: DataFrame) -> DataFrame:
    """Count messages that wait to be sent by the kind of their transmission_status.

    Args:
        schedule: rows of `transmission_schedule` of one as_of.

    Returns:
        One row per kind: `messages`, `oldest` (sendable_at), and of the message that has waited longest, of
        several the first by id, `example_message_id` and `why_still_here`, its text, whole (null: no
        transmission_status, or no snapshot shows the message).
    """
    first = F.min(F.struct("sendable_at", "message_id", "why_still_here"))
    grouped = schedule.groupBy(kind_of_status("why_still_here").alias("kind")).agg(
        F.count(F.lit(1)).alias("messages"), first.alias("first")
    )
    return grouped.select(
        "messages",
        F.col("first.why_still_here").alias("why_still_here"),
        F.col("first.sendable_at").alias("oldest"),
        F.col("first.message_id").alias("example_message_id"),
    )


def read_statuses(
    warehouse: Warehouse, as_of: datetime, limit: int
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Count the kinds of a published as_of, most messages first; empty if no message has a status.

    Messages that are not matched to a queue count, too, unless the log of as_of was pruned.

    Returns:
        What `collect_first` does of `count_statuses`.
    """
    columns = ("message_id", "sendable_at", "why_still_here")
    schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of).select(*columns)
    if not warehouse.is_pruned(as_of):
        unplaced = locate_unresolved(warehouse, as_of, are_later_known=False).where("kind = 'transmission'")
        lost = unplaced.select(
            "message_id", F.col("since").alias("sendable_at"), F.col("status").alias(columns[2])
        )
        schedule = schedule.unionByName(lost)
    order = [F.col("why_still_here").isNull(), F.desc("messages"), F.col("why_still_here")]
    rows, in_all = collect_first(count_statuses(schedule).orderBy(*order), limit)
    is_told = any(row["why_still_here"] is not None for row in rows)
    return (rows, in_all) if is_told else ([], {"rows": 0, "messages": 0})
