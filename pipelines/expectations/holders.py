"""Contract and services of a scheduled message: those of the endpoint that holds it."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.state.endpoints import SIDE

NAMES = ("contract", "local_service", "remote_service")
SENDER = ["conversation_id", "sent_by_initiator"]
SWAPPED = ("contract", "remote_service", "local_service")


def with_receiver(schedule: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Add contract, local_service and remote_service of the endpoint that receives.

    Args:
        schedule: rows of `receive_schedule` of one as_of; their endpoints exist.
        endpoints: `endpoints` rows that may matter at as_of.

    Returns:
        All rows, each once.
    """
    own = endpoints.select(*SIDE, *NAMES)
    return schedule.drop(*NAMES).join(own, SIDE, "left")


def with_sender(schedule: DataFrame, endpoints: DataFrame, *, as_of: datetime) -> DataFrame:
    """Add contract, local_service and remote_service of the endpoint that sends.

    Args:
        schedule: rows of `transmission_schedule` of one as_of.
        endpoints: `endpoints` rows that may matter at as_of.
        as_of: the instant.

    Returns:
        All rows, each once. If the endpoint does not exist at as_of, the names are those of the other one
        with the services swapped; if neither does, the services are from_service and to_service.
    """
    existing = endpoints.where(F.col("created_at") < F.lit(as_of))
    own = existing.select(*_side("is_initiator"), *_named(NAMES, "own"))
    far = existing.select(*_side("not is_initiator"), *_named(SWAPPED, "far"))
    rows = schedule.drop(*NAMES).join(own, SENDER, "left").join(far, SENDER, "left")
    written = {"local_service": F.col("from_service"), "remote_service": F.col("to_service")}
    names = {
        name: F.coalesce(f"own_{name}", f"far_{name}", written.get(name, F.lit(None).cast("string")))
        for name in NAMES
    }
    return rows.withColumns(names).drop(*[f"{side}_{name}" for side in ("own", "far") for name in NAMES])


def _side(sent_by_initiator: str) -> list[Column]:
    """The key of an endpoint as that of what it sends."""
    return [F.col("conversation_id"), F.expr(sent_by_initiator).alias("sent_by_initiator")]


def _named(columns: Sequence[str], side: str) -> list[Column]:
    """The columns, named as NAMES with the side before it."""
    return [F.col(column).alias(f"{side}_{name}") for column, name in zip(columns, NAMES, strict=True)]
