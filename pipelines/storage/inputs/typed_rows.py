"""Rows that have types already: Parquet files and Delta tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.engine.files import checked_text, literal_paths, reads_dictionaries_by_schema
from pipelines.engine.frames import union_all
from pipelines.storage.inputs.contract import (
    WITHOUT_VALUES,
    contract_problems,
    differences,
    first_line,
    problems_of_each,
    raise_together,
)
from pipelines.storage.inputs.delta_log import AGAIN
from pipelines.storage.inputs.paths import GONE, open_file
from pipelines.storage.inputs.text import given_length, given_text, quoted
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
    pa.uint64(): "decimal(20,0)",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
}
"""What Spark calls a Parquet column that pyarrow gives this type; others keep pyarrow's name."""


def read_delta(rows: DataFrame, contract: EventContract, where: str) -> DataFrame:
    """Open the rows of a Delta table, in the shape of `pipelines.storage.inputs.read`.

    Raises:
        InputError: a column is missing or has another type; all of them are listed.
    """
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    problems = [f"{where}: {difference}" for difference in differences(contract, types)]
    raise_together([contract_problems(contract, problems)])
    return _in_shape(rows, contract, _with_values(contract, types))


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
    footers: dict[str, Footer] = {}

    def problems(path: str) -> list[str]:
        footer, found = footer_problems(path, contract, may_lack=may_lack)
        if footer is not None:
            footers[path] = footer
        return found

    raise_together([contract_problems(contract, problems_of_each(paths, problems))])
    # An engine may read files of one schema only, and fail at a narrower number in one of them.
    alike: dict[str, list[str]] = {}
    for path in paths:
        alike.setdefault(str(footers[path].schema.remove_metadata()), []).append(path)
    frames = [
        _of_one_schema(spark, contract, files, footers[files[0]], are_texts=len(alike) > 1)
        for files in alike.values()
    ]
    return union_all(frames)


@dataclass(frozen=True)
class Footer:
    """What a Parquet file says of its columns.

    Attributes:
        schema: as pyarrow reads it.
        types: what Spark calls their types, by column.
    """

    schema: pa.Schema
    types: Mapping[str, str]


def footer_problems(
    path: str, contract: EventContract, *, may_lack: bool = False
) -> tuple[Footer | None, list[str]]:
    """The footer of a Parquet file, None if it can't be read, and what it lacks of the contract."""
    try:
        footer = _footer(path)
    except FileNotFoundError:
        return None, [f"{path} {f'is gone, as after VACUUM; {AGAIN}' if may_lack else GONE}"]
    except (pa.ArrowException, OSError) as error:
        return None, [f"{path}: not a readable Parquet file ({first_line(error)})"]
    if twice := _named_twice(footer.schema.names, list(contract.in_files.values())):
        return footer, [f"{path}: column {name} is there twice; write it once" for name in twice]
    types = footer.types
    if may_lack:
        types = {**{contract.in_files[column.name]: column.type for column in contract.columns}, **types}
    return footer, [f"{path}: {difference}" for difference in differences(contract, types)]


def schema_problems(path: str, contract: EventContract, schema: pa.Schema) -> list[str]:
    """What the schema of a Delta table lacks of the contract."""
    types = {field.name: _type_in_spark(field.type) for field in schema}
    return [f"{path}: {difference}" for difference in differences(contract, types)]


def _named_twice(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The wanted names that occur more than once; to Apache Spark, capitals make no difference."""
    return [name for name in wanted if sum(each.lower() == name.lower() for each in names) > 1]


def _of_one_schema(
    spark: SparkSession, contract: EventContract, paths: Sequence[str], footer: Footer, *, are_texts: bool
) -> DataFrame:
    present = _with_values(contract, footer.types)
    reader = spark.read
    has_dictionaries = any(pa.types.is_dictionary(footer.schema.field(called).type) for called in present)
    if present and (not has_dictionaries or reads_dictionaries_by_schema(spark)):
        declared = [f"{quoted(called)} {type}" for called, type in present.items()]
        reader = reader.schema(", ".join(declared))
    return _in_shape(reader.parquet(*literal_paths(spark, paths)), contract, present, are_texts=are_texts)


def _with_values(contract: EventContract, types: Mapping[str, str]) -> dict[str, str]:
    """The types of the declared columns that are there, without those that have nulls only."""
    names = [called for called in contract.in_files.values() if called in types]
    return {called: types[called] for called in names if types[called] not in WITHOUT_VALUES}


def _in_shape(
    rows: DataFrame, contract: EventContract, types: Mapping[str, str], *, are_texts: bool = False
) -> DataFrame:
    """The declared columns; those of a mapped source with the types of the file, or all as texts.

    Args:
        rows: the columns of a file or a table.
        contract: the input's contract.
        types: what Spark calls their types, by column.
        are_texts: whether the columns of a mapped source become texts.
    """
    nothing, columns, texts = F.lit(None).cast("string"), {}, []
    for column in contract.columns:
        called = contract.in_files[column.name]
        type = types.get(called)
        value = F.lit(None) if type is None else F.col(quoted(called))
        if type is None or not contract.is_mapped:
            columns[column.name] = value.cast(column.type)
        elif column.name in contract.lengths:
            columns[column.name] = given_length(value, type)
        else:
            value = value.cast(type)
            columns[column.name] = given_text(value, type) if are_texts else value
        if type == "string" and column.name not in contract.lengths:
            texts.append(column.name)
    rows = rows.select(*[value.alias(name) for name, value in columns.items()])
    is_no_text = [~checked_text(F.col(name), rows.sparkSession)[1] for name in texts]
    return rows.select(
        "*",
        # A null is neither text nor none.
        reduce(or_, is_no_text, F.lit(False)).eqNullSafe(True).alias("broken"),
        nothing.alias("unreadable"),
        nothing.alias("mistyped"),
        nothing.alias("raw"),
    )


def _footer(path: str) -> Footer:
    with open_file(path) as source:
        file = pq.ParquetFile(source)
        schema = file.schema_arrow
        # Old writers keep times in 96 bits: UTC, but nothing says so.
        old_times = {
            column.name
            for column in (file.schema.column(place) for place in range(len(file.schema)))
            if column.physical_type == "INT96"
        }
    types = {
        field.name: "timestamp" if field.name in old_times else _type_in_spark(field.type) for field in schema
    }
    return Footer(schema, types)


def _type_in_spark(type: pa.DataType) -> str:
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_timestamp(type) and type.unit != "ns":
        return "timestamp" if type.tz else "timestamp_ntz"
    if pa.types.is_decimal128(type):
        return f"decimal({type.precision},{type.scale})"
    return "binary" if pa.types.is_fixed_size_binary(type) else SPARK_TYPES.get(type, str(type))
