"""Lines of text files, and text as values: what JSON lines and CSV rows have in common."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import PurePosixPath

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.engine.files import checked_text, literal_paths, refuses_invalid_text, with_file_names
from pipelines.engine.frames import union_all
from pipelines.storage.inputs.text_encoding import split_by_encoding

PACKED = {".gz", ".bz2", ".zst"}
"""Endings of compressed files."""
INSTANT = r"^[ \t\r\n]*[0-9]{4,6}-[0-9-]+[T ][0-9]+:[0-9:.]+ *(?:Z|UTC|GMT|[+-][0-9:]+)?[ \t\r\n]*$"
"""A date with hour and minute, and maybe an offset. Engines also cast years, dates, times of today, and times
of zones whose clocks go back an hour in autumn."""
MINUTES = r"([T ][0-9]+:[0-9]+)( *(?:Z|UTC|GMT|[+-][0-9:]+)[ \t\r\n]*)$"
"""The hour and the minute of a time without seconds, and its offset."""
HEX = r"^0x(?:[0-9A-Fa-f]{2})*$"
"""Bytes, as the server's tools write them."""
TRUE, FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def read_lines(spark: SparkSession, paths: Sequence[str], *, with_file: bool = False) -> DataFrame:
    """The lines that are not blank, as `raw`, without byte order marks; `is_text`: all of it is UTF-8.

    With `file`, the name of the file without its folders, if asked for: then the files' names must differ.
    """

    def opened(alike: Sequence[str]) -> DataFrame:
        return spark.read.text(literal_paths(spark, alike))

    def lines(files: Sequence[str], is_text: Column) -> list[DataFrame]:
        # An engine may read files of one compression at a time.
        by_packing: dict[str, list[str]] = {}
        for path in files:
            suffix = PurePosixPath(path).suffix
            by_packing.setdefault(suffix if suffix in PACKED else "", []).append(path)
        return [
            (with_file_names(spark, opened, alike) if with_file else opened(alike)).withColumn(
                "is_text", is_text
            )
            for alike in by_packing.values()
        ]

    text, is_text = checked_text(F.col("value"), spark)
    if refuses_invalid_text(spark):
        of_text, others = split_by_encoding(paths)
        read = lines(of_text, F.lit(True)) + lines(others, F.lit(False))
    else:
        read = lines(paths, is_text)
    # Not every engine removes the mark.
    unmarked = F.when(F.startswith(text, F.lit("\ufeff")), F.substr(text, F.lit(2))).otherwise(text)
    file = ["file"] if with_file else []
    return union_all(read).select(unmarked.alias("raw"), "is_text", *file).where("trim(raw) <> ''")


def quoted(name: str) -> str:
    """A column's name in expressions of an engine, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def parse_value(text: Column, type: str) -> Column:
    """The text as a value of the type, null if it is none."""
    if type == "string":
        return text
    if type == "boolean":
        # The engines' own casts agree on these words only.
        word = F.lower(F.trim(text))
        return F.when(word.isin(*TRUE), F.lit(True)).when(word.isin(*FALSE), F.lit(False))
    value = text.try_cast(type)
    if type != "timestamp":
        return value
    # Not every engine reads an offset right behind the minutes.
    value = F.coalesce(value, F.regexp_replace(text, MINUTES, "$1:00$2").try_cast(type))
    return F.when(text.rlike(INSTANT), value)


def given_text(value: Column, type: str) -> Column:
    """A value of a typed file as its text; the session's zone is UTC."""
    if type == "timestamp":
        return F.concat(value.cast("string"), F.lit("Z"))
    if type == "binary":
        return F.concat(F.lit("0x"), F.hex(value))
    if type in ("double", "float"):
        # Engines write great numbers in ways of their own.
        is_whole = (value == F.floor(value)) & (F.abs(value) < 1e15)
        return F.when(is_whole, value.cast("bigint").cast("string")).otherwise(value.cast("string"))
    return value.cast("string")


def given_length(value: Column, type: str) -> Column:
    """The bytes of a value of a typed file."""
    if type == "string":
        return byte_length(value)
    return F.octet_length(value if type == "binary" else value.cast("string")).cast("bigint")


def byte_length(text: Column) -> Column:
    """The bytes of a text in UTF-8; of one that writes bytes as 0x..., of these."""
    is_hex = F.startswith(text, F.lit("0x")) & text.rlike(HEX)
    return F.when(is_hex, (F.length(text) - 2) / 2).otherwise(F.octet_length(text)).cast("bigint")


def join_names(flags: dict[str, Column]) -> Column:
    """The names whose flag is true, joined by commas; null where none is. No flag may be null."""
    if not flags:
        return F.lit(None).cast("string")
    named = [F.when(flag, F.lit(name)) for name, flag in flags.items()]
    # Most rows have none, and no texts are concatenated for them.
    return F.when(reduce(or_, flags.values()), F.concat_ws(",", *named))


def compute_once(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The same rows with these columns, which later steps take as they are.

    Otherwise both engines put the expressions behind a column into every place that names it, most of all
    into filters. Verdicts name columns that are made of columns, over and over: a plan of that takes minutes.
    """
    return rows.select(F.inline(F.array(F.struct(*columns))))
