"""The open messages of a published as_of, with the endpoints that hold them."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.config.snapshots.views import ENDPOINTS as CONVERSATION_ENDPOINTS
from pipelines.engine.frames import small_frame
from pipelines.questions.open_messages import NAMES, SCHEDULES, read_open
from pipelines.questions.unresolved import locate_unresolved
from pipelines.state.endpoints import SIDE
from pipelines.storage.snapshots.newest import read_newest_views
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS

ENDPOINT = ("priority", "ladder_step", "rule_name", "level_source", "created_at")
"""Of the holding endpoint, named endpoint_... in rows; null where no rule of it counts."""
OF_MESSAGE = (
    *(
        "message_id",
        *SIDE,
        "unit",
        "conversation_group_id",
        "position",
        "receive_number",
        "counts_as",
        "level",
    ),
    *("state", "since", "held_since", "held_by", "waits_for", "sent_level", "honored", "block", "status"),
)
"""Of `read_open`."""


def open_rows(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The messages of both schedules and those that can't be placed.

    Args:
        warehouse: the tables.
        as_of: an as_of that was published.

    Returns:
        One row per message and place: `kind`, and instance, database and queue of the place, empty where it
        has none; OF_MESSAGE, and NAMES of the message or else of the endpoint; `endpoint_instance`,
        `endpoint_database` and `endpoint_...` of ENDPOINT, null of forwarded messages and, but for the place,
        of unresolved ones; of an unresolved message `reason`, `schedule` and `is_whole`, whether the newest
        snapshot of its database shows all endpoints.
    """
    endpoints = warehouse.read_open(ENDPOINTS, as_of).where(F.col("created_at") < F.lit(as_of))
    holders = endpoints.select(
        *SIDE,
        F.col("instance").alias("endpoint_instance"),
        F.col("database").alias("endpoint_database"),
        *[F.col(name).alias(f"endpoint_{name}") for name in (*ENDPOINT, *NAMES)],
    )
    rows = _of_schedules(warehouse, as_of, (*OF_MESSAGE, *NAMES)).join(holders, SIDE, "left")
    columns = ("endpoint_instance", "endpoint_database", *(f"endpoint_{name}" for name in ENDPOINT))
    of_holder = [F.when(F.col("state") != "forwarded", F.col(name)).alias(name) for name in columns]
    names = [F.coalesce(name, f"endpoint_{name}").alias(name) for name in NAMES]
    placed = rows.select("kind", *QUEUE, *OF_MESSAGE, *names, *of_holder)
    return placed.unionByName(_unresolved(warehouse, as_of), allowMissingColumns=True)


def read_positions(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The order of the open messages at a published as_of.

    Returns:
        One row per place and message that has a position: PLACE, `position`, `counts_as`, `unit` and `block`.
    """
    return _of_schedules(warehouse, as_of, ("position", "counts_as", "unit", "block")).where(
        "position is not null"
    )


def read_places(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The places of the endpoints that hold open messages: a row per message, PLACE, SIDE and `state`."""
    return _of_schedules(warehouse, as_of, (*SIDE, "state"))


def _of_schedules(warehouse: Warehouse, as_of: datetime, columns: Sequence[str]) -> DataFrame:
    """Columns of `read_open` of both schedules, with their places."""
    received, sent = [
        _at_place(read_open(warehouse, each, as_of), each.within, columns) for each in SCHEDULES
    ]
    return received.unionByName(sent)


def _at_place(messages: DataFrame, within: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """The messages with empty names where their place has none."""
    place = [(F.col(name) if name in within else F.lit("")).alias(name) for name in QUEUE]
    return messages.select("kind", *place, *columns)


def _unresolved(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    newest = read_newest_views(warehouse, CONVERSATION_ENDPOINTS, as_of)
    whole = small_frame(
        warehouse.spark,
        [(*place, True) for place, (_, is_complete) in newest.items() if is_complete],
        "instance string, database string, is_whole boolean",
    )
    rows = locate_unresolved(warehouse, as_of, are_later_known=False)
    rows = rows.join(F.broadcast(whole), ["instance", "database"], "left")
    return rows.select(
        F.lit("unresolved").alias("kind"),
        *[F.lit("").alias(name) for name in QUEUE],
        "message_id",
        *SIDE,
        F.lit("unresolved").alias("state"),
        "since",
        "status",
        *NAMES,
        "reason",
        F.col("kind").alias("schedule"),
        "is_whole",
        F.col("instance").alias("endpoint_instance"),
        F.col("database").alias("endpoint_database"),
    )
