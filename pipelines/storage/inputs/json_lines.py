"""JSON lines: one object a line, typed by the contract."""

from collections.abc import Sequence
from functools import partial
from io import TextIOWrapper
from itertools import islice

from pyspark.sql import DataFrame, SparkSession, functions as F, types as T

from pipelines.config.nearest import nearest
from pipelines.storage.inputs.contract import (
    contract_problems,
    lacking_columns,
    problems_of_each,
    raise_together,
)
from pipelines.storage.inputs.paths import open_unpacked
from pipelines.storage.inputs.text import join_names, parse_value, read_lines
from pipelines.text.foreign import AS_UTF8, foreign_text
from pipelines.text.json_objects import FIELD_TYPES, add_payloads, object_of, read_fields
from schemas import EventContract

READ_AS = {"timestamp": "string", "int": "bigint"}
"""The types of fields, where these are other than their columns'."""
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
    fields = {
        # A mapping takes every value as text.
        column.name: (
            contract.in_files[column.name],
            None if contract.is_mapped else FIELD_TYPES.get(column.type, "string"),
        )
        for column in contract.columns
    }
    ddl = [f"{column.name} {READ_AS.get(column.type, column.type)}" for column in contract.columns]
    rows = read_lines(spark, paths).mapInArrow(
        partial(read_fields, fields=fields), ", ".join(["raw string, broken boolean, mistyped string", *ddl])
    )
    values = {
        column.name: parse_value(F.col(column.name), column.type)
        if column.type == "timestamp"
        else F.col(column.name).try_cast(column.type)
        for column in contract.columns
    }
    unreadable = {
        column.name: F.col(column.name).isNotNull() & values[column.name].isNull()
        for column in contract.columns
        if column.type in ("timestamp", "int")
    }
    return rows.select(
        *[value.alias(name) for name, value in values.items()],
        "broken",
        join_names(unreadable).alias("unreadable"),
        "mistyped",
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
        return [
            f"{path}: field {name} is a JSON {type}; it must be {types[name]}" for name, type in sorted(found)
        ]

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


def with_payload(rows: DataFrame, contract: EventContract) -> DataFrame:
    """Add `payload`: the declared fields of a line `raw` as they were written; null if it is no object."""
    columns = T.StructType([*rows.schema.fields, T.StructField("payload", T.StringType())])
    return rows.mapInArrow(partial(add_payloads, names=contract.names), columns)
