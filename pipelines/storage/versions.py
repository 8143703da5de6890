"""The versions of a warehouse's tables, to see that no commit was lost and no table was changed by others."""

import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.config.errors import REBUILD, ConfigError, WarehouseError
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.errors import fault_of
from pipelines.engine.housekeeping import housekept_table
from pipelines.engine.session import is_embedded
from pipelines.storage.inputs.contract import first_line
from pipelines.storage.inputs.paths import local_path
from schemas import TABLES
from schemas.table import Table

log = logging.getLogger(__name__)
DIGITS = 20
"""Of a version, in the name of a file of a Delta log."""
COMMIT = re.compile(rf"[0-9]{{{DIGITS}}}\.json$")
CHECKPOINT = re.compile(rf"[0-9]{{{DIGITS}}}\.checkpoint\.")
AT_ONCE = 8
"""Logs that are read side by side: on an object store each takes several round trips."""
SPARK_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
"""What Spark calls types of a Delta log; the others have the same name."""


def versions_of(root: str, spark: SparkSession | None = None) -> dict[str, int] | None:
    """The version of each table that is there, by name; None if they can't be reached.

    delta-rs reads them, which needs no engine. Apache Spark reads them where delta-rs can't, such as on HDFS.

    Args:
        root: the folder of the tables, or its URI.
        spark: a session, if there is one.

    Raises:
        ConfigError: this user may not read a table.
        WarehouseError: the log of a table is damaged, or its columns are not the declared ones; every such
            table is listed.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        opened = dict(zip(TABLES, pool.map(lambda name: _opened(f"{root}/{name}"), TABLES), strict=True))
    tables = {name: found for name, found in opened.items() if isinstance(found, DeltaTable)}
    faults = {name: found for name, found in opened.items() if isinstance(found, Exception)}
    # Where one table can be read, others that can't are damaged and not out of reach.
    if faults and not tables and local_path(root) is None:
        if spark is not None and not is_embedded(spark):
            return _versions_by_spark(root, spark)
        fault = first_line(next(iter(faults.values())))
        log.warning("the versions under %s can't be read, so lost commits stay unseen: %s", root, fault)
        return None
    damaged = [damaged_log(f"{root}/{name}", _said_of(fault)) for name, fault in faults.items()]
    damaged += [
        problem
        for name, found in tables.items()
        if (problem := other_columns(f"{root}/{name}", TABLES[name], stored_types(found)))
    ]
    if damaged:
        require_readable(root)
        raise WarehouseError(*damaged)
    return {name: found.version() for name, found in tables.items()}


def require_readable(root: str) -> None:
    """Refuse a local warehouse that this user may not read whole: it is not damaged.

    Raises:
        ConfigError: it has such a folder or file; the first is named.
    """
    folder = local_path(root)
    if folder is None:
        return
    inside = (
        os.path.join(parent, name)
        for parent, folders, files in os.walk(folder)
        for name in (*folders, *files)
    )
    for path in chain([folder], inside):
        if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
            raise ConfigError(
                f"warehouse: {path} can't be read (Permission denied); give this user the right to read it"
            )


def _versions_by_spark(root: str, spark: SparkSession) -> dict[str, int]:
    """The versions as Apache Spark reads them; what columns a table has is looked at when it is opened.

    Raises:
        WarehouseError: the log of a table is damaged.
    """

    def version(name: str) -> int | str | None:
        try:
            found = housekept_table(f"{root}/{name}", spark)
            return found.version() if found else None
        except PySparkException as error:
            return damaged_log(f"{root}/{name}", fault_of(error))

    found = dict(
        zip(TABLES, run_concurrently(spark, *[partial(version, name) for name in TABLES]), strict=True)
    )
    if damaged := [problem for problem in found.values() if isinstance(problem, str)]:
        raise WarehouseError(*damaged)
    return {name: number for name, number in found.items() if isinstance(number, int)}


def small_table_rows(path: str, columns: Sequence[str], spark: SparkSession | None) -> list[dict[str, Any]]:
    """Columns of a small table that exists, by delta-rs or, where that can't reach it, by a session."""
    try:
        found = DeltaTable(path).to_pyarrow_table(columns=list(columns))
    except (DeltaError, OSError):
        table = housekept_table(path, spark)
        return table.rows(columns) if table else []
    return list(found.to_pylist())


def other_columns(path: str, table: Table, found: Mapping[str, str]) -> str | None:
    """Say how the columns of a table differ from its declaration; None if they don't.

    A table of an older version may lack columns that may be null: the next write adds them.

    Args:
        path: the table's folder.
        table: its declaration.
        found: the types of its columns as Spark calls them, by name.
    """
    declared = {column.name: column.type for column in table.columns}
    later = {column.name for column in table.columns if table.may_lack(column)}
    missing = [f"column {name} is missing" for name in declared if name not in found and name not in later]
    retyped = [
        f"column {name} is {found[name]} and must be {type}"
        for name, type in declared.items()
        if found.get(name, type) != type
    ]
    added = [f"column {name} was added" for name in found if name not in declared]
    if not missing + retyped + added:
        return None
    if declared.keys() & found.keys():
        differs = ", ".join(missing + retyped + added)
    else:
        differs = "it has none of the columns of that table, so it is another table"
    # A newer version adds columns, and changes nothing else.
    age, first = ("An older", "Put") if missing + retyped else ("A newer", "Upgrade, put")
    return (
        f"warehouse: {path}: {differs}. {age} version wrote the table, or another program changed it. "
        f"{first} it back as it was, or {REBUILD}"
    )


def _opened(path: str) -> DeltaTable | Exception | None:
    """The table at a path; None if there is none, else what is wrong."""
    try:
        found = DeltaTable(path)
        return _lost_commit(path) or found
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        return error


def _lost_commit(path: str) -> DeltaError | None:
    """A commit behind the newest checkpoint that is gone or has no byte, as after a power failure.

    delta-rs or an engine may take a log without its rows for a whole one.
    """
    folder = local_path(path)
    if folder is None:
        return None
    files = {each.name: each.stat().st_size for each in os.scandir(f"{folder}/_delta_log")}
    checkpoint = max((int(name[:DIGITS]) for name in files if CHECKPOINT.match(name)), default=-1)
    commits = {int(name[:DIGITS]): size for name, size in files.items() if COMMIT.match(name)}
    for version in range(checkpoint + 1, max(commits, default=-1) + 1):
        if not commits.get(version):
            state = "is empty" if version in commits else "is gone"
            return DeltaError(f"its commit {version:0{DIGITS}}.json {state}")
    return None


def cut_commit(path: str) -> str | None:
    """Say that a commit of a local table is not whole; None if all are.

    delta-rs takes columns from the sums beside the newest commit, so it may not see it.
    """
    folder = local_path(path)
    for file in () if folder is None else sorted(Path(folder, "_delta_log").glob("*.json")):
        try:
            actions = {name for line in file.read_bytes().splitlines() for name in json.loads(line)}
        except ValueError:
            actions = set()
        if not actions or (int(file.stem) == 0 and not {"protocol", "metaData"} <= actions):
            return damaged_log(path, f"its commit {file.name} is cut or damaged")
    return None


def damaged_log(path: str, fault: str) -> str:
    """Say that the log of a table is damaged."""
    return f"warehouse: {path}: its log is damaged ({fault}). Put back what is missing, or {REBUILD}"


def _said_of(fault: Exception) -> str:
    said = first_line(fault)
    # The sum of a commit that is gone is left: delta-rs takes that for a fault of its own.
    return "its last commit is gone" if "CRC file version" in said else said


def stored_types(table: DeltaTable) -> dict[str, str]:
    """The types of a table's columns as Spark calls them, by name."""
    fields = json.loads(table.schema().to_json())["fields"]
    return {field["name"]: _spark_type(field["type"]) for field in fields}


def _spark_type(type: Any) -> str:
    if isinstance(type, str):
        return SPARK_TYPES.get(type, type)
    if type["type"] == "map":
        return f"map<{_spark_type(type['keyType'])},{_spark_type(type['valueType'])}>"
    if type["type"] == "array":
        return f"array<{_spark_type(type['elementType'])}>"
    return str(type["type"])
