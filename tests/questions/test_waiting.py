"""Who waits, who is overtaken, and what is ahead, against counting in plain Python."""

from random import Random
from statistics import median

import numpy as np
import pytest
from pyspark.sql import SparkSession

from pipelines.questions.overtaken import count_later_before, rank_overtaken
from pipelines.questions.waiting import summarize_waits
from tests.support.factories import Row, at

pytestmark = pytest.mark.spark

QUEUE = ["instance", "database", "queue"]
ROWS = (
    "instance string, database string, queue string, message_id string, position bigint, "
    "receive_number bigint, group_priority int, priority int, arrived_at timestamp"
)


def rows(count: int, seed: int) -> list[Row]:
    """Random schedules of three queues; one in ten is held back."""
    random = Random(seed)
    found: list[Row] = []
    for queue in ("Q", "q", "Q "):
        position = 0
        for number in range(count):
            held = random.random() < 0.1
            position += not held
            receive = (position + 2) // 3
            found.append(
                {
                    "instance": "SQL1",
                    "database": "A",
                    "queue": queue,
                    "message_id": f"{queue}/{number}",
                    "position": None if held else position,
                    "receive_number": None if held else receive,
                    "group_priority": 10 - receive // 4,
                    "priority": random.choice([1, 5, 9]),
                    "arrived_at": at(random.randrange(20)),
                }
            )
    random.shuffle(found)
    return found


def passed_by(row: Row, given: list[Row]) -> int:
    return sum(
        other["queue"] == row["queue"]
        and other["position"] is not None
        and other["position"] < row["position"]
        and other["arrived_at"] > row["arrived_at"]
        for other in given
    )


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 100])
def test_later_ones_before_are_counted(size: int) -> None:
    came = np.random.default_rng(size).integers(0, 12, size)
    expected = [sum(came[other] > came[index] for other in range(index)) for index in range(size)]
    assert count_later_before(came).tolist() == expected


def test_the_most_overtaken_are_those_that_most_later_ones_go_before(session: SparkSession) -> None:
    given = rows(40, seed=1)
    found = rank_overtaken(
        session.createDataFrame(given, ROWS).repartition(3), within=QUEUE, since="arrived_at", most=5
    ).collect()
    expected = []
    for queue in ("Q", "q", "Q "):
        placed = [row for row in given if row["queue"] == queue and row["position"] is not None]
        placed.sort(key=lambda row: (-passed_by(row, given), row["position"]))
        expected += [
            (queue, place, row["message_id"], passed_by(row, given), row["arrived_at"].replace(tzinfo=None))
            for place, row in enumerate(placed[:5], start=1)
        ]
    assert sorted(
        (row.queue, row.place, row.message_id, row.passed_by, row.arrived_at) for row in found
    ) == sorted(expected)


def test_first_come_first_served_overtakes_nobody(session: SparkSession) -> None:
    given = [row | {"arrived_at": at(row["position"] or 0)} for row in rows(10, seed=2)]
    frame = session.createDataFrame(given, ROWS)
    assert rank_overtaken(frame, within=QUEUE, since="arrived_at").collect() == []


def test_waiting_is_told_by_queue_and_level(session: SparkSession) -> None:
    given = rows(30, seed=3)
    frame = session.createDataFrame(given, ROWS).repartition(3)
    found = summarize_waits(frame, within=QUEUE, level="priority", since="arrived_at", as_of=at(60))
    expected = []
    for queue, level in {(row["queue"], row["priority"]) for row in given}:
        came = [row["arrived_at"] for row in given if (row["queue"], row["priority"]) == (queue, level)]
        seconds = sorted((at(60) - moment).total_seconds() for moment in came)
        rank = 0.95 * (len(seconds) - 1)
        below = seconds[int(rank)]
        above = seconds[min(int(rank) + 1, len(seconds) - 1)]
        p95 = below + (above - below) * (rank - int(rank))
        oldest = min(came).replace(tzinfo=None)
        expected.append((queue, level, len(came), oldest, median(seconds), pytest.approx(p95)))
    rows_found = [
        (row.queue, row.priority, row.messages, row.oldest, row.median_seconds, row.p95_seconds)
        for row in found.collect()
    ]
    assert sorted(rows_found) == sorted(expected, key=lambda row: row[:2])
