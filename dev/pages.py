"""The pages of docs that are written from code: `make docs` runs python -m dev.pages."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from pipelines.ingest.reasons import REASONS, SNAPSHOT_REASONS
from pipelines.report.findings import MEANINGS as SEVERITY_MEANINGS
from pipelines.server.snapshots.declaration import ViewColumn
from pipelines.server.snapshots.views import (
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
from pipelines.why.causes import CAUSES
from pipelines.why.causes.cause import MISCONFIGURED, ORDER, SEVERITIES
from schemas.dictionary import dictionary

DOCS = Path(__file__).parents[1] / "docs"

REASONS_INTRODUCTION = """\
## Reasons of rejected rows

Of events, column `reason` of [rejected_events](#rejected_events):"""

OF_SNAPSHOTS = """\
Rows of [snapshots](snapshots.md) have the first three and these:"""


def rejection_reasons() -> str:
    """Write the section about `rejected_events`: one line per reason, of events and then of snapshots."""
    return f"{REASONS_INTRODUCTION}\n\n{_list(REASONS)}\n\n{OF_SNAPSHOTS}\n\n{_list(SNAPSHOT_REASONS)}\n"


def _list(reasons: dict[str, str]) -> str:
    return "\n".join(f"- `{reason}`: {meaning}" for reason, meaning in reasons.items())


VIEWS_INTRODUCTION = """\
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
    """Write the section about the views of a server, from their declaration: one row per view."""
    rows = [f"| {_title(view)} | {_columns(view)} | {meaning} |" for view, meaning in MEANINGS.items()]
    return (
        f"{VIEWS_INTRODUCTION}\n\n" + "\n".join(["| view | columns | says |", "|---|---|---|", *rows]) + "\n"
    )


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


PREFACE = """# Findings

A finding says why messages of a queue, or of the transmission queue of an instance, wait. `nightly`,
`priorities why`, the [page](report.md) and the table `findings` name it by its code. Rule files have
[findings of their own](lint.md). Titles in quotes are those of pages of the vendor."""
ORDER_MEANING = "other messages go first. Only `priorities why` shows these."
EXISTING = "\nExisting conversations keep their level after any change of rules."


def findings_page() -> str:
    """Write the page of findings: each cause by its severity, in the words of its docstring."""
    return "\n\n".join([PREFACE, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    meanings = {**SEVERITY_MEANINGS, ORDER: ORDER_MEANING}
    for severity in SEVERITIES:
        meaning = meanings[severity]
        more = EXISTING if severity == MISCONFIGURED else ""
        yield f"## {severity.capitalize()}\n\n{meaning[0].upper()}{meaning[1:]}{more}"
        for cause in CAUSES:
            if cause.severity == severity:
                yield f"### {cause.code}\n\n{inspect.cleandoc(type(cause).__doc__ or '')}"


def pages() -> dict[str, str]:
    """Write all pages, by the names of their files."""
    return {
        "data-dictionary.md": "\n".join([dictionary(), rejection_reasons(), server_views()]),
        "findings.md": findings_page(),
    }


if __name__ == "__main__":
    for name, page in pages().items():
        (DOCS / name).write_text(page, encoding="utf-8")
