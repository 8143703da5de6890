"""The open messages of a published as_of: both schedules in the same columns."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import null_of
from pipelines.rules.statements import CRITERIA
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from schemas.table import Table

NAMES = CRITERIA
"""Contract and services of the endpoint that holds a message."""


@dataclass(frozen=True)
class Schedule:
    """One of the two schedules.

    Attributes:
        name: the kind of place where its messages wait: receive or transmission.
        table: where the night writes it.
        within: the columns of a place, which has one order.
        level: the column of the level, as answers name it.
    """

    name: str
    table: Table
    within: tuple[str, ...]
    level: str


RECEIVE = Schedule(
    "receive",
    RECEIVE_SCHEDULE,
    ("instance", "database", "queue"),
    "priority",
)
TRANSMISSION = Schedule(
    "transmission",
    TRANSMISSION_SCHEDULE,
    ("instance",),
    "transmit_priority",
)
SCHEDULES = (RECEIVE, TRANSMISSION)


def read_open(warehouse: Warehouse, schedule: Schedule, as_of: datetime) -> DataFrame:
    """Read the open messages of a schedule at a published as_of; see `with_common_columns`."""
    return with_common_columns(warehouse.read_as_of(schedule.table, as_of), schedule)


def with_common_columns(rows: DataFrame, schedule: Schedule) -> DataFrame:
    """Rows of a schedule with the columns that both schedules have then.

    Args:
        rows: rows of the schedule's table.
        schedule: which one.

    Returns:
        One row per place and message: the columns of the table and `kind`, `queue` (null in transmission),
        `is_initiator` (of the holding endpoint), `conversation_group_id` (null in transmission), `unit` (what
        is served together: the group, or the conversation and direction), `receive_number`, `counts_as` (the
        level that orders), `level` (of the receiving endpoint, or that is used for sending), `state`
        (transmission or forwarded beside those of queues), `since` (begin of the wait), `held_since` (since
        when its group is locked, or the queue off in which or for which it waits), `held_source`,
        `waits_for` (a queue that is off), and NAMES (null if not known); null in queues: `held_by` (the
        database that holds it), `sent_level` (of the sending endpoint), `honored`, `block` and `status`.
    """
    columns = _of_queues() if schedule is RECEIVE else _of_transmission()
    return rows.withColumns({"kind": F.lit(schedule.name), **columns})


def _of_queues() -> dict[str, Column]:
    return {
        "unit": F.col("conversation_group_id"),
        "counts_as": F.col("group_priority"),
        "level": F.col("priority"),
        "since": F.col("arrived_at"),
        "waits_for": null_of("string"),
        "held_by": null_of("string"),
        "sent_level": null_of("int"),
        "honored": null_of("boolean"),
        "block": null_of("bigint"),
        "status": null_of("string"),
    }


def _of_transmission() -> dict[str, Column]:
    return {
        "queue": null_of("string"),
        "is_initiator": F.col("sent_by_initiator"),
        "conversation_group_id": null_of("string"),
        "unit": F.concat("conversation_id", F.col("sent_by_initiator").cast("string")),
        "receive_number": null_of("bigint"),
        "counts_as": F.col("transmit_priority"),
        "level": F.col("transmit_priority"),
        "state": F.when(F.col("forwarded"), "forwarded").otherwise("transmission"),
        "since": F.col("sendable_at"),
        "held_since": F.col("waits_since"),
        "held_source": F.col("waits_source"),
        "held_by": F.col("database"),
        "sent_level": F.col("priority"),
        "status": F.col("why_still_here"),
        "local_service": F.col("from_service"),
        "remote_service": F.col("to_service"),
    }
