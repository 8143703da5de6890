"""The published schedules, with the levels that their messages have before and after."""

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.config.model import Starvation
from pipelines.schedules.transmission import with_transmit_priority
from pipelines.state.endpoints import SIDE

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
