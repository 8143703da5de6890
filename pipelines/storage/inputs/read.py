"""An input's new files as one frame of typed columns, with columns for the values that could not be read.

Grain of every frame: one row per row of the input. Columns: the declared ones, typed, and
- `broken`: the row is none (a JSON line that is not one object, a CSV row of another width), or has text
  that is no UTF-8;
- `unreadable`: names of columns whose text is no value of their type (null in the column itself), joined by
  commas; null where there are none;
- `mistyped`: JSON only, fields of another JSON type than the contract's, each as `size_bytes string`, in the
  same way;
- `raw`: the line of a text file; null where the columns say it all.

`pipelines.ingest.reasons` makes reasons of them. A row with a mistyped field stops the run, with
what `mistyped_fields` says.
"""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession, functions as F, types as T

from pipelines.config.errors import InputError
from pipelines.config.model import LINE_BYTES, Format
from pipelines.engine.files import can_open_delta, engine_path
from pipelines.engine.frames import empty_frame, union_all
from pipelines.storage.inputs.contract import contract_problems
from pipelines.storage.inputs.csv_rows import read_csv
from pipelines.storage.inputs.delta_log import appended_files, require_own_columns
from pipelines.storage.inputs.json_lines import name_mistyped, read_json
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.mapped_rows import SourceMapping, map_rows, with_event_ids
from pipelines.storage.inputs.text_copies import copy_unreadable, with_original_names
from pipelines.storage.inputs.typed_rows import read_delta, read_parquet
from schemas import EventContract


def read_input(
    spark: SparkSession,
    contract: EventContract,
    format: Format,
    files: Sequence[InputFile],
    *,
    max_line_bytes: int = LINE_BYTES,
    mapping: SourceMapping | None = None,
) -> DataFrame:
    """Open new files of one input, in the module's shape.

    Args:
        spark: the session.
        contract: the input's contract.
        format: how its files are written.
        files: some of `new_files`, of this input; at least one.
        max_line_bytes: a longer line of text is broken; see `pipelines.storage.inputs.copy_unreadable`.
        mapping: the source's mapping; its rows have the columns of `map_rows`, and an event_id each.

    Raises:
        InputError: a file's header or schema lacks a column or has another type, or the file is
            broken; every difference is listed.
    """
    if mapping is not None:
        return _mapped(spark, mapping, format, files, max_line_bytes)
    paths = [file.path for file in files]
    if format in ("json", "csv"):
        copies = copy_unreadable(spark, paths, max_line_bytes)
        try:
            return (read_json if format == "json" else read_csv)(spark, contract, copies)
        except InputError as error:
            raise InputError(
                *(with_original_names(each, paths, copies) for each in error.problems)
            ) from error
    if format == "parquet":
        return read_parquet(spark, contract, paths)
    return _delta(spark, contract, files)


def _mapped(
    spark: SparkSession,
    mapping: SourceMapping,
    format: Format,
    files: Sequence[InputFile],
    max_line_bytes: int,
) -> DataFrame:
    """The rows of a mapped source; where its rows have no id, each file, or version, is read by itself."""

    def opened(part: Sequence[InputFile]) -> DataFrame:
        taken = read_input(spark, mapping.taken, format, part, max_line_bytes=max_line_bytes)
        return map_rows(taken, mapping)

    if mapping.has_ids:
        return opened(files)
    parts = [part for file in files for part in by_version(file)]
    frames = [opened([part]).withColumn("file", F.lit(number)) for number, part in enumerate(parts)]
    return with_event_ids(union_all(frames), mapping)


def by_version(file: InputFile) -> list[InputFile]:
    """A version of a Delta table brings the rows that its own commit added, but for the first one taken."""
    if file.since is None or file.version is None:
        return [file]
    return [
        replace(file, since=number - 1, version=number) for number in range(file.since + 1, file.version + 1)
    ]


def mistyped_fields(
    spark: SparkSession,
    contract: EventContract,
    files: Sequence[InputFile],
    *,
    max_line_bytes: int = LINE_BYTES,
) -> str:
    """Name the files and fields of another JSON type than the contract's, one a line; nothing without any."""
    paths = [file.path for file in files]
    copies = copy_unreadable(spark, paths, max_line_bytes)
    said = contract_problems(contract, name_mistyped(spark, contract, copies))
    return with_original_names(said, paths, copies)


def _delta(spark: SparkSession, contract: EventContract, files: Sequence[InputFile]) -> DataFrame:
    (table,) = files
    assert table.version is not None
    if not can_open_delta(spark, table.path):
        raise InputError(
            f"inputs.{table.source}: the embedded engine opens no Delta table at {table.path}; rename the "
            "folder so that its path has letters, digits and . _ ~ + @ = - only, or use ./spark-submit.sh"
        )
    columns = list(contract.in_files.values())
    if table.since is None:
        require_own_columns(table.path, columns, table.version)
        rows = spark.read.format("delta").option("versionAsOf", table.version).load(engine_path(table.path))
        return read_delta(rows, contract, table.path)
    appended = appended_files(table.path, columns, table.since, table.version)
    if appended:
        return read_parquet(spark, contract, appended, may_lack=True)
    declared = T.StructType(
        [T.StructField(contract.in_files[each.name], each.field.dataType) for each in contract.columns]
    )
    return read_delta(empty_frame(spark, declared), contract, table.path)
