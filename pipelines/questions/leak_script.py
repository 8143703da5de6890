"""A T-SQL script that ends conversations that leak; each statement checks again when it runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from pipelines.console.terminal import escape_line
from pipelines.ingest.snapshots.view_events import CLOSED
from pipelines.questions.leaks import ENDED_BY_SCRIPT, LIFETIME_OVER, UNACKNOWLEDGED
from pipelines.rules.tsql_script import quote_name, quote_queue

HEAD = """\
-- END CONVERSATION deletes the messages of a conversation that nobody has read.
-- So each statement ends a conversation only if its endpoint is still in the state that was seen, and no
-- message of it is in its queue. Read the script first, and run each part on its own server.
-- Statements behind -- end nothing. WITH CLEANUP tells the far side nothing and deletes what is not sent:
-- take off the -- only where the far side is gone for good.
"""
IN_A_BATCH = 100
"""Statements between two GO: a server compiles a batch as a whole."""
HANDLE = re.compile("[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
Row = Mapping[str, Any]


def script_lines(rows: Sequence[Row], schemas: Mapping[tuple[str, str, str], str]) -> Iterator[str]:
    """The lines of the script.

    Args:
        rows: `find_leaks` that are known to leak, by instance and database.
        schemas: `queue_schemas`.
    """
    yield HEAD
    for (instance, database), own in groupby(rows, key=itemgetter("instance", "database")):
        yield f"\n-- Server {escape_line(instance)}\nUSE {quote_name(database)};\nGO\n"
        for number, row in enumerate(own, 1):
            yield _statement(row, schemas)
            if number % IN_A_BATCH == 0:
                yield "GO\n"
        yield "GO\n"


def _statement(row: Row, schemas: Mapping[tuple[str, str, str], str]) -> str:
    """The statement of an endpoint, as a comment unless it may be ended."""
    handle, state, queue = (row[name] for name in ("conversation_handle", "state", "queue"))
    why = f"{state or 'state not known'}, {row['reason']}"
    if handle is None or not HANDLE.fullmatch(handle) or state is None:
        return f"-- {why}: look for conversation {escape_line(row['conversation_id'])} on the server\n"
    is_over = row["reason"] == LIFETIME_OVER
    of_endpoint = f"conversation_handle = '{handle}' AND state = '{state}'"
    expired = " AND lifetime < SYSUTCDATETIME()" if is_over else ""
    check = f"IF EXISTS (SELECT * FROM sys.conversation_endpoints WHERE {of_endpoint}{expired})"
    if queue is not None:
        name = quote_queue(queue, schemas.get((row["instance"], row["database"], queue)))
        check += f" AND NOT EXISTS (SELECT * FROM {name} WHERE conversation_handle = '{handle}')"
    cleanup = " WITH CLEANUP" if state in (UNACKNOWLEDGED, CLOSED) else ""
    is_safe = queue is not None and not cleanup and (state in ENDED_BY_SCRIPT or is_over)
    return f"{'' if is_safe else '-- '}{check} END CONVERSATION '{handle}'{cleanup}; -- {why}\n"
