"""Copies of CSV files that an engine can't read as they are: UTF-8, commas, a row a line."""

from collections.abc import Collection
from uuid import uuid4

from pyspark.sql import SparkSession

from pipelines.config.errors import InputError
from pipelines.engine.materialize import is_on_this_machine
from pipelines.engine.scratch import local_scratch
from pipelines.storage.inputs.paths import file_system
from pipelines.text.form import ForeignFileError, TextForm, packing, read_form
from pipelines.text.rows import rewrite

BUFFER = 1 << 20


def find_form(path: str, known: Collection[str]) -> TextForm:
    """How a CSV file is written, by its first and last bytes.

    Args:
        path: the file.
        known: names of columns that its header may have.

    Raises:
        ForeignFileError: it is none.
    """
    system, inner, _ = file_system(path)
    return read_form(system, inner, known)[0]


def write_plain_copy(spark: SparkSession, path: str, form: TextForm, name: str) -> str:
    """Write a file again on the local disk, line by line; the copy goes with the process.

    Args:
        spark: the session.
        path: the file.
        form: how it is written.
        name: the copy's name without ending.

    Returns:
        The copy's path.

    Raises:
        InputError: the file has bytes that are none of its encoding, or the engine runs on a cluster, whose
            machines don't see the local disk.
    """
    if not is_on_this_machine(spark):
        raise InputError(
            f"{path}: on a cluster CSV is read as UTF-8 with commas and a header in its first line only; "
            "write it so, or as Parquet"
        )
    folder = local_scratch() / str(uuid4())
    folder.mkdir()
    copy = folder / f"{name}.csv"
    system, inner, _ = file_system(path)
    try:
        with (
            system.open_input_stream(inner, compression=packing(inner)) as stream,
            copy.open("wb", buffering=BUFFER) as out,
        ):
            out.writelines(rewrite(stream, form))
    except ForeignFileError as error:
        raise InputError(f"{path}: {error}") from None
    return copy.as_posix()
