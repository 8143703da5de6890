"""Which files an engine could not read to their end, such as a truncated gz."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import PipelineError
from pipelines.engine.errors import fault_of, lacking
from pipelines.storage.inputs.paths import GONE
from pipelines.text.form import not_packed


class File(Protocol):
    """A file that was read."""

    @property
    def path(self) -> str:
        """Where it is."""
        ...


T = TypeVar("T", bound=File)


@contextmanager
def name_files_on_error(blame: Callable[[Exception], None]) -> Iterator[None]:
    """On an error of the engine inside the block, raise an error that names faulty files, if there are any.

    Args:
        blame: takes the error, and raises an InputError if files are faulty.
    """
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        blame(error)
        raise


def find_faulty_files(
    files: Sequence[T], opened: Callable[[Sequence[T]], DataFrame], error: Exception, *, are_parquet: bool
) -> list[str]:
    """Find the files that a failed read is about, each with what is wrong with it.

    Args:
        files: the files that were read.
        opened: opens some of them.
        error: what the engine raised. If it names files, they are believed; else each is read by itself.
        are_parquet: whether they are Parquet files.

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
    named = [_told(file, told) for file in files if file.path in fault]
    # With one Parquet file, an engine may read a column with a single value from the footer only.
    times = 2 if are_parquet else 1
    return named or [line for file in files for line in _read_alone(file, opened, times)]


def _read_alone(file: T, opened: Callable[[Sequence[T]], DataFrame], times: int) -> Iterator[str]:
    try:
        rows = opened([file] * times)
        # A count alone would read no column.
        greatest = [F.max(F.col(name).cast("string")) for name in rows.columns]
        rows.agg(F.count(F.lit(1)), *greatest).collect()
    except PipelineError:
        raise
    except Exception as error:
        fault = fault_of(error)
        if lacking(fault):
            raise
        yield _told(file, f": {fault}")


def _told(file: File, fault: str) -> str:
    why = not_packed(file.path)
    return f"{file.path}{fault if why is None else f': {why}'}"
