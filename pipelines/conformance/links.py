"""Links on which messages overtook others of a higher level."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.engine.python_workers import Work
from pipelines.questions.overtaken import count_passed_by_level, group_by_key
from pipelines.schedules.transmission import base_level
from pipelines.state.endpoints import SIDE

if TYPE_CHECKING:
    import pyarrow as pa

DIRECTION = ["conversation_id", "sent_by_initiator"]
LINK = ["sending_instance", "receiving_instance"]
COUNTED = (
    "sending_instance string, receiving_instance string, messages bigint, with_inversion bigint, "
    "inversions bigint, inversions_fragmented bigint"
)


@dataclass(frozen=True)
class LinkRows:
    """The rows from which links are compared.

    Attributes:
        message_events: message events of any time.
        messages: `describe_messages` of them.
        endpoints: `endpoints` rows.
        honoring: (instance, database, honors), unique by the first two; null is not known.
    """

    message_events: DataFrame
    messages: DataFrame
    endpoints: DataFrame
    honoring: DataFrame


def conformance_links(
    rows: LinkRows, *, since: datetime | None, as_of: datetime, fragment_bytes: int | None
) -> DataFrame:
    """The table `conformance_links` without as_of.

    Args:
        rows: messages, endpoints and databases.
        since: only messages that arrived from then on are compared; None compares all.
        as_of: the instant.
        fragment_bytes: size of a fragment; None if blocks are off.

    Few logs show when the server sent a message, and only of some. One fact needs no comparison of two
    clocks: a message of a higher level could be sent no later than another (by the sender's clock) and
    arrived after it (by the receiver's). A message can be sent at the latest SENT of itself and of those
    before it in its conversation and direction. Pairs are counted in numpy, in time n log n; a link is one
    task.
    """
    links = _links(rows.endpoints, rows.honoring, as_of)
    accepted = rows.message_events.where(
        (F.col("event_type") == "FORWARD_ACCEPTED") & (F.col("event_time") < F.lit(as_of))
    )
    accepting = accepted.groupBy("message_id").agg(
        F.min("instance").alias("first_accepting"), F.max("instance").alias("last_accepting")
    )
    arrived = rows.messages.where((F.col("sent_at") < F.lit(as_of)) & (F.col("arrived_at") < F.lit(as_of)))
    sendable = with_sendable_at(arrived)
    if since is not None:
        sendable = sendable.where(F.col("arrived_at") >= F.lit(since))
    sent = accepting.join(links.join(sendable, DIRECTION), "message_id", "right")
    not_elsewhere = [
        F.col(name).isNull() | (F.col(name) == F.col("sending_instance"))
        for name in ("first_accepting", "last_accepting")
    ]
    counted = sent.where(not_elsewhere[0] & not_elsewhere[1]).select(
        *LINK,
        F.unix_micros("sendable_at").alias("sendable"),
        F.unix_micros("arrived_at").alias("arrived"),
        base_level(F.col("honors"), F.col("priority")).cast("int").alias("level"),
        F.coalesce(F.col("size_bytes") > F.lit(fragment_bytes or 0), F.lit(False)).alias("is_fragmented"),
    )
    return counted.repartition(*LINK).mapInArrow(_count(with_fragments=fragment_bytes is not None), COUNTED)


def with_sendable_at(messages: DataFrame) -> DataFrame:
    """Messages with the latest SENT of each and of those before it in its conversation and direction."""
    earlier = (
        Window.partitionBy(*DIRECTION)
        .orderBy(F.asc_nulls_last("message_sequence_number"), "message_id")
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    return messages.withColumn("sendable_at", F.max("sent_at").over(earlier))


def _links(endpoints: DataFrame, honoring: DataFrame, as_of: datetime) -> DataFrame:
    """Directions of conversations between known endpoints of two instances: link, level, `honors`."""
    exists = endpoints.where(F.col("created_at") < F.lit(as_of))
    endpoints = exists.select(*SIDE, "instance", "database", "priority")
    senders = endpoints.withColumnsRenamed(
        {"is_initiator": "sent_by_initiator", "instance": "sending_instance"}
    )
    receivers = endpoints.select(
        "conversation_id",
        (~F.col("is_initiator")).alias("sent_by_initiator"),
        F.col("instance").alias("receiving_instance"),
    )
    return (
        senders.join(receivers, DIRECTION)
        .where("sending_instance <> receiving_instance")
        .join(
            F.broadcast(honoring.withColumnRenamed("instance", "sending_instance")),
            ["sending_instance", "database"],
            "left",
        )
    )


def _count(*, with_fragments: bool) -> Work:
    def count(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import numpy as np
        import pyarrow as pa

        whole = [batch for batch in batches if batch.num_rows]
        if not whole:
            return
        rows = pa.Table.from_batches(whole)
        columns = [rows[name].to_numpy() for name in ("sendable", "arrived", "level", "is_fragmented")]
        for link, own in group_by_key(rows, LINK):
            sendable, arrived, level, fragmented = (column[own] for column in columns)
            # At equal moments the higher level comes first: it could be sent as early by one clock, and did
            # not arrive later by the other.
            order = np.lexsort((-level, sendable))
            level, arrived, fragmented = level[order], arrived[order], fragmented[order]
            after = np.empty(len(order), dtype=np.int64)
            after[np.lexsort((-level, arrived))] = np.arange(len(order))
            codes = level.astype(np.int32) * 2 + fragmented
            pairs_by_level = count_passed_by_level(after, codes)
            passing, passed = np.nonzero(pairs_by_level)
            is_inverted = passed // 2 > passing // 2
            pairs = pairs_by_level[passing, passed] * is_inverted
            # The latest arrival of the higher levels that come before.
            overtakes = np.zeros(len(order), dtype=bool)
            for each in np.unique(level):
                latest = np.maximum.accumulate(np.where(level > each, after, -1))
                overtakes |= (level == each) & (latest > after)
            yield pa.record_batch(
                [
                    *[pa.array([name], pa.string()) for name in link],
                    pa.array([len(order)], pa.int64()),
                    pa.array([int(overtakes.sum())], pa.int64()),
                    pa.array([int(pairs.sum())], pa.int64()),
                    pa.array([int(pairs[passed % 2 == 1].sum()) if with_fragments else None], pa.int64()),
                ],
                names=[name.split()[0] for name in COUNTED.split(", ")],
            )

    return count
