"""JSON that the engines read differently, or not at all: nested without end, huge numbers, huge names."""

from pyspark.sql import Column, SparkSession, functions as F

from pipelines.engine.files import json_string_pattern

NESTED_AT_MOST = 32
"""How deep a line may be nested, its own object counted. Spark's parsers overflow their stack at hundreds."""
LONGEST_NAMES = 50_000
"""Characters of all names of a line together; Spark's parser takes no longer name."""
HUGE = r"[:\[,]\s*-?(?:[0-9][0-9.]*[eE]\+?0*(?:3(?:09|[1-9][0-9])|[4-9][0-9]{2}|[1-9][0-9]{3,})|[0-9]{309})"
"""A number that no double holds, which the embedded engine refuses."""


def is_beyond(spark: SparkSession) -> Column:
    """Whether the line `raw` has more than any engine takes; never null. Such a line must not be parsed."""
    raw = F.col("raw")
    bare = F.regexp_replace(raw, json_string_pattern(spark), "")
    brackets = F.regexp_replace(bare, r"[^\[\]{}]", "")
    for _ in range(NESTED_AT_MOST):
        brackets = F.regexp_replace(brackets, r"\[\]|\{\}", "")
    # Most lines are one object without others.
    has_more = (F.locate("{", raw, 3) > 0) | F.contains(raw, F.lit("["))
    opened = F.length(raw) - F.length(F.replace(F.replace(raw, F.lit("{"), F.lit("")), F.lit("["), F.lit("")))
    is_deep = F.when(has_more, F.when(opened > NESTED_AT_MOST, brackets != ""))
    is_huge = F.when(raw.rlike(HUGE), bare.rlike(HUGE))
    return F.coalesce(is_deep, F.lit(False)) | F.coalesce(is_huge, F.lit(False))


def has_long_names(keys: Column) -> Column:
    """Whether the names of a line's fields are too long, by what `json_object_keys` says; null without it."""
    is_long = F.length("raw") > LONGEST_NAMES
    return F.when(is_long, F.length(F.array_join(keys, "")) > LONGEST_NAMES).otherwise(F.lit(False))
