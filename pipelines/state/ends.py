"""Ends of endpoints, whether the endpoint is known or not."""

from pyspark.sql import DataFrame, functions as F

from pipelines.state.events_before import ever
from schemas.events import END_WITH_CLEANUP, END_WITH_ERROR, ENDS


def ends(endpoint_events: DataFrame) -> DataFrame:
    """The endpoints that have ended.

    Args:
        endpoint_events: the endpoint events that count.

    Returns:
        One row per (conversation_id, is_initiator) with any END_* event: `with_error`, `with_cleanup`.

    Source: the design, "State at as_of".
    """
    event_type = F.col("event_type")
    return (
        endpoint_events.where(event_type.isin(*ENDS))
        .groupBy("conversation_id", "is_initiator")
        .agg(
            ever(event_type == END_WITH_ERROR).alias("with_error"),
            ever(event_type == END_WITH_CLEANUP).alias("with_cleanup"),
        )
    )
