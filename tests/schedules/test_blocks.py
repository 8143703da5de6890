"""Blocks of fragments, against filling them fragment by fragment."""

from collections import defaultdict
from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.config.model import Blocks
from pipelines.schedules import blocks
from tests.support.factories import Row

COLUMNS = (
    "instance string, destination_instance string, message_id string, position bigint, size_bytes bigint"
)
FRAGMENT_BYTES = 100


def in_order(sizes: list[tuple[str | None, int | None]], instance: str = "SQL1") -> list[Row]:
    """Messages of one instance by their destinations and sizes."""
    return [
        {
            "instance": instance,
            "destination_instance": destination,
            "message_id": f"{instance} {position}",
            "position": position,
            "size_bytes": size,
        }
        for position, (destination, size) in enumerate(sizes, start=1)
    ]


def random_order(seed: int, count: int) -> list[Row]:
    random = Random(seed)
    sizes = [None, -1, 0, 1, 99, 100, 101, 250, 300, 1234]
    places = [None, "", "SQL2", "sql2", "SQL3"]
    return [
        row
        for instance in ("SQL1", "sql1")
        for row in in_order([(random.choice(places), random.choice(sizes)) for _ in range(count)], instance)
    ]


def expected(order: list[Row], fragments: int) -> dict[str, tuple[int, int]]:
    """(position, block) by message, as the design has it: one fragment after the other."""
    found = {}
    for instance in {row["instance"] for row in order}:
        filled: list[list[str | None]] = []
        filling: dict[str | None, list[str | None]] = defaultdict(lambda: [None] * fragments)
        for row in (row for row in order if row["instance"] == instance):
            left = max(1, -(-(row["size_bytes"] or 0) // FRAGMENT_BYTES))
            while left:
                block = filling[row["destination_instance"]]
                if len(block) == fragments:
                    block = filling[row["destination_instance"]] = []
                    filled.append(block)
                left -= 1
                block.append(None if left else row["message_id"])
        position = 0
        for number, block in enumerate(filled, start=1):
            for message in filter(None, block):
                position += 1
                found[message] = (position, number)
    return found


def sent(
    session: SparkSession, order: list[Row], fragments: int, *, are_many: bool
) -> dict[str, tuple[int, int]]:
    frame = session.createDataFrame(order, COLUMNS).repartition(3)
    sizes = Blocks(fragment_bytes=FRAGMENT_BYTES, fragments=fragments)
    rows = blocks.in_blocks(frame, sizes, are_many=are_many).collect()
    return {row.message_id: (row.position, row.block) for row in rows}


@pytest.mark.parametrize("fragments", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(("bucket_rows", "are_many"), [(4, True), (100_000, True), (4, False)])
def test_blocks_are_those_of_filling_them(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, fragments: int, bucket_rows: int, are_many: bool
) -> None:
    """Small buckets too, so that blocks and messages lie across them."""
    monkeypatch.setattr(blocks, "BUCKET_ROWS", bucket_rows)
    order = random_order(seed=fragments, count=120)
    assert sent(session, order, fragments, are_many=are_many) == expected(order, fragments)


@pytest.mark.spark
def test_the_tail_of_a_block_overtakes(session: SparkSession) -> None:
    """The documentation's case: what fills a block up goes with it, before a higher level elsewhere."""
    order = in_order([("SQL2", 10), ("SQL3", 10), ("SQL3", 10), ("SQL2", 10)])
    assert sent(session, order, 2, are_many=False) == {
        "SQL1 1": (1, 1),
        "SQL1 4": (2, 1),
        "SQL1 2": (3, 2),
        "SQL1 3": (4, 2),
    }
