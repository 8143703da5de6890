"""Where groups and messages stand before and after."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, functions as F

from pipelines.schedules.groups import group_priorities
from pipelines.schedules.orders import Orders
from schemas.keys import GROUP, QUEUE
from schemas.whatif import WHATIF_GROUPS, WHATIF_MESSAGES

RECEIVE_KEY = [*QUEUE, "message_id"]
TRANSMISSION_KEY = ["instance", "database", "message_id"]


def groups_moved(before: Orders, after: Orders) -> DataFrame:
    """The table `whatif_groups`: every group with ready messages, moved or not."""
    both = _side_by_side(
        group_priorities(before.groups), group_priorities(after.groups), GROUP, ["priority", "position"]
    )
    messages = before.groups.select(*GROUP, "messages")
    return both.join(messages, GROUP, "left").select(*WHATIF_GROUPS.names)


def messages_moved(before: Orders, after: Orders) -> DataFrame:
    """The table `whatif_messages`, with the endpoint that its summary asks for: conversation_id and owner.

    `owner` is whether the initiator's endpoint has the message: the receiving one, for transmission the
    sending one.
    """
    received = _side_by_side(
        before.received.withColumnRenamed("priority", "level").withColumnRenamed("is_initiator", "owner"),
        after.received.withColumnRenamed("priority", "level"),
        RECEIVE_KEY,
        ["position", "receive_number", "level"],
        ["state", "conversation_id", "owner"],
    ).withColumn("kind", F.lit("receive"))
    nothing = F.lit(None).cast("bigint")
    sent = _side_by_side(
        before.sent.withColumnRenamed("transmit_priority", "level").withColumnRenamed(
            "sent_by_initiator", "owner"
        ),
        after.sent.withColumnRenamed("transmit_priority", "level"),
        TRANSMISSION_KEY,
        ["position", "level"],
        ["conversation_id", "owner"],
    ).withColumns(
        {
            "kind": F.lit("transmission"),
            "queue": F.lit(None).cast("string"),
            "receive_number_before": nothing,
            "receive_number_after": nothing,
            "state": F.lit(None).cast("string"),
        }
    )
    names = [*WHATIF_MESSAGES.names, "conversation_id", "owner"]
    moved = F.col("position_before") - F.col("position_after")
    rows = [part.withColumn("moved", moved).select(*names) for part in (received, sent)]
    return rows[0].unionByName(rows[1])


def _side_by_side(
    before: DataFrame, after: DataFrame, key: Sequence[str], values: Sequence[str], more: Sequence[str] = ()
) -> DataFrame:
    """One row per key of either side, with the values of both; `more` is of the one before."""
    one = before.select(*key, *[F.col(name).alias(f"{name}_before") for name in values], *more)
    other = after.select(*key, *[F.col(name).alias(f"{name}_after") for name in values])
    return one.join(other, list(key), "full")
