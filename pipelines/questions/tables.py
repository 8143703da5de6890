"""The tables of the questions, for console and page."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pipelines.blocks.tables import (
    DATABASE,
    FACT_COLUMNS,
    KIND_COLUMNS,
    Column,
    Row,
    Table,
    age_column,
    column,
    place_column,
    second_column,
)
from pipelines.ingest.reasons import explain_reason
from pipelines.questions.open_messages import RECEIVE, Schedule

BY_COLUMNS = {
    "instance": column("Instance", "name", "instance"),
    "database": column("Database", "name", "database"),
    "queue": column("Queue", "name", "queue"),
    **dict(zip(("contract", "local_service", "remote_service"), KIND_COLUMNS, strict=True)),
    "level": column("Level", "level", "level"),
}
"""What messages are counted by."""
OVERTAKEN_TITLES = {
    "receive": "Messages that later ones are received before",
    "transmission": "Messages that later ones are sent before",
}
KIND_TITLES = {
    "receive": "Messages in queues by contract and services",
    "transmission": "Messages that wait to be sent, by contract and services",
}


def _rule(row: Row) -> str:
    if row["rule_name"] is not None:
        return str(row["rule_name"])
    return "level of the server" if row["level"] is None else "default, no rule matched"


def _candidates(row: Row) -> str | None:
    return ", ".join(f"{each['level']}: {each['rule_name']}" for each in row["candidates"]) or None


def _remark(row: Row) -> str | None:
    if row["rule_name"] is None:
        return None
    remarks = ["not in the history"] if row["valid_from"] is None else []
    return ", ".join([*remarks, *([] if row["endpoints"] else ["unused"])]) or None


RULES = Table(
    "rules",
    "Rules and what they decide",
    [
        Column("Rule", "name", _rule, ("rule_name", "level"), remark=_remark),
        DATABASE,
        column("Level", "level", "level"),
        Column(
            "Valid from",
            "moment",
            lambda row: None if row["first_seen"] else row["valid_from"],
            ("valid_from", "first_seen"),
        ),
        # Only a snapshot shows these rules; they may be older.
        Column("First seen at", "moment", lambda row: row["valid_from"] if row["first_seen"] else None),
        column("Endpoints", "count", "endpoints"),
        column("Conversations", "count", "conversations", is_detail=True),
        column("Messages of the night", "count", "messages"),
        column("Open messages", "count", "open_messages"),
        second_column("Last used", "last_use"),
        Column("Candidates", "name", _candidates, ("candidates",), is_detail=True),
    ],
    first="first rule versions by database and name",
)
COMPARED = [
    DATABASE,
    column("Taken at", "moment", "taken_at"),
    column("What", "word", "what"),
    column("Name", "name", "name"),
    column("On the server", "text", "server"),
    column("Here", "text", "here"),
]
DIFFERENCES = {
    "changes": Table(
        "changes",
        "Changes between snapshots",
        [
            *FACT_COLUMNS,
            column("Snapshot before", "moment", "before"),
            column("At", "moment", "at"),
            column("Old", "text", "old"),
            column("New", "text", "new"),
        ],
    ),
    "rules": Table("rule-differences", "Rules that differ", COMPARED),
    "catalog": Table("catalog-differences", "Catalog entries that differ", COMPARED),
    "levels": Table(
        "level-differences",
        "Levels that differ",
        [
            DATABASE,
            *KIND_COLUMNS,
            column("Level from", "word", "level_source"),
            column("Server's level", "level", "server"),
            column("Our level", "level", "here"),
            column("Endpoints", "count", "endpoints"),
        ],
    ),
}
"""The tables of differences, by their keys in the answer."""
INPUTS = Table(
    "inputs",
    "Events so far",
    [
        column("Input", "name", "source"),
        column("Events", "count", "events"),
        column("Accepted", "count", "accepted"),
        column("Duplicates", "count", "duplicates"),
        column("Rejected", "count", "rejected"),
        Column("Pending", "count", lambda row: row.get("pending") or None),
    ],
)


def make_leaking_table(as_of: datetime) -> Table:
    """Make the table of single endpoints that leak, the oldest first."""
    return Table(
        "leaking",
        "The oldest of them",
        [
            age_column("Age", "created_at", as_of),
            column("Created by", "name", "created_by"),
            column("State", "name", "state"),
            column("Why", "word", "reason"),
            second_column("Since", "since"),
            place_column("Service", ("instance", "database", "local_service")),
            column("Contract", "name", "contract"),
            column("Handle", "id", "conversation_handle"),
            second_column("Last traffic", "last_traffic"),
        ],
    )


def _with_remark(base: Column, key: str, remark: Callable[[Row], str | None]) -> Column:
    """Return a column with a remark that another column of the rows decides."""
    return replace(base, keys=(key, *base.keys), remark=remark)


def _raised(row: Row) -> str | None:
    return f"raised from {row['priority']}" if row["elevated"] else None


def _forwarded(row: Row) -> str | None:
    return "only forwarded" if row["forwarded"] else None


def _block(row: Row) -> str | None:
    return None if row["block"] is None else f"block {row['block']}"


def _to_service(row: Row) -> tuple[Any, ...]:
    """Return the service with its instance and database, or alone where several could have it."""
    return (row["to_service"],) if row.get("destination_of") else tuple(row[key] for key in TO_SERVICE)


def _destinations(row: Row) -> str | None:
    """Say which databases could be the destination, if there are several."""
    return f"in {row['destination_of']}" if row.get("destination_of") else None


TO_SERVICE = ("destination_instance", "destination_database", "to_service")
SENT = Table(
    "sent",
    "Sent next",
    [
        _with_remark(column("Position", "level", "position"), "block", _block),
        _with_remark(column("Level that counts", "level", "transmit_priority"), "elevated", _raised),
        column("Level shown", "level", "priority", is_detail=True),
        column("Sendable since", "moment", "sendable_at"),
        column("Contract", "name", "contract"),
        _with_remark(column("From service", "name", "from_service"), "forwarded", _forwarded),
        column("From database", "name", "database", is_detail=True),
        Column("To service", "place", _to_service, TO_SERVICE, remark=_destinations),
        column("Message type", "name", "message_type"),
        column("Number", "level", "message_sequence_number"),
        column("Conversation", "id", "conversation_id", is_detail=True),
        column("Message", "id", "message_id"),
        column("The server says", "text", "why_still_here", is_detail=True),
    ],
)
RECEIVED = Table(
    "received",
    "Received next",
    [
        column("Position", "text", "position"),
        column("What", "text", "what"),
        column("Level", "level", "level"),
        *KIND_COLUMNS,
        column("Arrived", "moment", "arrived_at"),
        column("Id", "id", "id"),
    ],
    is_tree=True,
    is_last=lambda row: bool(row["is_last"]),
)
"""What RECEIVEs return: groups, below them conversations, below these messages."""
REJECTED = Table(
    "rejected",
    "Why rows were rejected, so far",
    [
        column("Reason", "name", "reason"),
        column("Input", "name", "source"),
        column("Rows", "count", "events"),
        Column("Meaning", "text", lambda row: explain_reason(row["reason"]), ("reason",)),
        Column("Last met by a run of", "moment", lambda row: row.get("last_seen"), ("last_seen",)),
    ],
    first="most frequent reasons",
    note="A row with several reasons counts at each.",
)
SAMPLES = Table(
    "samples",
    "Samples",
    [column("Event", "text", "event_id"), column("Payload", "text", "payload")],
)


def make_leak_table(as_of: datetime) -> Table:
    """Make the table of leaks by names, state and reason."""
    return Table(
        "leaks",
        "Conversations that are never ended",
        [
            place_column("Service", ("instance", "database", "local_service")),
            column("Contract", "name", "contract"),
            column("Far service", "name", "remote_service"),
            column("State", "name", "state"),
            column("Why", "word", "reason"),
            # The page does not group names, so it knows neither.
            Column("Maker", "text", lambda row: row.get("maker")),
            Column("Names", "count", lambda row: row.get("names")),
            column("Endpoints", "count", "endpoints"),
            column("A day", "count", "a_day"),
            age_column("Age of the oldest", "oldest", as_of),
        ],
        first="oldest kinds",
    )


def wait_columns(as_of: datetime) -> list[Column]:
    """Make the columns about messages that wait."""
    return [
        column("Messages", "count", "messages"),
        age_column("Oldest waits", "oldest", as_of),
        column("Median wait", "duration", "median_seconds"),
        column("95% below", "duration", "p95_seconds"),
    ]


def make_wait_table(kind: Schedule, by: Sequence[str], as_of: datetime) -> Table:
    """Make the table of what waits: by its queue or instance and its level, or by these columns."""
    of = [name for name in by if kind is RECEIVE or name != "queue"]
    counted = [BY_COLUMNS[name] for name in of] or [
        _place_of(kind),
        column("Level", "level", kind.level),
    ]
    title = f"Waiting for {kind.name}{' by ' if of else ''}{', '.join(of)}, the longest first"
    return Table(f"{kind.name}-waiting", title, [*counted, *wait_columns(as_of)])


def make_kind_table(kind: Schedule, as_of: datetime) -> Table:
    """Make the table of what waits by contract and services."""
    return Table(
        f"{kind.name}-kinds",
        KIND_TITLES[kind.name],
        [*KIND_COLUMNS, *wait_columns(as_of)],
        first="kinds with the most messages",
    )


def make_overtaken_table(kind: Schedule) -> Table:
    """Make the table of messages that later ones go before."""
    return Table(
        f"{kind.name}-overtaken",
        OVERTAKEN_TITLES[kind.name],
        [
            _place_of(kind),
            *KIND_COLUMNS,
            column("Later ones before it", "count", "passed_by"),
            column("Position", "count", "position"),
            column("Waits since", "moment", "since"),
            column("Message", "id", "message_id"),
        ],
        first="most overtaken messages (at most ten of each)",
    )


def _place_of(kind: Schedule) -> Column:
    return place_column("Queue") if kind is RECEIVE else BY_COLUMNS["instance"]
