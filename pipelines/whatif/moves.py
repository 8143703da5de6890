"""Where groups and messages stand before and after."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, functions as F

from pipelines.schedules.groups import group_priorities
from pipelines.whatif.published import SIDES
from schemas.keys import GROUP, QUEUE
from schemas.whatif import WHATIF_GROUPS, WHATIF_MESSAGES

RECEIVE_KEY = [*QUEUE, "message_id"]
TRANSMISSION_KEY = ["instance", "message_id"]
BESIDE = ["contract", "local_service", "level", *[f"anew_{side}" for side in SIDES]]
"""What messages have besides the columns of their table."""


def groups_moved(published: DataFrame, anew: Mapping[str, DataFrame]) -> DataFrame:
    """The table `whatif_groups`: every group with ready messages, moved or not.

    Args:
        published: `group_priorities` rows of one as_of.
        anew: `ordered_groups` of the queues that are ordered anew, for those of `SIDES` that have any.
    """
    rows = published.select(*GROUP, "priority", "position", "messages")
    orders = {side: group_priorities(groups) for side, groups in anew.items()}
    return _before_and_after(rows, orders, GROUP, ["priority", "position"]).select(*WHATIF_GROUPS.names)


def received_moved(rows: DataFrame, anew: Mapping[str, DataFrame]) -> DataFrame:
    """The part of `whatif_messages` for receiving, with the columns of `BESIDE`.

    Args:
        rows: `received_by_level`.
        anew: the order of the queues that are ordered anew, for those of `SIDES` that have any.
    """
    placed = _before_and_after(rows, anew, RECEIVE_KEY, ["position", "receive_number"])
    return _moved(placed.withColumn("kind", F.lit("receive")))


def sent_moved(rows: DataFrame, anew: Mapping[str, DataFrame]) -> DataFrame:
    """The part of `whatif_messages` for transmission, with the columns of `BESIDE`.

    Args:
        rows: `sent_by_level`.
        anew: the order of the instances that are ordered anew, for those of `SIDES` that have any.
    """
    nothing = {"queue": "string", "state": "string"} | {f"receive_number_{side}": "bigint" for side in SIDES}
    placed = _before_and_after(rows, anew, TRANSMISSION_KEY, ["position"])
    return _moved(
        placed.withColumns(
            {"kind": F.lit("transmission")}
            | {name: F.lit(None).cast(data_type) for name, data_type in nothing.items()}
        )
    )


def _moved(placed: DataFrame) -> DataFrame:
    moved = F.col("position_before") - F.col("position_after")
    return placed.withColumn("moved", moved).select(*WHATIF_MESSAGES.names, *BESIDE)


def _before_and_after(
    rows: DataFrame, anew: Mapping[str, DataFrame], key: Sequence[str], values: Sequence[str]
) -> DataFrame:
    """Add the values before and after: those of an order made anew where it has the row, else the row's own.

    `anew_before` and `anew_after` say which.
    """
    for side in SIDES:
        names = {name: f"{name}_{side}" for name in values}
        if side not in anew:
            own = {new: F.col(name) for name, new in names.items()}
            rows = rows.withColumns(own | {f"anew_{side}": F.lit(False)})
            continue
        order = anew[side].select(
            *key, *[F.col(name).alias(new) for name, new in names.items()], F.lit(True).alias("found")
        )
        found = F.coalesce("found", F.lit(False))
        # The part stands on the left: the embedded engine holds that side in memory.
        rows = (
            order.join(rows, list(key), "right")
            .withColumns(
                {new: F.when(found, F.col(new)).otherwise(F.col(name)) for name, new in names.items()}
            )
            .withColumn(f"anew_{side}", found)
            .drop("found")
        )
    return rows
