"""What was appended to a Delta table since a version, by its log."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable

from pipelines.config.errors import InputError
from pipelines.storage.inputs.paths import open_file

ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/|/")
AGAIN = (
    "copy the table to a new folder and name that in the settings: what was taken before then counts as "
    "duplicates"
)


def current_version(path: str) -> int:
    """The table's newest version.

    Raises:
        DeltaError: there is no Delta table.
    """
    return DeltaTable(path).version()


def appended_files(path: str, columns: Collection[str], since: int, version: int) -> list[str]:
    """The Parquet files that the commits after `since`, up to `version`, added with new rows.

    A commit that only removes files brings nothing new and is passed over.

    Args:
        path: the table.
        columns: what is read of it.
        since: the version that was taken before.
        version: the version to take.

    Raises:
        InputError: a commit changed rows instead of appending some, the log does not go back so far, or the
            files are none that can be read by themselves.
    """
    files = []
    for number in range(since + 1, version + 1):
        added, changes = [], False
        for action in _actions(path, number):
            names = action.get("metaData", {}).get("configuration", {})
            if names.get("delta.columnMapping.mode", "none") != "none":
                raise InputError(
                    f"{path}: the table maps its columns to other names; write events without that"
                )
            changes = changes or bool(action.get("remove", {}).get("dataChange"))
            add = action.get("add")
            if add and add["dataChange"]:
                _require_own_rows(path, number, columns, add)
                file = unquote(add["path"])
                added.append(file if ABSOLUTE.match(file) else f"{path}/{file}")
        if added and changes:
            raise InputError(
                f"{path}: version {number} changed rows that were there; events are only ever added: {AGAIN}"
            )
        files += added
    return files


def require_own_columns(path: str, columns: Collection[str], version: int) -> None:
    """Require that the files of a table have what is read of it: later commits are read by their files.

    Raises:
        InputError: it is partitioned by some of them.
    """
    _require_in_files(path, columns, DeltaTable(path, version=version).metadata().partition_columns)


def new_sizes(path: str, since: int | None, version: int) -> list[int]:
    """Bytes of each file that `appended_files` would name; of all files if no version was taken before."""
    if since is None:
        files = pa.table(DeltaTable(path, version=version).get_add_actions())
        return [size.as_py() for size in files["size_bytes"]]
    actions = (action for number in range(since + 1, version + 1) for action in _actions(path, number))
    return [added["size"] for action in actions if (added := action.get("add")) and added["dataChange"]]


def _actions(path: str, number: int) -> Iterator[dict[str, Any]]:
    try:
        return read_actions(path, number)
    except FileNotFoundError as error:
        raise InputError(f"{path}: version {number} is no longer in the table's log; {AGAIN}") from error


def _require_own_rows(path: str, number: int, columns: Collection[str], add: dict[str, Any]) -> None:
    _require_in_files(path, columns, add.get("partitionValues") or {})
    if add.get("deletionVector"):
        raise InputError(f"{path}: version {number} deleted rows of new files; {AGAIN}")


def _require_in_files(path: str, columns: Collection[str], partitions: Collection[str]) -> None:
    if inside := sorted(set(partitions) & set(columns)):
        raise InputError(
            f"{path}: {', '.join(inside)} is in no file, because the table is partitioned by it; partition "
            "it by a column that is not declared, or not at all"
        )


def read_actions(path: str, version: int) -> Iterator[dict[str, Any]]:
    """The actions of one commit, in the log's order.

    Raises:
        FileNotFoundError: the log does not have this version, or no longer.
    """
    with open_file(f"{path}/_delta_log/{version:020}.json") as file:
        text = file.read().decode()
    return (json.loads(line) for line in text.splitlines() if line)


def count_added_rows(path: str, version: int) -> tuple[int, int]:
    """How many rows a commit added, in how many files."""
    added = [action["add"] for action in read_actions(path, version) if "add" in action]
    return sum(json.loads(each.get("stats") or "{}").get("numRecords", 0) for each in added), len(added)
