"""Frames: unions, hashes of rows, frames of a few rows, and rows by few keys."""

import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from functools import cache
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, functions as F, types as T

from pipelines.engine.session import is_embedded


def union_all(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames, which have the same columns in any order; at least one frame.

    The unions form a tree: engines walk through plans by recursion, and the embedded engine ends without a
    message at a chain of about two hundred.
    """
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return union_all(frames[:half]).unionByName(union_all(frames[half:]))


def with_same_columns(frames: Sequence[DataFrame]) -> list[DataFrame]:
    """The frames, each with the columns of all; what a frame lacks is null."""
    types = {field.name: field.dataType for frame in frames for field in frame.schema.fields}
    if all(len(frame.columns) == len(types) for frame in frames):
        return list(frames)
    return [
        frame.withColumns(
            {name: F.lit(None).cast(type) for name, type in types.items() if name not in frame.columns}
        )
        for frame in frames
    ]


def null_of(type: str) -> Column:
    """A null of a type."""
    return F.lit(None).cast(type)


def row_hash(first: Column, *others: Column) -> Column:
    """A hash of 8 bytes of the columns; nulls are ignored.

    The embedded engine takes a column for a constant if a Parquet file's statistics say that it has one
    value there (Apache DataFusion, issue 19089), and its hash fails if all arguments are constants, as for a
    file that has one event twice. An item of an array never counts as a constant.
    """
    return F.xxhash64(F.array(first)[0], *others)


def small_frame(spark: SparkSession, rows: Iterable[Sequence[Any]], schema: T.StructType | str) -> DataFrame:
    """A frame of a few rows that the driver knows, as a constant of the query.

    `createDataFrame` would start Python workers on Spark for every query that reads the rows. The embedded
    engine takes rows as they are, and would read a text of them again wherever the frame is used.

    Args:
        spark: the session.
        rows: values in the order of the schema; datetimes are aware, maps are dicts with string keys.
        schema: the columns, as a schema or DDL.
    """
    struct = schema if isinstance(schema, T.StructType) else _struct_of(schema)
    if is_embedded(spark):
        nullable = T.StructType([T.StructField(field.name, field.dataType) for field in struct.fields])
        return spark.createDataFrame([tuple(row) for row in rows], nullable)
    named = [dict(zip(struct.names, row, strict=True)) for row in rows]
    # The embedded engine's from_json reads no time with a T: text is cast instead.
    moments = [field.name for field in struct.fields if isinstance(field.dataType, T.TimestampType)]
    as_text = T.StructType(
        [
            T.StructField(field.name, T.StringType() if field.name in moments else field.dataType)
            for field in struct.fields
        ]
    )
    constant = F.from_json(F.lit(json.dumps(named, default=_text)), T.ArrayType(as_text))
    frame = spark.range(0, 1, 1, 1).select(F.inline(constant))
    return frame.select(*[F.col(field.name).cast(field.dataType) for field in struct.fields])


@cache
def _struct_of(ddl: str) -> T.StructType:
    """The columns of a DDL, which the engine reads."""
    struct = T.StructType.fromDDL(ddl)
    assert isinstance(struct, T.StructType)
    return struct


def among(rows: DataFrame, keys: Iterable[Sequence[Any]], columns: str) -> DataFrame:
    """The rows that have one of the keys in the columns.

    A condition would grow with the keys, and both engines walk through conditions by recursion: the embedded
    one takes no chain of fifty, and ends without a message at a few hundred.

    Args:
        rows: anything.
        keys: values in the order of the columns; the driver knows them.
        columns: the columns and their types, as DDL.
    """
    few = small_frame(rows.sparkSession, keys, columns)
    return rows.join(F.broadcast(few), few.columns, "left_semi")


def empty_frame(spark: SparkSession, schema: T.StructType) -> DataFrame:
    """A frame without rows, known as such to the optimizer: joins with it cost nothing."""
    columns = [f"cast(null as {field.dataType.simpleString()}) as `{field.name}`" for field in schema.fields]
    return spark.range(0, 1, 1, 1).where("false").selectExpr(*columns)


def _text(value: object) -> str:
    if isinstance(value, date | datetime):
        return value.isoformat()
    raise TypeError(f"no text for {value!r}")
