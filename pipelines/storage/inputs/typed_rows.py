"""Rows that have types already: Parquet files and Delta tables."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.engine.files import checked_text, literal_paths
from pipelines.engine.frames import union_all
from pipelines.storage.inputs.contract import (
    contract_problems,
    differences,
    first_line,
    problems_of_each,
    raise_together,
)
from pipelines.storage.inputs.delta_log import AGAIN
from pipelines.storage.inputs.paths import GONE, open_file
from pipelines.storage.inputs.text import given_text
from schemas import EventContract

SPARK_TYPES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.date32(): "date",
}
"""What Spark calls a Parquet column that pyarrow gives this type; others keep pyarrow's name."""
NANOSECONDS = "timestamp[ns"
"""How pyarrow's name of a type begins that counts nanoseconds."""


def read_delta(rows: DataFrame, contract: EventContract, where: str) -> DataFrame:
    """Open the rows of a Delta table, in the shape of `pipelines.storage.inputs.read`.

    Raises:
        InputError: a column is missing or has another type; all of them are listed.
    """
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    problems = [f"{where}: {difference}" for difference in differences(contract, types)]
    raise_together([contract_problems(contract, problems)])
    present = [name for name, called in contract.in_files.items() if called in types]
    return _in_shape(rows, contract, present, types)


def read_parquet(
    spark: SparkSession, contract: EventContract, paths: Sequence[str], *, may_lack: bool = False
) -> DataFrame:
    """Open Parquet files, in the shape of `pipelines.storage.inputs.read`.

    Args:
        spark: the session.
        contract: the input's contract.
        paths: the files.
        may_lack: whether a column that a file lacks is null, as in the files of a Delta table.

    Raises:
        InputError: a file is broken, lacks a column or has another type; every difference is listed.
    """
    schemas: dict[str, pa.Schema] = {}

    def problems(path: str) -> list[str]:
        schema, found = footer_problems(path, contract, may_lack=may_lack)
        if schema is not None:
            schemas[path] = schema
        return found

    raise_together([contract_problems(contract, problems_of_each(paths, problems))])
    # An engine may read files of one schema only, and fail at a narrower number in one of them.
    alike: dict[str, list[str]] = {}
    for path in paths:
        alike.setdefault(str(schemas[path].remove_metadata()), []).append(path)
    frames = [_of_one_schema(spark, contract, files, schemas[files[0]]) for files in alike.values()]
    return union_all(frames)


def footer_problems(
    path: str, contract: EventContract, *, may_lack: bool = False
) -> tuple[pa.Schema | None, list[str]]:
    """The schema of a Parquet file, None if it can't be read, and what it lacks of the contract."""
    try:
        schema, types = _footer(path)
    except FileNotFoundError:
        return None, [f"{path} {f'is gone, as after VACUUM; {AGAIN}' if may_lack else GONE}"]
    except (pa.ArrowException, OSError) as error:
        return None, [f"{path}: not a readable Parquet file ({first_line(error)})"]
    if twice := _named_twice(schema.names, list(contract.in_files.values())):
        return schema, [f"{path}: column {name} is there twice; write it once" for name in twice]
    if contract.is_mapped and (too_fine := [name for name in types if types[name].startswith(NANOSECONDS)]):
        return schema, [
            f"{path}: column {name} is {types[name]}, which no engine reads; write it as timestamp[us]"
            for name in too_fine
        ]
    if may_lack:
        types = {**{contract.in_files[column.name]: column.type for column in contract.columns}, **types}
    return schema, [f"{path}: {difference}" for difference in differences(contract, types)]


def schema_problems(path: str, contract: EventContract, schema: pa.Schema) -> list[str]:
    """What the schema of a Delta table lacks of the contract."""
    types = {field.name: _type_in_spark(field.type) for field in schema}
    return [f"{path}: {difference}" for difference in differences(contract, types)]


def _named_twice(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The wanted names that occur more than once; to Apache Spark, capitals make no difference."""
    return [name for name in wanted if sum(each.lower() == name for each in names) > 1]


def _of_one_schema(
    spark: SparkSession, contract: EventContract, paths: Sequence[str], schema: pa.Schema
) -> DataFrame:
    present = [name for name, called in contract.in_files.items() if called in schema.names]
    if contract.is_mapped:
        rows = spark.read.parquet(*literal_paths(spark, paths))
        types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
        return _in_shape(rows, contract, present, types)
    if any(pa.types.is_dictionary(schema.field(name).type) for name in present):
        # An engine may read dictionaries as text only without a declared schema.
        rows = spark.read.parquet(*literal_paths(spark, paths))
    else:
        types = {
            column.name: _type_in_spark(schema.field(column.name).type, column.type)
            for column in contract.columns
            if column.name in present
        }
        declared = ", ".join(f"`{name}` {type}" for name, type in types.items())
        rows = spark.read.schema(declared).parquet(*literal_paths(spark, paths))
    return _in_shape(rows, contract, present)


def _in_shape(
    rows: DataFrame, contract: EventContract, present: Sequence[str], types: Mapping[str, str] | None = None
) -> DataFrame:
    """The declared columns; those of a mapped source as texts, by the types that they have in the file."""
    nothing = F.lit(None).cast("string")
    if contract.is_mapped:
        rows = rows.select(*[_taken(contract, name, types or {}).alias(name) for name in present])
    texts = [column.name for column in contract.columns if column.name in present and column.type == "string"]
    is_no_text = [~checked_text(F.col(name), rows.sparkSession)[1] for name in texts]
    return rows.select(
        *[
            (F.col(column.name) if column.name in present else F.lit(None))
            .cast(column.type)
            .alias(column.name)
            for column in contract.columns
        ],
        # A null is neither text nor none.
        reduce(or_, is_no_text, F.lit(False)).eqNullSafe(True).alias("broken"),
        nothing.alias("unreadable"),
        nothing.alias("mistyped"),
        nothing.alias("raw"),
    )


def _taken(contract: EventContract, name: str, types: Mapping[str, str]) -> Column:
    called = contract.in_files[name]
    value = F.col(f"`{called.replace('`', '``')}`")
    return given_text(value, types[called], is_length=name in contract.lengths)


def _footer(path: str) -> tuple[pa.Schema, Mapping[str, str]]:
    """A file's schema, and the types of its columns as Spark calls them."""
    with open_file(path) as source:
        file = pq.ParquetFile(source)
        schema = file.schema_arrow
        # Old writers keep times in 96 bits: UTC, but nothing says so.
        old_times = {
            column.name
            for column in (file.schema.column(place) for place in range(len(file.schema)))
            if column.physical_type == "INT96"
        }
    return schema, {
        field.name: "timestamp" if field.name in old_times else _type_in_spark(field.type) for field in schema
    }


def _type_in_spark(type: pa.DataType, default: str = "") -> str:
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_timestamp(type) and type.unit != "ns":
        return "timestamp" if type.tz else "timestamp_ntz"
    return SPARK_TYPES.get(type, default or str(type))
