"""Who waits, who is overtaken, and what is ahead."""

import numpy as np
import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.questions.overtaken import count_later_before, rank_overtaken
from pipelines.questions.waiting import summarize_waits
from tests.support.frames import assert_same, frame, instant

QUEUE = ["instance", "database", "queue"]
SCHEDULE = """
instance | database | queue | message_id | position bigint | level int    | since timestamp
S        | A        | Q     | late       | 1               | 9            | 12:30:00.000001
S        | A        | Q     | later      | 2               | 9            | 12:40
S        | A        | Q     | early      | 3               | 5            | 12:00
S        | A        | Q     | middle     | 4               | 5            | 12:35
S        | A        | Q     | as middle  | 5               | 9            | 12:35
S        | A        | Q     | first      | 6               | 5            | 11:00
S        | A        | Q     | held       | -               | 5            | 12:59:59.5
S        | A        | q     | alone      | 1               | 1            | 12:00
S        | A        | q     | behind     | 2               | 1            | 12:01
S        | A        | Q+    | one        | 1               | 5            | 12:30
S        | A        | Q+    | two        | 2               | 5            | 12:20
S        | B        | Q     | other      | 1               | 5            | 12:50
"""


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 100])
def test_later_ones_before_are_counted(size: int) -> None:
    came = np.random.default_rng(size).integers(0, 12, size)
    expected = [sum(came[other] > came[index] for other in range(index)) for index in range(size)]
    assert count_later_before(came).tolist() == expected


def test_the_most_overtaken_are_those_that_most_later_ones_go_before(session: SparkSession) -> None:
    schedule = frame(session, SCHEDULE).repartition(3)
    found = rank_overtaken(schedule, within=QUEUE, most=4, also=["level"])
    expected = """
    queue | place int | message_id | passed_by bigint | position bigint | since timestamp | level int
    Q     | 1         | first      | 5                | 6               | 11:00                | 5
    Q     | 2         | early      | 2                | 3               | 12:00                | 5
    Q     | 3         | middle     | 1                | 4               | 12:35                | 5
    Q     | 4         | as middle  | 1                | 5               | 12:35                | 9
    Q+    | 1         | two        | 1                | 2               | 12:20                | 5
    """
    late = frame(session, expected)
    assert_same(found.select(*late.columns), late)


def test_waiting_is_told_by_queue_and_level(session: SparkSession) -> None:
    found = summarize_waits(
        frame(session, SCHEDULE).repartition(3), within=[*QUEUE, "level"], as_of=instant("13:00")
    )
    # Of level 5 in Q: 7,200, 3,600, 1,500 and 0 whole seconds; 0.95 of the way are 2.85 steps.
    expected = """
    database | queue | level int    | messages bigint | oldest timestamp | median double | p95 double
    A        | Q     | 9            | 3               | 12:30:00.000001  | 1500          | 1769.1
    A        | Q     | 5            | 4               | 11:00            | 2550          | 6660
    A        | q     | 1            | 2               | 12:00            | 3570          | 3597
    A        | Q+    | 5            | 2               | 12:20            | 2100          | 2370
    B        | Q     | 5            | 1               | 12:50            | 600           | 600
    """
    waits = frame(session, expected)
    rounded = [F.round(f"{name}_seconds", 3).alias(name) for name in ("median", "p95")]
    assert_same(found.select(*waits.columns[:5], *rounded), waits)
