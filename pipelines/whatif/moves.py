"""Published schedules with both levels, and the positions of their messages before and after."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.config.model import Starvation
from pipelines.schedules.groups import group_priorities
from pipelines.schedules.transmission import with_transmit_priority
from pipelines.state.endpoints import SIDE
from schemas.keys import GROUP, QUEUE
from schemas.whatif import WHATIF_GROUPS, WHATIF_MESSAGES

SCENARIOS = ("before", "after")
"""Before: the recorded levels and the current settings; after: the proposed ones."""


def published_owners(received: DataFrame, sent: DataFrame) -> DataFrame:
    """The owners of the messages of both schedules: conversation_id and is_initiator, unique.

    The receiving endpoint owns a ready message, the sending endpoint a message that waits to be sent.

    Args:
        received: `receive_schedule` rows of one as_of.
        sent: `transmission_schedule` rows of the same as_of.
    """
    senders = sent.withColumnRenamed("sent_by_initiator", "is_initiator")
    return received.select(*SIDE).unionByName(senders.select(*SIDE)).distinct()


def received_by_level(schedule: DataFrame, levels: DataFrame) -> DataFrame:
    """The receive schedule with both levels of each message.

    Args:
        schedule: `receive_schedule` rows of one as_of.
        levels: endpoints (by conversation_id and is_initiator) with `recorded` and `proposed` levels,
            contract and local_service, materialized.

    Returns:
        The same rows with `level` (the level of the published order), `level_before`, `level_after`, and with
        contract and local_service of the receiving endpoint.
    """
    known = levels.withColumnsRenamed({"recorded": "level_before", "proposed": "level_after"})
    return _with_levels(schedule.withColumnRenamed("priority", "level"), known, "is_initiator", "level")


def sent_by_level(
    schedule: DataFrame,
    levels: DataFrame,
    honoring: Mapping[str, DataFrame],
    starvation: Mapping[str, Starvation | None],
    *,
    as_of: datetime,
) -> DataFrame:
    """The transmission schedule with both levels that count for sending each message.

    Args:
        schedule: `transmission_schedule` rows of one as_of.
        levels: as for `received_by_level`.
        honoring: for each of `SCENARIOS` (instance, database, honors), unique by the first two.
        starvation: for each of `SCENARIOS` the settings of starvation prevention.
        as_of: the instant.

    Returns:
        The same rows with `level`, `level_before`, `level_after`, and with contract and local_service of
        the sending endpoint.
    """
    known = levels.withColumnsRenamed({"recorded": "own_before", "proposed": "own_after"})
    rows = _with_levels(
        schedule.withColumnRenamed("transmit_priority", "level").drop("elevated"),
        known,
        "sent_by_initiator",
        "priority",
    )
    for scenario in SCENARIOS:
        counts = with_transmit_priority(
            rows.withColumn("priority", F.col(f"own_{scenario}")),
            honoring[scenario],
            as_of=as_of,
            starvation=starvation[scenario],
        )
        rows = counts.withColumnRenamed("transmit_priority", f"level_{scenario}").drop("elevated")
    return rows


def _with_levels(rows: DataFrame, levels: DataFrame, owner: str, published: str) -> DataFrame:
    """Look up the owner of each message; a message without a known owner keeps its published level."""
    names = [name for name in levels.columns if name.endswith(SCENARIOS)]
    # Rows of an older version lack what `levels` has of the owner.
    bare = rows.drop("contract", "local_service")
    joined = levels.withColumnRenamed("is_initiator", owner).join(bare, ["conversation_id", owner], "right")
    return joined.withColumns({name: F.coalesce(name, published) for name in names})


RECEIVE_KEY = [*QUEUE, "message_id"]
TRANSMISSION_KEY = ["instance", "message_id"]
EXTRA_COLUMNS = ["contract", "local_service", "level", *[f"reordered_{scenario}" for scenario in SCENARIOS]]
"""Columns of messages besides those of their table."""


def group_moves(published: DataFrame, reordered: Mapping[str, DataFrame]) -> DataFrame:
    """The table `whatif_groups`: every group with ready messages, moved or not.

    Args:
        published: `group_priorities` rows of one as_of.
        reordered: `ordered_groups` of the reordered queues, for those of `SCENARIOS` that have any.
    """
    rows = published.select(*GROUP, "priority", "position", "messages")
    orders = {scenario: group_priorities(groups) for scenario, groups in reordered.items()}
    return _before_and_after(rows, orders, GROUP, ["priority", "position"]).select(*WHATIF_GROUPS.names)


def received_moves(rows: DataFrame, reordered: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of `whatif_messages` for receiving, with `EXTRA_COLUMNS`.

    Args:
        rows: `received_by_level`.
        reordered: the order of the reordered queues, for those of `SCENARIOS` that have any.
    """
    both = _before_and_after(rows, reordered, RECEIVE_KEY, ["position", "receive_number"])
    return _with_moved(both.withColumn("kind", F.lit("receive")))


def sent_moves(rows: DataFrame, reordered: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of `whatif_messages` for transmission, with `EXTRA_COLUMNS`.

    Args:
        rows: `sent_by_level`.
        reordered: the order of the reordered instances, for those of `SCENARIOS` that have any.
    """
    nothing = {"queue": "string", "state": "string"} | {
        f"receive_number_{scenario}": "bigint" for scenario in SCENARIOS
    }
    both = _before_and_after(rows, reordered, TRANSMISSION_KEY, ["position"])
    return _with_moved(
        both.withColumns(
            {"kind": F.lit("transmission")}
            | {name: F.lit(None).cast(data_type) for name, data_type in nothing.items()}
        )
    )


def _with_moved(rows: DataFrame) -> DataFrame:
    moved = F.col("position_before") - F.col("position_after")
    return rows.withColumn("moved", moved).select(*WHATIF_MESSAGES.names, *EXTRA_COLUMNS)


def _before_and_after(
    rows: DataFrame, reordered: Mapping[str, DataFrame], key: Sequence[str], values: Sequence[str]
) -> DataFrame:
    """Add the values before and after: those of the new order if it has the row, else the row's own.

    `reordered_before` and `reordered_after` say which rows have those of the new order.
    """
    for scenario in SCENARIOS:
        names = {name: f"{name}_{scenario}" for name in values}
        if scenario not in reordered:
            own = {new: F.col(name) for name, new in names.items()}
            rows = rows.withColumns(own | {f"reordered_{scenario}": F.lit(False)})
            continue
        order = reordered[scenario].select(
            *key, *[F.col(name).alias(new) for name, new in names.items()], F.lit(True).alias("is_reordered")
        )
        is_reordered = F.coalesce("is_reordered", F.lit(False))
        rows = (
            order.join(rows, list(key), "right")
            .withColumns(
                {new: F.when(is_reordered, F.col(new)).otherwise(F.col(name)) for name, new in names.items()}
            )
            .withColumn(f"reordered_{scenario}", is_reordered)
            .drop("is_reordered")
        )
    return rows
