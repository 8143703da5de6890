"""Messages that a RECEIVE with WHERE took: it asked for them, whatever the order."""

from pyspark.sql import DataFrame, functions as F

from pipelines.replay.filtered_receives import received_by_where
from pipelines.replay.period import Period
from pipelines.state.transactions import TRANSACTION


def leaves(
    message_events: DataFrame,
    queue_events: DataFrame,
    endpoint_events: DataFrame,
    ended: DataFrame,
    receivers: DataFrame,
    period: Period,
) -> DataFrame:
    """When a committed RECEIVE with WHERE took a message in the period, at the first of them.

    Args:
        message_events: message events that may matter, whatever their time.
        queue_events: queue events that may matter, whatever their time.
        endpoint_events: endpoint events that may matter, for their moves.
        ended: `transactions.outcomes`.
        receivers: `receivers`.
        period: what is played.

    Returns:
        One row per message_id: `left_at`.
    """
    within = (F.col("event_time") >= F.lit(period.start)) & (F.col("event_time") < F.lit(period.end))
    committed = ended.where("committed").select(*TRANSACTION, F.lit(True).alias("counts"))
    asking = (
        queue_events.where(within)
        .join(committed, TRANSACTION, "left")
        .where("counts or transaction_id is null")
        .drop("counts")
    )
    taken = received_by_where(message_events.where(within), asking, endpoint_events, receivers)
    return taken.groupBy("message_id").agg(F.min("event_time").alias("left_at"))
