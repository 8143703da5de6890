"""The open messages of a published as_of, with the endpoints that hold them."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.questions.unresolved import locate_unresolved
from pipelines.state.endpoints import SIDE
from pipelines.storage.warehouse import Warehouse
from pipelines.why.places import NAMES
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE

ENDPOINT = ("priority", "ladder_step", "rule_name", "level_source", "created_at")
"""Of the holding endpoint, named endpoint_... in rows; null where no rule of it counts."""


def open_rows(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The messages of both schedules and those that can't be placed.

    Args:
        warehouse: the tables.
        as_of: an as_of that was published.

    Returns:
        One row per message and place: `kind`, instance, database and queue of the place (empty where it has
        none), `message_id`, `conversation_id`, `is_initiator` (of the holding endpoint), `unit` (what is
        served together: the group, or the conversation and direction), `position`, `receive_number`,
        `counts_as` (the level that orders), `level`, `state`, `since`, `held_since` (since when its group is
        locked, or the queue off in which or for which it waits), the names of contract and services;
        `endpoint_instance`, `endpoint_database` and `endpoint_...` of ENDPOINT, null of forwarded
        messages and, but for the place, of unresolved ones; of a transmission `held_by` (the database that
        holds it), `waits_for` (a queue that is off), `sent_level`, `block` and `status`; of an unresolved
        message `reason` and `schedule`.
    """
    endpoints = warehouse.read_open(ENDPOINTS, as_of).where(F.col("created_at") < F.lit(as_of))
    holders = endpoints.select(
        *SIDE,
        F.col("instance").alias("endpoint_instance"),
        F.col("database").alias("endpoint_database"),
        *[F.col(name).alias(f"endpoint_{name}") for name in (*ENDPOINT, *NAMES)],
    )
    placed = _received(warehouse, as_of).unionByName(_sent(warehouse, as_of))
    rows = placed.join(holders, SIDE, "left")
    is_known = ~F.coalesce("forwarded", F.lit(False))
    of_holder = [
        F.when(is_known, F.col(name)).alias(name)
        for name in ("endpoint_instance", "endpoint_database", *(f"endpoint_{name}" for name in ENDPOINT))
    ]
    names = [F.coalesce(name, f"endpoint_{name}").alias(name) for name in NAMES]
    kept = [name for name in placed.columns if name not in NAMES]
    every = rows.select(*kept, *names, *of_holder)
    return every.unionByName(_unresolved(warehouse, as_of), allowMissingColumns=True)


def _received(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    return warehouse.read_as_of(RECEIVE_SCHEDULE, as_of).select(
        F.lit("receive").alias("kind"),
        "instance",
        "database",
        "queue",
        "message_id",
        *SIDE,
        F.col("conversation_group_id").alias("unit"),
        "conversation_group_id",
        "position",
        "receive_number",
        F.col("group_priority").alias("counts_as"),
        F.col("priority").alias("level"),
        "state",
        F.col("arrived_at").alias("since"),
        "held_since",
        # The holding endpoint exists, and has them.
        *_nulls(**dict.fromkeys(NAMES, "string")),
        *_nulls(held_by="string", waits_for="string", sent_level="int", block="bigint", status="string"),
        F.lit(None).cast("boolean").alias("forwarded"),
    )


def _sent(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    return warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of).select(
        F.lit("transmission").alias("kind"),
        "instance",
        F.lit("").alias("database"),
        F.lit("").alias("queue"),
        "message_id",
        "conversation_id",
        F.col("sent_by_initiator").alias("is_initiator"),
        F.concat("conversation_id", F.col("sent_by_initiator").cast("string")).alias("unit"),
        *_nulls(conversation_group_id="string"),
        "position",
        *_nulls(receive_number="bigint"),
        F.col("transmit_priority").alias("counts_as"),
        F.col("transmit_priority").alias("level"),
        F.when(F.col("forwarded"), "forwarded").otherwise("transmission").alias("state"),
        F.col("sendable_at").alias("since"),
        F.col("waits_since").alias("held_since"),
        "contract",
        F.col("from_service").alias("local_service"),
        F.col("to_service").alias("remote_service"),
        F.col("database").alias("held_by"),
        "waits_for",
        F.col("priority").alias("sent_level"),
        "block",
        F.col("why_still_here").alias("status"),
        "forwarded",
    )


def _unresolved(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    rows = locate_unresolved(warehouse, as_of, are_later_known=False)
    return rows.select(
        F.lit("unresolved").alias("kind"),
        *[F.lit("").alias(name) for name in QUEUE],
        "message_id",
        *SIDE,
        F.lit("unresolved").alias("state"),
        "since",
        *NAMES,
        "reason",
        F.col("kind").alias("schedule"),
        F.col("instance").alias("endpoint_instance"),
        F.col("database").alias("endpoint_database"),
    )


def _nulls(**types: str) -> list[Column]:
    return [F.lit(None).cast(type).alias(name) for name, type in types.items()]
