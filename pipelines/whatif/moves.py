"""Published schedules with both levels, and the positions before and after."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.config.model import Starvation
from pipelines.schedules.groups import group_priorities
from pipelines.schedules.transmission import with_transmit_priority
from pipelines.state.endpoints import SIDE
from schemas.keys import GROUP, QUEUE
from schemas.whatif import WHATIF_GROUPS, WHATIF_MESSAGES

SIDES = ("before", "after")
"""Before is by the recorded levels and the current settings, after by the proposed ones."""


def published_owners(received: DataFrame, sent: DataFrame) -> DataFrame:
    """The endpoints that have the messages of both schedules: conversation_id and is_initiator, unique.

    A ready message is its receiving endpoint's, one that is to be sent its sending endpoint's.

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
            contract and local_service, kept.

    Returns:
        The same rows with `level` (what they were ordered by), `level_before`, `level_after`, and with
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
    """The transmission schedule with both levels that count for sending a message.

    Args:
        schedule: `transmission_schedule` rows of one as_of.
        levels: as for `received_by_level`.
        honoring: for each of `SIDES` (instance, database) with honor_broker_priority on, unique.
        starvation: for each of `SIDES` the settings of starvation prevention.
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
    for side in SIDES:
        counts = with_transmit_priority(
            rows.withColumn("priority", F.col(f"own_{side}")),
            honoring[side],
            as_of=as_of,
            starvation=starvation[side],
        )
        rows = counts.withColumnRenamed("transmit_priority", f"level_{side}").drop("elevated")
    return rows


def _with_levels(rows: DataFrame, levels: DataFrame, owner: str, published: str) -> DataFrame:
    """Look up the endpoint that has the message; one that the ledger does not know keeps its level."""
    names = [name for name in levels.columns if name.endswith(SIDES)]
    found = levels.withColumnRenamed("is_initiator", owner).join(rows, ["conversation_id", owner], "right")
    return found.withColumns({name: F.coalesce(name, published) for name in names})


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
