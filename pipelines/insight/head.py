"""The first rows of an order, and how many there are beside them."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, functions as F


def head_and_counts(schedule: DataFrame, limit: int, *, by: Sequence[str]) -> DataFrame:
    """Make of a schedule what a question about its head needs, in one pass.

    Args:
        schedule: rows of `receive_schedule` or `transmission_schedule` of one as_of; message_id is unique.
        limit: how many rows of each order.
        by: the columns by which the other rows are counted.

    Returns:
        By these columns, one row for each message up to the limit, with `head`, the whole row of it; and one
        with null as `head`, whose `count` says how many others there are, if there are any.
    """
    head = F.when(F.col("position") <= limit, F.struct(*schedule.columns))
    return schedule.groupBy(*by, head.alias("head")).count()
