"""The file of a view: where it is, how it is written, and which columns it has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from deltalake.exceptions import DeltaError
from pyarrow import fs

from pipelines.config.paths import URI
from pipelines.server.snapshots.declaration import ViewColumn
from pipelines.server.snapshots.views import columns_in_files
from pipelines.text.form import TextForm, not_packed

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNREADABLE = (pa.ArrowException, OSError, DeltaError)
"""What is raised where a file is none of its format."""


@dataclass(frozen=True)
class ViewFile:
    """The file of a view.

    Attributes:
        view: the view.
        path: the file, or the folder of a Delta table or of several Parquet files.
        format: how it is written.
        names: the columns as the file spells them, by the view's names; those that it lacks are missing.
        types: the types of these columns, by the view's names; none of CSV.
        is_folder: whether the path is a folder.
        form: how CSV is written; None of another format.
        has_rows: whether it may have rows.
        has_places: whether its rows say of which snapshot and view they are, as those of captures do.
    """

    view: str
    path: str
    format: str
    names: Mapping[str, str]
    types: Mapping[str, pa.DataType]
    is_folder: bool
    form: TextForm | None = None
    has_rows: bool = True
    has_places: bool = False

    @property
    def columns(self) -> tuple[ViewColumn, ...]:
        """The view's columns."""
        return columns_in_files(self.view)

    @property
    def is_empty(self) -> bool:
        """Whether the file has no rows, and not even a header."""
        return not self.has_rows or (self.form is not None and self.form.is_empty)

    def without(self, names: Iterable[str]) -> "ViewFile":
        """The file as if it lacked some columns, by the view's names."""
        left_out = set(names)
        return replace(
            self,
            names={name: spelled for name, spelled in self.names.items() if name not in left_out},
            types={name: type for name, type in self.types.items() if name not in left_out},
        )


def describe_unreadable(path: str, format: str, error: Exception) -> str:
    """What to say of a file that is none of its format."""
    return not_packed(path) or f"is not readable as {format} ({str(error).partition(chr(10))[0]})"


def changed_at(info: fs.FileInfo) -> datetime:
    """When a file was last changed, UTC, to the microsecond."""
    return EPOCH + timedelta(microseconds=info.mtime_ns // 1000)


def file_system(path: str) -> tuple[fs.FileSystem, str, str]:
    """The file system, the path in it, and what stands before that in the whole path."""
    if not URI.match(path):
        return fs.LocalFileSystem(), path, ""
    system, inner = fs.FileSystem.from_uri(path.replace("s3a:", "s3:", 1))
    return system, inner, path[: len(path.rstrip("/")) - len(inner)]
