"""The section of the data dictionary about the views of a server, from their declaration.

`make docs` appends it: python -m dev.server_views >> docs/data-dictionary.md
"""

import sys

from pipelines.config.snapshots.declaration import ViewColumn
from pipelines.config.snapshots.views import (
    CONTRACTS,
    DATABASES,
    ENDPOINTS,
    MONITORS,
    PRIORITIES,
    QUEUE,
    QUEUES,
    SERVICES,
    TASKS,
    TRANSMISSION,
    columns_in_files,
)

INTRODUCTION = """\
## Views of a server

The columns of [captures](snapshots.md#captures) and [views by hand](snapshots.md#views-by-hand). `?` marks a
column that a view may lack."""

MEANINGS = {
    ENDPOINTS: "an endpoint exists, with group and priority. State DO or CD: ended; DI: the far side ended; "
    "SO, SI, CO, ER: open",
    QUEUE: "status 1: a message is ready",
    TRANSMISSION: "a message waits to be sent; whose it is, also where its endpoint is gone",
    SERVICES: "names and bindings",
    CONTRACTS: "names",
    QUEUES: "queues; on if both are enabled",
    PRIORITIES: "the rules from taken_at on",
    DATABASES: "whether priorities count for sending, whether Service Broker is on, and which broker it is",
    MONITORS: "the [queue monitor](activation.md)",
    TASKS: "running readers",
}
"""What the rows of each view say, in the order of the page."""


def server_views() -> str:
    """Write the section: one row per view."""
    rows = [f"| {_title(view)} | {_columns(view)} | {meaning} |" for view, meaning in MEANINGS.items()]
    return f"{INTRODUCTION}\n\n" + "\n".join(["| view | columns | says |", "|---|---|---|", *rows]) + "\n"


def _title(view: str) -> str:
    return "a queue, named schema.queue" if view == QUEUE else f"`{view}`"


def _columns(view: str) -> str:
    columns = columns_in_files(view)
    by_name = {column.name: column for column in columns}
    return ", ".join(_describe(column, by_name) for column in columns if column.is_selected)


def _describe(column: ViewColumn, by_name: dict[str, ViewColumn]) -> str:
    """Write a column, the view that names its ids, and the columns that may replace it."""
    instead = by_name[column.instead] if column.instead else None
    others = [*column.also, *((instead.name, *instead.also) if instead else ())]
    notes = [f"names in `{column.names}`"] if column.names else []
    notes += [f"or `{name}`" for name in others]
    return f"`{column.name}{'?' if column.may_lack else ''}`" + (f" ({', '.join(notes)})" if notes else "")


if __name__ == "__main__":
    # Bytes, so that no locale decides about the page's encoding.
    sys.stdout.buffer.write(server_views().encode("utf-8"))
