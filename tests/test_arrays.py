"""Questions to arrays are answered as Spark's own functions answer them, whatever the array holds."""

from pyspark.sql import Column, SparkSession, functions as F

from pipelines.arrays import any_of, each_of, those_of

ARRAYS: list[list[int | None] | None] = [
    None,
    [],
    [None],
    [1],
    [9],
    [1, 9],
    [9, 1, 9],
    [None, 1],
    [None, 9],
    [1, 1],
]


def is_large(element: Column) -> Column:
    return element > 5


def is_unknown(element: Column) -> Column:
    return element.isNull()


def test_answers_are_those_of_the_functions_with_a_lambda(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(array,) for array in ARRAYS], "array array<int>")
    array = F.col("array")
    for holds in is_large, is_unknown:
        found = rows.select(
            any_of(array, holds).alias("any"),
            F.exists(array, holds).alias("any_by_spark"),
            those_of(array, holds).alias("those"),
            F.filter(array, holds).alias("those_by_spark"),
            each_of(array, holds).alias("each"),
            F.transform(array, holds).alias("each_by_spark"),
        ).collect()
        assert [(row.any, row.those, row.each) for row in found] == [
            (row.any_by_spark, row.those_by_spark, row.each_by_spark) for row in found
        ]
    assert [row[0] for row in rows.select(any_of(array, is_large)).collect()] == [
        None,
        False,
        None,
        False,
        True,
        True,
        True,
        None,
        True,
        False,
    ]
