"""The views of a busy server's database, as one export or capture shows them: made with DuckDB."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import duckdb

QUEUES, SERVICES, CONTRACTS = 100, 400, 20
ONE_IN_TRANSIT = 5
"""Of so many messages one waits to be sent; the others are ready in their queues."""
Format: TypeAlias = Literal["parquet", "csv", "capture"]
COMPLETE = ["conversation_endpoints", "transmission_queue", *(f"dbo.Queue{n:03d}" for n in range(QUEUES))]

SMALL_VIEWS = {
    "service_contracts": f"""
        SELECT n + 1 AS service_contract_id, format('Contract{{:03d}}', n) AS name
        FROM range({CONTRACTS}) t(n)""",
    "services": f"""
        SELECT n + 1 AS service_id, format('Service{{:03d}}', n) AS name, n % {QUEUES} + 1 AS service_queue_id
        FROM range({SERVICES}) t(n)""",
    "service_queues": f"""
        SELECT n + 1 AS object_id, format('Queue{{:03d}}', n) AS name,
               true AS is_receive_enabled, true AS is_enqueue_enabled
        FROM range({QUEUES}) t(n)""",
    "conversation_priorities": f"""
        SELECT format('Rule{{:03d}}', n) AS name, n % {CONTRACTS} + 1 AS service_contract_id,
               n + 1 AS local_service_id, NULL::VARCHAR AS remote_service_name, n % 10 + 1 AS priority
        FROM range({SERVICES}) t(n)""",
}

# Both ends of a conversation live in the database; the initiator's service is an even one.
ENDPOINTS = f"""
    CREATE TABLE endpoints AS
    SELECT c, side, 2 * (c % {SERVICES // 2}) + side AS service, c % {CONTRACTS} AS contract,
           format('{{:08X}}-0000-0000-0000-{{:012X}}', side, c) AS handle,
           format('{{:08X}}-FFFF-0000-0000-{{:012X}}', hash(c) % 4294967296, c) AS conversation
    FROM range($1) t(c), range(2) s(side)
"""
SHOWN = f"""
    SELECT handle AS conversation_handle, conversation AS conversation_id, side = 0 AS is_initiator,
           contract + 1 AS service_contract_id, handle AS conversation_group_id, service + 1 AS service_id,
           TIMESTAMP '2094-12-09 03:14:07' + to_microseconds(c * 1000) AS lifetime, 'CO' AS state,
           format('Service{{:03d}}', CASE side WHEN 0 THEN service + 1 ELSE service - 1 END) AS far_service,
           CASE WHEN service % {CONTRACTS} = contract THEN service % 10 + 1 ELSE 5 END AS priority
    FROM endpoints
"""
# Each conversation has one message at most until there are more messages than conversations.
MESSAGES = f"""
    CREATE TABLE messages AS
    SELECT n, n % $1 AS c, n // $1 AS number, n % {ONE_IN_TRANSIT} = 0 AS waits,
           TIMESTAMP '2026-11-20 00:00:00' + to_microseconds(n * 7) AS came
    FROM range($2) t(n)
"""
IN_TRANSIT = """
    SELECT came AS enqueue_time, handle AS conversation_handle, number AS message_sequence_number,
           'Order' AS message_type_name, false AS is_conversation_error, false AS is_end_of_dialog,
           '' AS transmission_status, 400 AS size_bytes
    FROM messages JOIN endpoints USING (c) WHERE waits AND side = 0
"""
READY = f"""
    SELECT 1 AS status, 5 AS priority, n AS queuing_order, handle AS conversation_group_id,
           handle AS conversation_handle, number AS message_sequence_number, 'Order' AS message_type_name,
           came AS message_enqueue_time, 400 AS size_bytes
    FROM messages JOIN endpoints USING (c) WHERE NOT waits AND side = 1 AND service % {QUEUES} = $1
"""


def snapshot_of(views: Path, taken_at: datetime, format: Format = "parquet") -> dict[str, Any]:
    """The snapshot in the words of the settings."""
    if format == "capture":
        return {"path": str(views)}
    return {
        "path": str(views),
        "instance": "SQL01",
        "database": "Orders",
        "taken_at": taken_at.isoformat(),
        "format": format,
        "complete": COMPLETE,
    }


def make_views(
    endpoints: int, messages: int, folder: Path, format: Literal["parquet", "csv"] = "parquet"
) -> Path:
    """Write the views, a file each.

    Args:
        endpoints: rows of conversation_endpoints, both ends of each conversation among them.
        messages: rows of transmission_queue and of the queues.
        folder: where; what is in it goes.
        format: of the files.

    Returns:
        The folder.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with open_server(endpoints, messages) as database:
        for view, query in list_views():
            rows, path = database.sql(query), str(folder / f"{view}.{format}")
            if format == "csv":
                rows.write_csv(path)
            else:
                rows.write_parquet(path)
    return folder


@contextmanager
def open_server(endpoints: int, messages: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that has the tables of `list_views`; its arguments are those of `make_views`."""
    conversations = endpoints // 2
    with duckdb.connect() as database:
        database.execute(ENDPOINTS, [conversations])
        database.execute(MESSAGES, [conversations, messages])
        yield database


def list_views() -> Iterator[tuple[str, str]]:
    """The views, in the order in which the capture script reads them, with a query for their rows."""
    yield "transmission_queue", IN_TRANSIT
    for number in range(QUEUES):
        yield f"dbo.Queue{number:03d}", READY.replace("$1", str(number))
    yield "conversation_endpoints", SHOWN
    yield from SMALL_VIEWS.items()
