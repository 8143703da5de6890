"""How the engines name and read files: paths, patterns in paths, text that is no UTF-8."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.engine.frames import union_all
from pipelines.engine.scratch import is_in_local_scratch
from pipelines.engine.session import is_embedded

PLAIN_PATH = re.compile(r"(?:[A-Za-z0-9]+:)?[A-Za-z0-9/._~+@=-]*")
"""Paths that every engine reads as they are."""
ENCODED = re.compile(r"[^A-Za-z0-9_.,:@=+/-]")
"""Characters of a path that the embedded engine encodes when it writes a table, and not when it reads it."""


def engine_path(path: str) -> str:
    """A path or URI as an engine takes it: on Windows a URI, as C:/data would be one of the scheme c."""
    windows = PureWindowsPath(path)
    return windows.as_uri() if os.name == "nt" and windows.is_absolute() else path


def delta_identifier(path: str) -> str:
    """How SQL of Apache Spark names a Delta table at a path."""
    return f"delta.`{path.replace('`', '``')}`"


def local_folder_path(spark: SparkSession, folder: Path) -> str:
    """A folder of the local disk, whatever characters it has; a plain path would be one of Hadoop's default.

    The embedded engine reads escapes of URLs, and takes brackets of plain paths for patterns. Hadoop reads no
    escapes.
    """
    return folder.as_uri() if is_embedded(spark) else f"file://{folder}"


def literal_paths(spark: SparkSession, paths: Sequence[str]) -> list[str]:
    """Escape the characters of paths that the engine would read as a pattern."""
    if os.name == "nt":
        # In a URI these characters are escaped.
        return [engine_path(path) for path in paths]
    # Hadoop knows a backslash before the character. The embedded engine knows a class of one character, but
    # finds no file, and says nothing, where the path also has an escape of URLs or the name of a partition.
    if is_embedded(spark):
        return [_without_pattern(path) for path in paths]
    # A plain path of a copy on the local disk would be one of Hadoop's default file system.
    paths = [f"file://{path}" if is_in_local_scratch(path) else path for path in paths]
    return [re.sub(r"[\\\[\]{}*?]", r"\\\g<0>", path) for path in paths]


def _without_pattern(path: str) -> str:
    if path.startswith("/") and re.search(r"[\[\]{}*?]", path):
        return Path(path).as_uri()
    return re.sub(r"[\[\]{}*?]", r"[\g<0>]", path)


def can_open_delta(spark: SparkSession, path: str) -> bool:
    """Whether the engine can open a Delta table at a path.

    The embedded engine encodes other characters as in a URL, and then looks for a folder of that name.
    """
    return not is_embedded(spark) or PLAIN_PATH.fullmatch(path) is not None


def unwritable_character(spark: SparkSession, path: str) -> str | None:
    """The first character of a path for which the engine would write to another folder than it reads."""
    found = ENCODED.search(path) if is_embedded(spark) else None
    return found[0] if found else None


def is_slow_to_open_files(spark: SparkSession) -> bool:
    """Whether the engine takes long to open many small files; Apache Spark reads them in one task."""
    return is_embedded(spark)


def reads_dictionaries_by_schema(spark: SparkSession) -> bool:
    """Whether the engine reads dictionaries of texts in Parquet by a declared schema."""
    return not is_embedded(spark)


def refuses_invalid_text(spark: SparkSession) -> bool:
    """Whether the engine refuses a whole text file for bytes that are no UTF-8."""
    return is_embedded(spark)


def with_file_names(
    spark: SparkSession, opened: Callable[[Sequence[str]], DataFrame], paths: Sequence[str]
) -> DataFrame:
    """The rows of files of one shape, each with `file`, the name without folders of the file that has it.

    Apache Spark knows of each row where it stands, so the files are one relation: a hundred of them would be
    planned a hundred times. The embedded engine does not know, and is quick to plan.

    Args:
        spark: the session.
        opened: opens some of the files; its rows may go through selections and filters only.
        paths: the files; at least one, of different names.
    """
    if is_embedded(spark):
        frames = [opened([path]).withColumn("file", F.lit(PurePosixPath(path).name)) for path in paths]
        return union_all(frames)
    # It is written as in a URI, where a plus sign stands for itself.
    written = F.replace(F.col("_metadata.file_name"), F.lit("+"), F.lit("%2B"))
    return opened(paths).withColumn("file", F.url_decode(written))


def checked_text(value: Column, spark: SparkSession) -> tuple[Column, Column]:
    """A text of a file as one that every reader of a table can read, and whether it was UTF-8 to begin with.

    Apache Spark takes bytes as they are. The embedded engine refuses a file with bytes that are no UTF-8.
    """
    if is_embedded(spark):
        return value, F.lit(True)
    return F.make_valid_utf8(value), F.is_valid_utf8(value)
