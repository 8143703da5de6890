"""Numbers in an order, together or in buckets."""

from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.schedules import numbering
from pipelines.schedules.numbering import are_many, level_and_minute, number_rows
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same

ROWS = "queue string, level int, time timestamp, rank int, id string, messages bigint"


def numbered(rows: DataFrame, *, in_buckets: bool, weight: str | None = "messages") -> DataFrame:
    found = number_rows(
        rows,
        within=["queue"],
        buckets=level_and_minute(F.col("level"), F.col("time")) if in_buckets else (),
        order=[F.desc("level"), F.asc("time"), F.asc_nulls_last("rank"), F.asc("id")],
        weight=None if weight is None else F.col(weight),
    )
    return found.withColumn("number", F.expr("int(number)"))


@pytest.mark.parametrize("in_buckets", [False, True])
def test_numbers_in_an_order(draw: Draw, in_buckets: bool) -> None:
    """By level, time, rank (null comes last) and id; each queue for itself, also one without a name."""
    expected = draw.columns(f"{ROWS}, number int, before bigint")("""
        queue | level | time            | rank | id | messages | number | before
        Q     | 10    | 12:01           | 0    | a  | 100      | 1      | 0
        Q     | 10    | 12:01:59.999999 | -    | b  | 10       | 2      | 100
        Q     | 10    | 12:02           | 7    | c  | 1        | 3      | 110
        Q     | 9     | 11-19 12:00     | -1   | d  | 1        | 4      | 111
        Q     | 9     | 12:00           | -1   | e  | 1        | 5      | 112
        Q     | 9     | 12:00           | 3    | f  | 1        | 6      | 113
        Q     | 9     | 12:00           | 3    | g  | 1        | 7      | 114
        Q     | 9     | 12:00           | -    | a  | 1        | 8      | 115
        q     | 1     | 12:00           | 0    | h  | 7        | 1      | 0
        -     | 1     | 12:00           | 0    | i  | 7        | 1      | 0
        -     | 1     | 12:00           | 0    | j  | 7        | 2      | 7
    """)
    rows = expected.drop("number", "before").repartition(3)
    assert_same(numbered(rows, in_buckets=in_buckets), expected)
    # Without a weight, rows count.
    counted = numbered(rows, in_buckets=in_buckets, weight=None)
    assert_same(counted, expected.withColumn("before", F.expr("bigint(number - 1)")))


def test_many_rows_have_the_same_numbers_in_buckets_and_together(session: SparkSession) -> None:
    random = Random(1)
    times = [at(0), at(1), at(2), at(0.99), at(1.01), at(day=-365)]
    places = [random.choices(each, k=300) for each in (["Q", "q", "Q "], [1, 5, 10], times, [None, -1, 0, 7])]
    letters = random.choices(["", "a", chr(0x1F600), chr(0xFF5E)], k=300)
    rows = [(*place, f"{letters[n]}{n}", n % 9) for n, place in enumerate(zip(*places, strict=True))]
    frame = session.createDataFrame(rows, ROWS).repartition(3)
    assert_same(numbered(frame, in_buckets=True), numbered(frame, in_buckets=False))


def test_buckets_go_down_by_level_and_up_by_minute(draw: Draw) -> None:
    expected = draw("""
        level int | time timestamp             | level_bucket int | minute bigint
        10        | 1970-01-01 00:00:59.999999 | -10              | 0
        9         | 1970-01-01 00:01           | -9               | 1
        9         | 1969-12-31 23:59:59.999999 | -9               | -1
    """)
    level, minute = level_and_minute(F.col("level"), F.col("time"))
    assert_same(
        expected.select("level", "time", level.alias("level_bucket"), minute.alias("minute")), expected
    )


@pytest.mark.parametrize(("most", "many"), [(2, False), (1, True)])
def test_many_are_more_than_one_task_should_sort(
    draw: Draw, monkeypatch: pytest.MonkeyPatch, most: int, many: bool
) -> None:
    """The longest queue counts, not all of them together."""
    monkeypatch.setattr(numbering, "MOST_TOGETHER", most)
    rows = draw("instance | queue\n SQL1 | Q\n SQL1 | Q\n SQL2 | Q\n SQL1 | P")
    assert are_many(rows, ["instance", "queue"]) is many
