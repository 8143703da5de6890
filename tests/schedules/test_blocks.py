"""Blocks of fragments: what fills a block up goes with it."""

from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.config.model import Blocks
from pipelines.schedules import blocks
from pipelines.schedules.blocks import in_blocks, without_blocks
from tests.support.drawn import Draw
from tests.support.frames import assert_same

COLUMNS = (
    "instance string, destination_instance string, message_id string, size_bytes bigint, position bigint"
)
FRAGMENT_BYTES = 100


def test_without_blocks_the_order_stays(draw: Draw) -> None:
    order = draw("message_id | position bigint\n m1 | 1\n m2 | 2")
    expected = draw("message_id | position bigint | block bigint\n m1 | 1 | -\n m2 | 2 | -")
    assert_same(without_blocks(order), expected)


@pytest.mark.parametrize("are_many", [False, True])
def test_the_tail_of_a_block_overtakes(draw: Draw, are_many: bool) -> None:
    """A block has 2 fragments of 100 bytes for one destination; a message is sent with its last fragment."""
    # order  SQL2 a  SQL3 b  SQL2 c c c  - d  SQL2 e  SQL3 f  SQL2 g
    # blocks SQL2 a c | SQL3 b f | SQL2 c c | - d | SQL2 e g
    order = draw.columns(COLUMNS)("""
        instance | destination_instance | message_id | size_bytes | position
        SQL1     | SQL2                 | a          | 100        | 1
        SQL1     | SQL3                 | b          | -          | 2
        SQL1     | SQL2                 | c          | 201        | 3
        SQL1     | -                    | d          | 0          | 4
        SQL1     | SQL2                 | e          | 1          | 5
        SQL1     | SQL3                 | f          | 100        | 6
        SQL1     | SQL2                 | g          | 100        | 7
        Hub      | SQL2                 | h          | 100        | 1
    """)
    size = Blocks(fragment_bytes=FRAGMENT_BYTES, fragments=2)
    draw.require(in_blocks(order, size, are_many=are_many))("""
        instance | message_id | position bigint | block bigint
        SQL1     | a          | 1               | 1
        SQL1     | b          | 2               | 2
        SQL1     | f          | 3               | 2
        SQL1     | c          | 4               | 3
        SQL1     | d          | 5               | 4
        SQL1     | e          | 6               | 5
        SQL1     | g          | 7               | 5
        Hub      | h          | 1               | 1
    """)


@pytest.mark.parametrize("fragments", [1, 3])
def test_many_messages_have_the_same_blocks_in_buckets_and_together(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, fragments: int
) -> None:
    """Small buckets, so that blocks and messages lie across them."""
    monkeypatch.setattr(blocks, "BUCKET_ROWS", 4)
    random = Random(fragments)
    destinations, sizes = [None, "", "SQL2", "sql2", "SQL3"], [None, -1, 0, 1, 99, 100, 101, 250, 300, 1234]
    order = [
        (instance, random.choice(destinations), f"{instance} {position}", random.choice(sizes), position)
        for instance in ("SQL1", "sql1")
        for position in range(1, 81)
    ]
    rows = session.createDataFrame(order, COLUMNS).repartition(3)
    size = Blocks(fragment_bytes=FRAGMENT_BYTES, fragments=fragments)
    found, together = (in_blocks(rows, size, are_many=are_many) for are_many in (True, False))
    assert_same(found, together.select(*found.columns))
