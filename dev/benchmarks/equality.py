"""Whether two implementations came to the same tables: every row, every column that both have."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from schemas.reading import as_of_key

ENDPOINT = (
    "conversation_id",
    "is_initiator",
    "instance",
    "database",
    "queue",
    "contract",
    "local_service",
    "remote_service",
    "conversation_handle",
    "conversation_group_id",
    "created_at",
    "ended_at",
    "priority",
    "rule_name",
    "ladder_step",
)
GROUP = (
    "instance",
    "database",
    "queue",
    "conversation_group_id",
    "priority",
    "deciding_conversation_id",
    "conversations",
    "messages",
    "oldest_arrival",
    "state",
    "position",
)
RECEIVE = (
    "instance",
    "database",
    "queue",
    "message_id",
    "position",
    "receive_number",
    "conversation_group_id",
    "group_priority",
    "conversation_id",
    "is_initiator",
    "conversation_handle",
    "contract",
    "local_service",
    "remote_service",
    "priority",
    "message_sequence_number",
    "message_type",
    "arrived_at",
    "queuing_order",
    "state",
    "held_since",
    "held_source",
)
TRANSMISSION = (
    "instance",
    "message_id",
    "position",
    "database",
    "destination_instance",
    "destination_database",
    "conversation_id",
    "sent_by_initiator",
    "from_service",
    "to_service",
    "contract",
    "message_sequence_number",
    "message_type",
    "size_bytes",
    "priority",
    "transmit_priority",
    "elevated",
    "forwarded",
    "block",
    "sendable_at",
    "waits_for",
    "waits_since",
    "waits_source",
)
COMPARED: Mapping[str, tuple[str, ...]] = {
    "endpoints": ENDPOINT,
    "group_priorities": GROUP,
    "receive_schedule": RECEIVE,
    "transmission_schedule": TRANSMISSION,
    "unresolved": ("kind", "id", "reason"),
    "rejected_events": ("source", "event_id", "reason"),
}
"""The public columns that are compared, by table; the spelling of a rejected row's payload is free."""

OF_AS_OF = ("group_priorities", "receive_schedule", "transmission_schedule", "unresolved")
"""Tables of which a warehouse holds the rows of many as_of."""

AT_ONCE = 10_000_000
"""Rows that are compared in one go, so that memory does not grow with the tables."""


class UnequalError(Exception):
    """The tables differ, so no figure counts; the message shows how."""


def require_equal(warehouse: Path, peer: Path, as_of: datetime, *, at_once: int = AT_ONCE) -> dict[str, int]:
    """Compare the tables of a warehouse with those of the peer.

    Args:
        warehouse: the pipeline's Delta tables; read by their Delta logs, with DuckDB.
        peer: the peer's folder of `<table>.parquet`.
        as_of: the instant that both describe.
        at_once: of a table with more rows than these, a part is compared after the other.

    Returns:
        Rows by table.

    Raises:
        UnequalError: rows are in one of the two only; the message counts them and shows a few.
    """
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    rows, problems = {}, []
    for table, columns in COMPARED.items():
        ours = _ours(warehouse / table, as_of if table in OF_AS_OF else None)
        theirs = f"read_parquet('{peer / table}.parquet')"
        names = ", ".join(f'"{name}"' for name in columns)
        rows[table] = _count(connection, f"FROM {theirs}")
        if ours is None:
            if rows[table]:
                problems.append(f"{table}: missing in {warehouse}")
            continue
        difference = (
            f"SELECT {names}, sum(side) AS ours FROM ("
            f"SELECT {names}, 1 AS side FROM {ours} UNION ALL SELECT {names}, -1 FROM {theirs}) "
            f"WHERE hash({names}) % $parts = $part GROUP BY {names} HAVING sum(side) != 0"
        )
        parts = 1 + rows[table] // at_once
        for part in range(parts):
            start = "INSERT INTO difference" if part else "CREATE OR REPLACE TEMP TABLE difference AS"
            connection.execute(f"{start} {difference}", {"parts": parts, "part": part})
        problems += _shown(connection, table)
    connection.close()
    if problems:
        raise UnequalError("\n".join(problems))
    return rows


def _ours(folder: Path, as_of: datetime | None) -> str | None:
    """A subquery over the files that a Delta table consists of now; None if there is no table."""
    if not DeltaTable.is_deltatable(str(folder)):
        return None
    added = pa.table(DeltaTable(str(folder)).get_add_actions(flatten=True)).to_pylist()
    files = [
        str(folder / unquote(file["path"]))
        for file in added
        if as_of is None or file["partition.as_of_key"] == as_of_key(as_of)
    ]
    if not files:
        return None
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    (row,) = connection.execute(f"SELECT count(*) {query}").fetchall()
    return int(row[0])


def _shown(connection: duckdb.DuckDBPyConnection, table: str) -> Iterator[str]:
    for side, condition in (("only the pipeline has", "ours > 0"), ("only the peer has", "ours < 0")):
        found = _count(connection, f"FROM difference WHERE {condition}")
        if found:
            some = connection.execute(f"FROM difference WHERE {condition} ORDER BY ALL LIMIT 3").fetchall()
            lines = "".join(f"\n    {row}" for row in some)
            yield f"{table}: {side} {found} rows, such as{lines}"
