"""Which files of an input an engine could not read to their end, such as a truncated gz."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession, functions as F

from config.errors import PipelineError
from config.model import Format
from engine.faults import fault_of, lacking
from schemas import EventContract
from storage.inputs.listing import InputFile
from storage.inputs.places import GONE
from storage.inputs.read import read_input


def faulty_files(
    spark: SparkSession,
    contract: EventContract,
    format: Format,
    files: Sequence[InputFile],
    error: Exception,
) -> list[str]:
    """Find the files that a failed read is about, each with what is wrong with it.

    Args:
        spark: the session.
        contract: the input's contract.
        format: how its files are written.
        files: the files that were read.
        error: what the engine raised. If it names files, they are believed; else each is read by itself.

    Returns:
        One line a file; nothing if all can be read, or if disk or memory did not suffice: then the error is
        about something else.

    Raises:
        Exception: disk or memory did not suffice to read the files again.
    """
    fault = fault_of(error)
    if lacking(fault):
        return []
    told = f" {GONE}" if isinstance(error, FileNotFoundError) else f": {fault}"
    named = [f"{file.path}{told}" for file in files if file.path in fault]
    return named or [line for file in files for line in _read_alone(spark, contract, format, file)]


def _read_alone(
    spark: SparkSession,
    contract: EventContract,
    format: Format,
    file: InputFile,
) -> Iterator[str]:
    # Where it reads one file, the embedded engine takes a column with a single value from the footer.
    beside = [file] if format == "parquet" else []
    try:
        _read_all(read_input(spark, contract, format, [file, *beside]))
    except PipelineError:
        raise
    except Exception as error:
        fault = fault_of(error)
        if lacking(fault):
            raise
        yield f"{file.path}: {fault}"


def _read_all(rows: DataFrame) -> None:
    # A count alone would read no column.
    rows.agg(F.count(F.lit(1)), *[F.max(F.col(name).cast("string")) for name in rows.columns]).collect()
