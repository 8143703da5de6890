"""Numbers in an order, against sorting in plain Python."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.schedules.numbering import level_and_minute, number_rows
from tests.support.factories import LONG_AGO, Row, at
from tests.support.plans import operators

ROWS = "instance string, queue string, level int, time timestamp, rank int, id string, weight bigint"
MOMENTS = [
    LONG_AGO,
    *[at(minute) for minute in (0, 0, 1, 2)],
    at(1) - timedelta(microseconds=1),
    at(1) + timedelta(microseconds=1),
    at(0, day=1),
]


def rows(count: int, seed: int) -> list[Row]:
    """Random rows with ties in everything but the id."""
    random = Random(seed)
    return [
        {
            "instance": random.choice(["SQL1", "sql1"]),
            "queue": random.choice(["Q", "q", "Q "]),
            "level": random.choice([1, 5, 5, 10]),
            "time": random.choice(MOMENTS),
            "rank": random.choice([None, -1, 0, 7]),
            "id": f"{random.choice(['', 'a', chr(0x1F600), chr(0xFF5E)])}{number}",
            "weight": random.randint(1, 9),
        }
        for number in range(count)
    ]


def expected(given: list[Row], *, weighed: bool) -> dict[str, tuple[int, int]]:
    """(number, before) by id."""

    def order(row: Row) -> tuple[Any, ...]:
        rank = row["rank"]
        return (-row["level"], row["time"], rank is None, rank or 0, row["id"].encode())

    found: dict[str, tuple[int, int]] = {}
    for line in {(row["instance"], row["queue"]) for row in given}:
        before = 0
        in_line = sorted((row for row in given if (row["instance"], row["queue"]) == line), key=order)
        for number, row in enumerate(in_line, start=1):
            found[row["id"]] = (number, before)
            before += row["weight"] if weighed else 1
    return found


@pytest.mark.spark
@pytest.mark.parametrize("in_buckets", [False, True])
@pytest.mark.parametrize("weighed", [False, True])
def test_numbers_are_those_of_a_sort(session: SparkSession, weighed: bool, in_buckets: bool) -> None:
    given = rows(400, seed=1)
    found = number_rows(
        session.createDataFrame(given, ROWS).repartition(3),
        within=["instance", "queue"],
        buckets=level_and_minute(F.col("level"), F.col("time")) if in_buckets else (),
        order=[F.desc("level"), F.asc("time"), F.asc_nulls_last("rank"), F.asc("id")],
        weight=F.col("weight") if weighed else None,
    )
    assert {row.id: (row.number, row.before) for row in found.collect()} == expected(given, weighed=weighed)


@pytest.mark.spark
def test_a_line_is_not_sorted_in_one_task(spark: SparkSession) -> None:
    frame = spark.createDataFrame(rows(4, seed=1), ROWS)
    found = number_rows(
        frame,
        within=["queue"],
        buckets=level_and_minute(F.col("level"), F.col("time")),
        order=[F.desc("level"), F.asc("time"), F.asc("id")],
    )
    assert set(operators(found)) <= {"SortMergeJoin", "BroadcastHashJoin"}
    plan = found._jdf.queryExecution().optimizedPlan().toString()
    windows = [line for line in plan.splitlines() if line.lstrip(" +-:").startswith("Window ")]
    over_rows = [line for line in windows if "row_number" in line or "id#" in line]
    assert over_rows
    assert all("bucket_0" in line and "bucket_1" in line for line in over_rows)
