"""JSON lines: one object a line, typed by the contract."""

import json
from collections.abc import Sequence
from functools import reduce
from io import TextIOWrapper
from itertools import islice
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.config.nearest import nearest
from pipelines.engine.files import json_string_pattern
from pipelines.storage.inputs.contract import (
    contract_problems,
    lacking_columns,
    problems_of_each,
    raise_together,
)
from pipelines.storage.inputs.paths import open_unpacked
from pipelines.storage.inputs.text import compute_once, join_names, parse_value, quoted, read_lines
from pipelines.text.foreign import AS_UTF8, foreign_text
from schemas import EventContract

JSON_TYPES = {
    "string": "STRING",
    "timestamp": "STRING",
    "boolean": "BOOLEAN",
    "int": "BIGINT",
    "bigint": "BIGINT",
}
"""The JSON type of a field, as `schema_of_variant` calls it, by the column's type."""

VARIANT_TYPES = ("STRING", "BOOLEAN", "BIGINT", "DOUBLE", "DECIMAL", "FLOAT", "OBJECT", "ARRAY")
"""All that a JSON value but null may be."""

SPOKEN = {"BIGINT": "integer", "DOUBLE": "number", "DECIMAL": "number", "FLOAT": "number"}
"""What a message calls a JSON type; the others by their own names."""

# With options given, Spark parses a line once and not once a field.
STRICT = {"mode": "PERMISSIVE", "allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}

NO_PLAIN_TEXT = r"^(?:-?[0-9][0-9.eE+\-]*$|true$|false$|[\[{])"
"""Text that may have been a number, a boolean, an object or an array of the line."""

FIRST_LINES = 100
"""Lines that say whether a file has the fields of its mapping."""
START = 4096
"""Bytes of a file that say whether it may be JSON lines."""


def read_json(spark: SparkSession, contract: EventContract, paths: Sequence[str]) -> DataFrame:
    """Open files of JSON lines, in the shape of `pipelines.storage.inputs.read`.

    A field of another JSON type than the contract's is named in `mistyped`, with that type.

    Raises:
        InputError: a file seems to be something else, such as a trace in XML.
    """
    problems = problems_of_each(paths, lambda path: foreign_problems(path) or lacking_fields(path, contract))
    raise_together([contract_problems(contract, problems)])
    rows = _parse_lines(spark, contract, paths)
    values = {
        column.name: parse_value(F.col(column.name), column.type)
        if JSON_TYPES[column.type] == "STRING"
        else F.col(column.name).try_cast(column.type)
        for column in contract.columns
    }
    unreadable = {
        column.name: F.col(column.name).isNotNull() & values[column.name].isNull()
        for column in contract.columns
        if column.type in ("timestamp", "int")
    }
    is_whole = ~F.col("broken")
    return rows.select(
        *[F.when(is_whole, value).alias(name) for name, value in values.items()],
        "broken",
        F.when(is_whole, join_names(unreadable)).alias("unreadable"),
        (
            F.lit(None).cast("string")
            if contract.is_mapped
            else F.when(is_whole & F.col("is_odd"), _mistyped(contract))
        ).alias("mistyped"),
        "raw",
    )


def name_mistyped(spark: SparkSession, contract: EventContract, paths: Sequence[str]) -> list[str]:
    """Find which fields of which files have another JSON type than the contract's.

    Reads every file by itself.

    Returns:
        One line with file, field and both types for each.
    """

    def problems(path: str) -> list[str]:
        rows = read_json(spark, contract, [path]).where("mistyped is not null").select("mistyped").distinct()
        found = {tuple(field.split(" ")) for row in rows.collect() for field in row.mistyped.split(",")}
        types = {column.name: column.type for column in contract.columns}
        # Apache Spark has two types for numbers with a fraction.
        said = dict.fromkeys((name, SPOKEN.get(type, type.lower())) for name, type in sorted(found))
        return [f"{path}: field {name} is a JSON {type}; it must be {types[name]}" for name, type in said]

    return problems_of_each(paths, problems)


def foreign_problems(path: str) -> list[str]:
    """What a file seems to be that begins with no JSON lines."""
    try:
        with open_unpacked(path) as stream:
            head = stream.read(START)
    except OSError:
        # The engine says what is wrong.
        return []
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return [f"{path}: it is UTF-16; {AS_UTF8}"]
    other = foreign_text(head.removeprefix(b"\xef\xbb\xbf"), is_json=True)
    return [f"{path}: {other}"] if other else []


def lacking_fields(path: str, contract: EventContract) -> list[str]:
    """Which fields of a mapping no one of the first lines has, where they have one of nearly that name.

    A field may well be missing: FOR JSON leaves out nulls.
    """
    if not contract.is_mapped or contract.may_lack:
        return []
    try:
        rows = [
            row for line in first_lines(path, FIRST_LINES).values() if (row := object_of(line)) is not None
        ]
    except OSError:
        return []
    there = {name for row in rows for name in row}
    others = there - set(contract.called.values())
    lacking = lacking_columns(contract, there) if rows else []
    return [f"{path}: {said}" for said, name in lacking if nearest(name, others)]


def first_lines(path: str, most: int) -> dict[int, str]:
    """The first lines of a text file by their numbers, unpacked, without blank ones."""
    with open_unpacked(path) as stream:
        first = islice(TextIOWrapper(stream, encoding="utf-8-sig", errors="replace"), most)
        return {number: line for number, line in enumerate(first, 1) if line.strip()}


def object_of(line: str) -> dict[str, Any] | None:
    """The object of a line; None if it is none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _parse_lines(spark: SparkSession, contract: EventContract, paths: Sequence[str]) -> DataFrame:
    """The lines with their fields as text, long or boolean, `broken`, `is_odd` and the types of odd lines.

    `from_json` is the fastest reader on both engines, but a lenient one: on Apache Spark it passes over what
    follows an object, and it takes the last of two fields of one name and gives a number as text. Cheap tests
    tell the lines for which all that makes no difference; the others, the odd ones, are looked at closely.
    """
    lines = read_lines(spark, paths).withColumn("is_beyond", is_beyond(spark))
    lines = compute_once(lines, ["raw", "is_text", "is_beyond"])
    text = F.when(~F.col("is_beyond"), F.col("raw"))
    parsed = lines.select(
        "raw",
        "is_text",
        "is_beyond",
        F.from_json(text, _read_as(contract), STRICT).alias("event"),
        F.json_object_keys(text).alias("keys"),
    )
    repeats_a_name = F.size("keys") != F.size(F.array_distinct("keys"))
    rows = parsed.select(
        "raw",
        "is_text",
        (F.col("is_beyond") | has_long_names(F.col("keys")).eqNullSafe(True)).alias("is_beyond"),
        F.coalesce(repeats_a_name, F.lit(True)).alias("repeats_a_name"),
        *[F.col("event")[called].alias(name) for name, called in contract.in_files.items()],
    )
    rows = rows.withColumn("is_odd", F.col("repeats_a_name") | _may_mislead(contract))
    rows = compute_once(rows, ["raw", "is_text", "is_beyond", "is_odd", *contract.names])
    rows = with_shape(rows, when=F.col("is_odd") & ~F.col("is_beyond"))
    return rows.withColumns(
        {
            "broken": ~F.col("is_text")
            | F.col("is_beyond")
            | F.when(F.col("is_odd"), ~_is_one_object()).otherwise(False),
            # The types of the line's own fields, as `name: TYPE, ...`: what objects and arrays have is cut.
            "types": F.when(
                F.col("is_odd"), _cut_nested(F.regexp_replace("shape", "^OBJECT<", ""), "<[^<>]*>")
            ),
        }
    )


def with_shape(rows: DataFrame, *, when: Column | None = None) -> DataFrame:
    """Add `shape`: what the line is, as `schema_of_variant` says it; null if it is no JSON, or not `when`."""
    if when is None:
        has_names = ~has_long_names(F.json_object_keys("raw"))
        is_parsed = F.when(~is_beyond(rows.sparkSession), has_names)
    else:
        is_parsed = when
    return rows.withColumn("shape", F.when(is_parsed, F.expr("schema_of_variant(try_parse_json(raw))")))


def values_as_written(contract: EventContract) -> Column:
    """The declared fields of a line as a struct; null if the line is not one object. Needs `with_shape`."""
    return F.when(_is_one_object(), F.from_json("raw", _read_as(contract), STRICT))


def _read_as(contract: EventContract) -> str:
    types = {"STRING": "string", "BOOLEAN": "boolean", "BIGINT": "bigint"}
    named = {contract.in_files[column.name]: types[JSON_TYPES[column.type]] for column in contract.columns}
    return ", ".join(f"{quoted(name)} {type}" for name, type in named.items())


def _may_mislead(contract: EventContract) -> Column:
    """Whether the line may be other than `from_json` makes it look."""
    # No object, or a row that is rejected anyway.
    told = contract.names if contract.is_mapped else ["event_id"]
    tests = [
        reduce(Column.__and__, [F.col(name).isNull() for name in told]),
        # Something may follow the object. An object in an object looks the same.
        F.col("raw").rlike(r"\}\s*\S"),
        # A name may be spelled with escapes, and half of a surrogate pair is no text.
        F.contains("raw", F.lit("\\u")) & F.col("raw").rlike(r"\\u(?:00[2-7]|[dD][89a-fA-F])"),
    ]
    # A mapping takes every value as text.
    for column in () if contract.is_mapped else contract.columns:
        value = F.col(column.name)
        if JSON_TYPES[column.type] == "STRING":
            # Inside a text every quote has a backslash before it: these quotes are not inside.
            is_text = F.col("raw").rlike(rf'[{{,]\s*"{column.name}"\s*:\s*"')
            tests.append((value.rlike(NO_PLAIN_TEXT) & ~is_text).eqNullSafe(True))
        else:
            tests.append(value.isNull() & F.col("raw").rlike(rf'"{column.name}"\s*:\s*[^n\s]'))
    return reduce(Column.__or__, tests)


def _is_one_object() -> Column:
    """Whether the line is one object and nothing else.

    The parser stops after the first value. What follows goes unseen in an array only if it closes or
    continues the array, in an object only if it closes or continues the object: never in both.
    """
    # A line without a shape may be more than a parser takes.
    in_array = F.expr("shape is not null and try_parse_json(concat('[', raw, ']')) is not null")
    in_object = F.expr("shape is not null and try_parse_json(concat('{\"line\":', raw, '}')) is not null")
    is_object = F.startswith("shape", F.lit("OBJECT<")).eqNullSafe(True)
    return is_object & in_array & in_object


def _cut_nested(text: Column, innermost: str) -> Column:
    """Cut what matches the pattern, NESTED_AT_MOST times.

    A loop of the engine: as many expressions in each other take the embedded engine longer to plan than all
    else of a small input.
    """
    times = F.sequence(F.lit(1), F.lit(NESTED_AT_MOST))
    return F.aggregate(times, text, lambda left, _: F.regexp_replace(left, innermost, ""))


def _mistyped(contract: EventContract) -> Column:
    """The fields of an odd line that have another type than the contract's, each with that type."""
    wrong = []
    for right in sorted(set(JSON_TYPES.values())):
        names = [column.name for column in contract.columns if JSON_TYPES[column.type] == right]
        others = [type for type in VARIANT_TYPES if type != right]
        if names:
            wrong.append(f"(?:{'|'.join(names)}): (?:{'|'.join(others)})")
    found = F.regexp_extract_all("types", F.lit(f"(?:^|, )({'|'.join(wrong)})"), F.lit(1))
    return F.nullif(F.replace(F.array_join(found, ","), F.lit(":"), F.lit("")), F.lit(""))


NESTED_AT_MOST = 32
"""How deep a line may be nested, its own object counted. Spark's parsers overflow their stack at hundreds."""
LONGEST_NAMES = 50_000
"""Characters of all names of a line together; Spark's parser takes no longer name."""
HUGE = r"[:\[,]\s*-?(?:[0-9][0-9.]*[eE]\+?0*(?:3(?:09|[1-9][0-9])|[4-9][0-9]{2}|[1-9][0-9]{3,})|[0-9]{309})"
"""A number that no double holds, which an engine may refuse."""


def is_beyond(spark: SparkSession) -> Column:
    """Whether the line `raw` has more than any engine takes; never null. Such a line must not be parsed."""
    raw = F.col("raw")
    bare = F.regexp_replace(raw, json_string_pattern(spark), "")
    brackets = _cut_nested(F.regexp_replace(bare, r"[^\[\]{}]", ""), r"\[\]|\{\}")
    # Most lines are one object without others.
    has_more = (F.locate("{", raw, 3) > 0) | F.contains(raw, F.lit("["))
    opened = F.length(raw) - F.length(F.replace(F.replace(raw, F.lit("{"), F.lit("")), F.lit("["), F.lit("")))
    is_deep = F.when(has_more, F.when(opened > NESTED_AT_MOST, brackets != ""))
    is_huge = F.when(raw.rlike(HUGE), bare.rlike(HUGE))
    return is_deep.eqNullSafe(True) | is_huge.eqNullSafe(True)


def has_long_names(keys: Column) -> Column:
    """Whether the names of a line's fields are too long, by what `json_object_keys` says; null without it."""
    is_long = F.length("raw") > LONGEST_NAMES
    return F.when(is_long, F.length(F.array_join(keys, "")) > LONGEST_NAMES).otherwise(F.lit(False))
