"""Views of a snapshot as one frame of typed columns, with the reasons why rows could not be read."""

from collections.abc import Sequence
from pathlib import PurePosixPath

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.config.errors import InputError
from pipelines.config.instants import END, FIRST
from pipelines.engine.files import PLAIN_PATH, can_open_delta, literal_paths, with_file_names
from pipelines.engine.frames import union_all
from pipelines.server.snapshots.columns import is_text
from pipelines.server.snapshots.declaration import ValueType, ViewColumn
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.storage.inputs.csv_rows import read_csv
from pipelines.storage.inputs.payloads import describe_line
from pipelines.storage.inputs.plain_copies import write_plain_copy
from pipelines.storage.inputs.text import compute_once, join_names, parse_value, quoted
from schemas.events import EventContract
from schemas.ids import canonical_id
from schemas.table import optional

TYPES: dict[ValueType, str] = {
    "guid": "string",
    "text": "string",
    "code": "string",
    "bit": "boolean",
    "int": "bigint",
    "time": "timestamp",
}
"""What a kind of column is to an engine."""


def read_views(spark: SparkSession, files: Sequence[ViewFile]) -> DataFrame:
    """Open views of one kind and one snapshot: its queues, or one other view.

    Args:
        spark: the session.
        files: their files, whose columns were compared with the views'; at least one.

    Returns:
        One row per row: `view`; `snapshot`, its number, null but for rows of captures; the view's columns by
        the view's names, null where the file lacks one; `reasons` why a row is not one of the view, joined by
        commas and null where all is well; `row`, what stands in the file, for `payload`.

    Raises:
        InputError: the engine can't open a Delta table at that path.

    GUIDs are in upper case without braces, a code without the blanks behind it, all else is as it stands.
    """
    # A server has hundreds of queues, and to plan a file costs more than to read it: one shape, one read.
    alike: dict[object, list[ViewFile]] = {}
    for file in files:
        columns = (tuple(file.names.items()), tuple(file.types.items()))
        is_alone = file.is_folder or file.has_places or not _is_named_after_view(file)
        shape = file.path if is_alone else (file.format, *columns)
        alike.setdefault(shape, []).append(file)
    return union_all([_read(spark, each) for each in alike.values()])


def _read(spark: SparkSession, files: Sequence[ViewFile]) -> DataFrame:
    """Files of one shape, or one folder, as `read_views` gives them."""
    file = files[0]
    if file.format == "delta" and not can_open_delta(spark, file.path):
        raise InputError(
            f"snapshots: the embedded engine opens no Delta table at {file.path}; write that view as "
            "Parquet, or use ./spark-submit.sh"
        )
    raw = _raw(spark, files)
    typed = {column.name: _typed(F.col(column.name), file, column) for column in file.columns}
    names = [column.name for column in file.columns]
    parsed = [each.name for each in file.columns if _is_parsed(file, each)]
    rows = raw.select(
        "view",
        "snapshot",
        "row",
        "broken",
        *[value.alias(name) for name, value in typed.items()],
        *[F.col(name).isNull().alias(f"null_{name}") for name in parsed],
    )
    if parsed:
        rows = compute_once(rows, rows.columns)
    is_null = {name: F.col(f"null_{name}") if name in parsed else F.col(name).isNull() for name in names}
    unreadable = {
        f"unreadable_{name}": F.col(name).isNull() & ~is_null[name] & ~F.col("broken") for name in parsed
    }
    missing = {
        f"missing_{column.name}": is_null[column.name] & ~F.col("broken")
        for column in file.columns
        if not column.nullable and column.name in file.names
    }
    reasons = join_names({"broken_row": F.col("broken"), **unreadable, **missing})
    return rows.select("view", "snapshot", *names, reasons.alias("reasons"), "row")


def payload() -> Column:
    """The view's columns as JSON, as `storage.inputs.payloads` makes them; for rejected rows only."""
    is_row = ~F.startswith("reasons", F.lit("broken_row"))
    return F.when(is_row, F.to_json("row.cells")).otherwise(describe_line("row.line"))


def _raw(spark: SparkSession, files: Sequence[ViewFile]) -> DataFrame:
    """The columns by the view's names, as the files have them, with `view`, `row` and `broken`."""
    file, paths = files[0], [_readable(spark, each) for each in files]
    line, broken = F.lit(None).cast("string"), F.lit(False)
    view = F.substr("file", F.lit(1), F.length("file") - len(f".{file.format}"))
    snapshot = F.lit(None).cast("bigint")
    if file.has_places:
        view, snapshot = F.col("view"), F.col("snapshot")
    elif not _is_named_after_view(file):
        view = F.lit(file.view)
    if file.is_folder:
        reader = spark.read.format("delta").load if file.format == "delta" else spark.read.parquet
        rows = reader(*(literal_paths(spark, paths) if file.format == "parquet" else paths))
        view = F.lit(file.view)
    elif file.has_places:
        rows = spark.read.parquet(*literal_paths(spark, paths))
    elif file.format == "csv":
        columns = tuple(optional(name, "string", "") for name in file.names.values())
        contract = EventContract(file.view, columns, (), {})
        rows = read_csv(spark, contract, paths, with_file=True)
        line, broken = F.col("raw"), F.col("broken")
    else:
        rows = with_file_names(spark, lambda some: spark.read.parquet(*literal_paths(spark, some)), paths)
    present = {name: F.col(quoted(spelled)) for name, spelled in file.names.items()}
    if file.format == "csv":
        # Some tools quote every field, NULL, too: of no text it can't be a value.
        kinds = {column.name: column.kind for column in file.columns}
        present |= {
            name: F.nullif(value, F.lit("NULL")) for name, value in present.items() if kinds[name] != "text"
        }
    values = {
        column.name: present.get(column.name, F.lit(None).cast("string")).alias(column.name)
        for column in file.columns
    }
    # The same type whatever the files' types, so that the rows of several files can be united.
    cells = F.struct(*[value.cast("string").alias(name) for name, value in values.items()])
    return rows.select(
        view.alias("view"),
        snapshot.alias("snapshot"),
        *values.values(),
        F.struct(line.alias("line"), cells.alias("cells")).alias("row"),
        broken.alias("broken"),
    )


def _is_named_after_view(file: ViewFile) -> bool:
    """Whether the rows say by their file which view they are of; a copy does."""
    if _needs_copy(file):
        return PLAIN_PATH.fullmatch(file.view) is not None
    return PurePosixPath(file.path).name == f"{file.view}.{file.format}"


def _readable(spark: SparkSession, file: ViewFile) -> str:
    """The path of the file, or of a copy that the engine can read."""
    if file.form is None or not _needs_copy(file):
        return file.path
    # Other characters are encoded in a URI.
    return write_plain_copy(spark, file.path, file.form, file.view if _is_named_after_view(file) else "view")


def _needs_copy(file: ViewFile) -> bool:
    return file.form is not None and (file.form.is_packed or not file.form.is_plain)


def _has_texts(file: ViewFile, column: ViewColumn) -> bool:
    """Whether the column has texts, as those of CSV have, and those that the file lacks."""
    type = file.types.get(column.name)
    return type is None or is_text(type)


def _has_bits(file: ViewFile, column: ViewColumn) -> bool:
    type = file.types.get(column.name)
    return type is not None and pa.types.is_boolean(type)


def _is_parsed(file: ViewFile, column: ViewColumn) -> bool:
    """Whether some values may not be readable: those made of text, and times of all years."""
    if column.kind == "bit":
        return not _has_bits(file, column)
    return column.kind == "time" or (column.kind == "int" and _has_texts(file, column))


def _typed(value: Column, file: ViewFile, column: ViewColumn) -> Column:
    if column.kind == "bit" and _has_bits(file, column):
        return value
    if column.kind == "time":
        is_parsed = _has_texts(file, column)
        moment = parse_value(value.cast("string"), "timestamp") if is_parsed else value.cast("timestamp")
        return F.when((moment >= F.lit(FIRST)) & (moment < F.lit(END)), moment)
    if column.kind == "int" and not _has_texts(file, column):
        return value.cast(TYPES[column.kind])
    text = value.cast("string")
    if column.kind == "guid":
        return canonical_id(F.trim(text))
    if column.kind == "code":
        return F.rtrim(text)
    if column.kind == "int":
        # pandas makes numbers with a fraction of a column that has nulls.
        text = F.trim(text)
        whole = F.substr(text, F.lit(1), F.length(text) - 2)
        text = F.when(F.endswith(text, F.lit(".0")), whole).otherwise(text)
    return parse_value(text, TYPES[column.kind])
