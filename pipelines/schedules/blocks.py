"""Blocks of fragments: a block is sent as a whole, so that messages at its end overtake others."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.model import Blocks
from pipelines.schedules.numbering import number_rows

BUCKET_ROWS = 100_000
"""The approximate number of rows that are sorted together."""


def without_blocks(order: DataFrame) -> DataFrame:
    """The `transmission_schedule` table without `as_of`, with blocks off.

    Args:
        order: `transmission.transmission_order`.
    """
    return order.withColumn("block", F.lit(None).cast("bigint"))


def in_blocks(order: DataFrame, blocks: Blocks, *, are_many: bool) -> DataFrame:
    """The `transmission_schedule` table without `as_of`, sent block by block.

    Args:
        order: `transmission.transmission_order`; read several times.
        blocks: the size of a fragment, and the number of fragments in a block.
        are_many: whether an instance has `numbering.are_many` of the messages.

    Returns:
        The same rows with `block` and with `position` as the order of last fragments.

    The fragments for one destination instance are numbered from 0 in the order; fragment f is in block
    f div `fragments` of the destination. Blocks are sent in the order of their first fragments. So the blocks
    of an instance are counted by the messages in which they start: most messages start none, a large message
    starts several, and only the last of these can hold a part of another message. See
    docs/semantics.md#transmission-schedule.
    """
    lane = ["instance", "destination_instance"]
    by_position = [_bucket("position")] if are_many else []
    fragments = number_rows(
        order.withColumn("fragments", _fragments(blocks.fragment_bytes)),
        within=lane,
        buckets=by_position,
        order=[F.asc("position")],
        weight=F.col("fragments"),
    ).withColumnRenamed("before", "first_fragment")
    # Blocks of the lane that start before this message, and before the next one.
    started = {
        "blocks_before": _divided_up("first_fragment", blocks.fragments),
        "blocks_after": _divided_up("first_fragment + fragments", blocks.fragments),
        "last_block": F.expr(f"(first_fragment + fragments - 1) div {blocks.fragments}"),
    }
    starts = (
        number_rows(
            fragments.drop("number").withColumns(started),
            within=["instance"],
            buckets=by_position,
            order=[F.asc("position")],
            weight=F.col("blocks_after") - F.col("blocks_before"),
        )
        .drop("number")
        .withColumnRenamed("before", "instance_blocks_before")
    )
    sent = _with_block(starts, lane)
    ordered = number_rows(
        sent.withColumnRenamed("position", "unblocked"),
        within=["instance"],
        buckets=_block_buckets(blocks.fragments) if are_many else (),
        order=[F.asc("block"), F.asc("unblocked")],
    )
    return ordered.withColumn("position", F.col("number").cast("bigint")).drop(
        "number", "before", "unblocked", "fragments", "first_fragment", *started
    )


def _fragments(fragment_bytes: int) -> Column:
    """A message's fragments: one at least."""
    return F.greatest(F.lit(1), _divided_up("coalesce(size_bytes, 0)", fragment_bytes))


def _with_block(starts: DataFrame, lane: list[str]) -> DataFrame:
    """Add `block`, the instance's number of the block that holds the message's last fragment."""
    # The last block that starts in a message; later messages of the lane can fill it.
    openers = starts.where("blocks_after > blocks_before").select(
        *lane,
        (F.col("blocks_after") - 1).alias("last_block"),
        (F.col("instance_blocks_before") + F.col("blocks_after") - F.col("blocks_before")).alias("block"),
    )
    same = [F.col(f"message.{name}").eqNullSafe(F.col(f"opener.{name}")) for name in [*lane, "last_block"]]
    own = F.col("instance_blocks_before") + F.col("message.last_block") - F.col("blocks_before") + 1
    block = F.when(F.col("message.last_block") >= F.col("blocks_before"), own).otherwise(F.col("block"))
    return (
        starts.alias("message")
        .join(openers.alias("opener"), same, "left")
        .select("message.*", block.alias("block"))
        .drop("instance_blocks_before")
    )


def _divided_up(value: str, by: int) -> Column:
    """The value divided by a number and rounded up, in integers."""
    return F.expr(f"({value}) div {by} + if(({value}) % {by} > 0, 1, 0)")


def _bucket(position: str) -> Column:
    return F.floor(F.col(position) / BUCKET_ROWS)


def _block_buckets(fragments: int) -> list[Column]:
    """Small blocks share a bucket, large blocks have several; a block has at most `fragments` messages."""
    if fragments < BUCKET_ROWS:
        return [F.floor(F.col("block") / (BUCKET_ROWS // fragments))]
    return [F.col("block"), _bucket("unblocked")]
