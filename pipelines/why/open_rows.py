"""The open messages of a published as_of, with the endpoints that hold them."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import small_frame
from pipelines.questions.open_messages import NAMES, SCHEDULES, read_open
from pipelines.questions.unresolved import locate_unresolved
from pipelines.rules.statements import DEFAULT_LEVEL
from pipelines.server.snapshots.views import ENDPOINTS as CONVERSATION_ENDPOINTS
from pipelines.state.endpoints import SIDE
from pipelines.storage.snapshots.newest import read_newest_views
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS

ENDPOINT = ("priority", "ladder_step", "rule_name", "level_source", "created_at")
"""Of the holding endpoint, named endpoint_... in rows; null where no rule of it counts."""
OTHER = ("other_instance", "other_database", "other_rule", "other_level")
"""Of the other endpoint; null where no rule raises it."""
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


def placed_rows(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The messages of both schedules.

    Args:
        warehouse: the tables.
        as_of: an as_of that was published.

    Returns:
        One row per message and place: `kind`, and instance, database and queue of the place, empty where it
        has none; OF_MESSAGE, and NAMES of the message.
    """
    return read_schedules(warehouse, as_of, (*OF_MESSAGE, *NAMES))


def with_endpoints(warehouse: Warehouse, rows: DataFrame, as_of: datetime) -> DataFrame:
    """Add the holding endpoint, and the other endpoint of the conversation if it has a level by a rule.

    Args:
        warehouse: the tables.
        rows: `placed_rows`.
        as_of: that of the rows.

    Returns:
        The rows, with NAMES of the endpoint where the message has none; `endpoint_instance`,
        `endpoint_database` and `endpoint_...` of ENDPOINT, null of forwarded messages; and OTHER.
    """
    endpoints = warehouse.read_open(ENDPOINTS, as_of).where(F.col("created_at") < F.lit(as_of))
    holders = endpoints.select(
        *SIDE,
        F.col("instance").alias("endpoint_instance"),
        F.col("database").alias("endpoint_database"),
        *[F.col(name).alias(f"endpoint_{name}") for name in (*ENDPOINT, *NAMES)],
    )
    others = endpoints.where(is_raised()).select(
        "conversation_id",
        (~F.col("is_initiator")).alias("is_initiator"),
        F.col("instance").alias("other_instance"),
        F.col("database").alias("other_database"),
        F.col("rule_name").alias("other_rule"),
        F.col("priority").alias("other_level"),
    )
    # Both joins have one key, so the embedded engine distributes the rows once.
    both = rows.join(holders, SIDE, "left").join(others, SIDE, "left")
    columns = ("endpoint_instance", "endpoint_database", *(f"endpoint_{name}" for name in ENDPOINT))
    of_holder = [F.when(F.col("state") != "forwarded", F.col(name)).alias(name) for name in columns]
    names = [F.coalesce(name, f"endpoint_{name}").alias(name) for name in NAMES]
    others_of_rows = [name for name in rows.columns if name not in NAMES]
    return both.select(*others_of_rows, *names, *of_holder, *OTHER)


def is_raised() -> Column:
    """Whether an endpoint has a higher level than the default by a rule."""
    return F.col("ladder_step").isNotNull() & (F.col("priority") > DEFAULT_LEVEL)


def read_positions(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The order of the open messages at a published as_of.

    Returns:
        One row per place and message that has a position: PLACE, `position`, `counts_as`, `unit` and `block`.
    """
    return read_schedules(warehouse, as_of, ("position", "counts_as", "unit", "block")).where(
        "position is not null"
    )


def read_schedules(warehouse: Warehouse, as_of: datetime, columns: Sequence[str]) -> DataFrame:
    """Columns of `read_open` of both schedules, with PLACE: a row per message and place."""
    received, sent = [
        _at_place(read_open(warehouse, each, as_of), each.within, columns) for each in SCHEDULES
    ]
    return received.unionByName(sent)


def _at_place(messages: DataFrame, within: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """The messages with empty names where their place has none."""
    place = [(F.col(name) if name in within else F.lit("")).alias(name) for name in QUEUE]
    return messages.select("kind", *place, *columns)


def unresolved_rows(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """The messages that can't be placed.

    Returns:
        One row per message, with columns of `placed_rows` and `with_endpoints`: instance, database and queue
        are empty, and the holding endpoint has no more than its place; and `reason`, `schedule` and
        `is_whole`, whether the newest snapshot of its database shows all endpoints.
    """
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
