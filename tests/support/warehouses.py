"""Whole warehouses as plain Python, to compare one with another."""

import shutil
from collections.abc import Iterable
from datetime import datetime
from operator import itemgetter
from pathlib import Path

from deltalake import DeltaTable, write_deltalake

from schemas import TABLES
from tests.support.harness import Project, difference

OF_A_RUN = {"run_id", "first_seen", "modified_at"}
"""Columns that differ from run to run, whatever the events."""
CAME_LATER = {
    "batches": ["newest_data"],
    "endpoints": ["conversation_handle"],
    "message_events": ["size_bytes"],
    "receive_schedule": [
        *("message_sequence_number", "contract", "local_service", "remote_service"),
        *("held_since", "held_source"),
    ],
    "runs": ["newest_data"],
    "transmission_schedule": ["why_still_here", "contract", "waits_for", "waits_since", "waits_source"],
}
"""Columns that the version before lacked."""


def table_names(project: Project) -> list[str]:
    """The tables that have been written."""
    return sorted(path.parent.name for path in Path(project.folder, "warehouse").glob("*/_delta_log"))


def contents(project: Project, *, leave_out: Iterable[str] = ()) -> dict[str, list[str]]:
    """The rows of every table but `runs`, as sorted lines; without the columns to leave out."""
    ignored = OF_A_RUN | set(leave_out)
    found = {}
    for name in table_names(project):
        if name != "runs":
            rows = [
                {column: value for column, value in row.items() if column not in ignored}
                for row in project.table(name)
            ]
            found[name] = sorted(difference(rows, []))
    return found


def changed(before: dict[str, list[str]], after: dict[str, list[str]]) -> dict[str, list[str]]:
    """Lines that are in one of the two only, by table; at most ten a table."""
    result = {}
    for name in sorted(before.keys() | after.keys()):
        left, right = before.get(name, []), after.get(name, [])
        if left != right:
            different = sorted(set(left) ^ set(right)) or ["the same rows, but not as often"]
            result[name] = different[:10]
    return result


def last_status(project: Project) -> dict[datetime, str]:
    """How the last run of each as_of ended, as `runs` has it."""
    runs = sorted(project.table("runs"), key=itemgetter("started_at"))
    return {row["as_of"]: row["status"] for row in runs}


def commits(project: Project) -> int:
    """The commits of all tables."""
    return sum(
        DeltaTable(str(project.folder / "warehouse" / name)).version() + 1 for name in table_names(project)
    )


def closed_files(project: Project) -> dict[str, set[str]]:
    """The files of the partitions of closed rows, by table."""
    found = {}
    for name in table_names(project):
        table = DeltaTable(str(project.folder / "warehouse" / name))
        if "closed_on" in table.metadata().partition_columns:
            found[name] = {path for path in table.file_uris() if "closed_on=__HIVE_DEFAULT" not in path}
    return found


def make_older(warehouse: Path) -> None:
    """Write tables again as the version before did, without columns that came later."""
    for table, columns in CAME_LATER.items():
        path = str(warehouse / table)
        version = DeltaTable(path).version()
        rows = DeltaTable(path).to_pyarrow_table().drop_columns(list(columns))
        shutil.rmtree(path)
        write_deltalake(path, rows, partition_by=list(TABLES[table].partition_by) or None)
        while DeltaTable(path).version() < version:
            write_deltalake(path, rows.slice(0, 0), mode="append")
