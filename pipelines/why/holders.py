"""The endpoints that hold open messages."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.questions.open_messages import NAMES
from pipelines.rules.statements import DEFAULT_LEVEL
from pipelines.state.endpoints import SIDE

ENDPOINT = ("priority", "ladder_step", "rule_name", "level_source", "created_at")
"""Of the holding endpoint, named endpoint_... in rows; null where no rule of it counts."""
OTHER = ("other_instance", "other_database", "other_rule", "other_level")
"""Of the other endpoint; null where no rule raises it."""


def with_endpoints(rows: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Add the holding endpoint, and the other endpoint of the conversation if it has a level by a rule.

    Args:
        rows: `open_messages`.
        endpoints: those that are open at the same as_of.

    Returns:
        The rows, with NAMES of the endpoint where the message has none; `endpoint_instance`,
        `endpoint_database` and `endpoint_...` of ENDPOINT, null of forwarded messages; and OTHER.
    """
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
