"""Messages that overtook others of a higher level: on each link, and in the sends that a trace shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.python_workers import Work
from pipelines.questions.overtaken import count_passed_by_level, group_by_key
from pipelines.schedules.transmission import base_level, with_sendable_at

if TYPE_CHECKING:
    import pyarrow as pa

DIRECTION = ["conversation_id", "sent_by_initiator"]
LINK = ["sending_instance", "receiving_instance"]
NUMBERED = [*DIRECTION, "message_sequence_number"]
LEVELS = range(1, 11)
GONE, LOOKS, COMES = 0, 1, 2
"""What happens at one moment, in this order: a message that is sent then, or sendable then, is not passed."""
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
    exists = rows.endpoints.where(F.col("created_at") < F.lit(as_of))
    honoring = F.broadcast(rows.honoring.withColumnRenamed("instance", "sending_instance"))
    links = (
        _directions(exists, "database", "priority")
        .where("sending_instance <> receiving_instance")
        .join(honoring, ["sending_instance", "database"], "left")
    )
    accepted = rows.message_events.where(
        (F.col("event_type") == "FORWARD_ACCEPTED") & (F.col("event_time") < F.lit(as_of))
    )
    accepting = accepted.groupBy("message_id").agg(
        F.min("instance").alias("first_accepting"), F.max("instance").alias("last_accepting")
    )
    arrived = rows.messages.where((F.col("sent_at") < F.lit(as_of)) & (F.col("arrived_at") < F.lit(as_of)))
    sendable = with_sendable_at(arrived, "sent_at")
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


def _directions(endpoints: DataFrame, *of_sender: str) -> DataFrame:
    """Directions of conversations: DIRECTION, both instances, and columns of the sender.

    `receiving_instance` is null if it is not known.
    """
    senders = endpoints.select(
        "conversation_id",
        F.col("is_initiator").alias("sent_by_initiator"),
        F.col("instance").alias("sending_instance"),
        *of_sender,
    )
    receivers = endpoints.select(
        "conversation_id",
        (~F.col("is_initiator")).alias("sent_by_initiator"),
        F.col("instance").alias("receiving_instance"),
    )
    return senders.join(receivers, DIRECTION, "left")


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


def conformance_sends(
    sends: DataFrame, messages: DataFrame, endpoints: DataFrame, *, since: datetime | None, as_of: datetime
) -> DataFrame:
    """Count the messages of `sends` that were sent before others which had a higher level.

    Args:
        sends: rows of `sends`.
        messages: `describe_messages`, of any time.
        endpoints: `endpoints` rows.
        since: only messages that were sent from then on; None for all.
        as_of: only messages that were sent before.

    Returns:
        One row per sending instance: `messages`, those that can be compared; `all_messages`, all that it sent
        to another instance, as far as that is known; `inversions`, pairs of messages: one with a higher
        level, not elevated, could be sent before the other was sent, and was sent after it; `with_inversion`,
        messages that were sent too early so.
    """
    sent = with_sendable_at(messages.where(F.col("sent_at") < F.lit(as_of)), "sent_at")
    compared = _compared(sends, sent, since, as_of)
    told = ["instance", "level"]
    waits = compared.where("is_passable and sendable < sent_at")
    moments = [
        waits.select(*told, F.col("sendable").alias("at"), _step(COMES), F.lit(1).alias("change")),
        waits.select(*told, F.col("sent_at").alias("at"), _step(GONE), F.lit(-1).alias("change")),
        compared.select(*told, F.col("sent_at").alias("at"), _step(LOOKS), F.lit(0).alias("change")),
    ]
    before = Window.partitionBy("instance").orderBy("at", "step").rowsBetween(Window.unboundedPreceding, 0)
    waiting = {
        f"waiting_{level}": F.sum(F.when(F.col("level") == level, F.col("change")).otherwise(0)).over(before)
        for level in LEVELS
    }
    line = moments[0].unionByName(moments[1]).unionByName(moments[2]).withColumns(waiting)
    higher = [F.when(F.col("level") < level, F.col(f"waiting_{level}")).otherwise(0) for level in LEVELS]
    counted = (
        line.where(F.col("step") == LOOKS)
        .withColumn("passed", reduce(add, higher))
        .groupBy("instance")
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.count_if(F.col("passed") > 0).alias("with_inversion"),
            F.sum("passed").cast("bigint").alias("inversions"),
        )
    )
    return counted.join(_all_sent(sent, endpoints, since), "instance", "left").select(
        "instance", "messages", "all_messages", "with_inversion", "inversions"
    )


def _step(step: int) -> Column:
    return F.lit(step).alias("step")


def _compared(sends: DataFrame, sent: DataFrame, since: datetime | None, as_of: datetime) -> DataFrame:
    """One row per message of `sends` whose level is known, and since when it could be sent."""
    within = F.col("sent_at") < F.lit(as_of)
    if since is not None:
        within &= F.col("sent_at") >= F.lit(since)
    level = base_level(F.col("honor"), F.col("level"))
    once = (
        sends.where(within)
        .groupBy("instance", *NUMBERED)
        .agg(
            F.min("sent_at").alias("sent_at"),
            F.min(F.when(F.col("honor").isNotNull(), level)).alias("level"),
            F.max(F.coalesce(F.col("elevated"), F.lit(True)).cast("int")).alias("elevated"),
            F.count("level").alias("levels"),
        )
        .where("level is not null and levels > 0")
    )
    sendable = sent.select(*NUMBERED, F.col("sendable_at").alias("sendable"))
    found = once.join(sendable.where("message_sequence_number is not null"), NUMBERED, "inner")
    return found.select(
        "instance", "level", "sent_at", "sendable", (F.col("elevated") == 0).alias("is_passable")
    )


def _all_sent(sent: DataFrame, endpoints: DataFrame, since: datetime | None) -> DataFrame:
    """How many messages each instance sent to others; to an unknown one counts, too."""
    if since is not None:
        sent = sent.where(F.col("sent_at") >= F.lit(since))
    elsewhere = _directions(endpoints).where(
        "receiving_instance is null or receiving_instance <> sending_instance"
    )
    return (
        sent.select(*DIRECTION)
        .join(elsewhere, DIRECTION, "inner")
        .groupBy(F.col("sending_instance").alias("instance"))
        .agg(F.count(F.lit(1)).alias("all_messages"))
    )
