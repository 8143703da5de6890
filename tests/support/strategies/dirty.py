"""Batches of raw rows with everything in them that ingest has to judge."""

from datetime import timedelta

from hypothesis import strategies as st

from .base import Batch, Row, one_of, seldom
from .logs import logs, split

CREATIONS = ("BEGIN_DIALOG", "DIALOG_CREATED")
DIRT = ("repeat", "conflict", "null", "unknown type", "contradiction", "other moment", "other day")


@st.composite
def dirty_batches(draw: st.DrawFn) -> list[Batch]:
    """One to three batches with exact duplicates, conflicts and invalid rows among the valid ones."""
    log = draw(logs())
    random = draw(st.randoms(use_true_random=True))
    batches = split(log.events, draw(st.integers(1, 3)), random)
    for _ in range(draw(st.integers(1, 10))):
        dirt = one_of(draw, DIRT)
        source = one_of(draw, [source for source, rows in log.events.items() if rows])
        clean = log.events[source]
        creations = [row for row in log.endpoint_events if row["event_type"] in CREATIONS]
        if dirt == "contradiction" and creations:
            source, clean = "endpoint_events", creations
        row = draw(_soiled(dirt, one_of(draw, clean)))
        rows = one_of(draw, batches)[source]
        rows.insert(draw(st.integers(0, len(rows))), row)
        if seldom(draw, 4):
            one_of(draw, batches)[source].append(dict(row))
    return batches


@st.composite
def _soiled(draw: st.DrawFn, dirt: str, row: Row) -> Row:
    """The row, soiled in one way; now and then under an id of its own, so that no other row stands by it."""
    row = dict(row)
    if seldom(draw, 3):
        row["event_id"] = "new"
    if dirt == "conflict":
        column = one_of(draw, [column for column, value in row.items() if isinstance(value, str | None)])
        if column not in ("event_id", "event_type"):
            row[column] = draw(_other_value(column))
    elif dirt == "null":
        row[one_of(draw, list(row))] = None
        if seldom(draw):
            row[one_of(draw, list(row))] = None
    elif dirt == "unknown type":
        row["event_type"] = one_of(draw, ("UNKNOWN", "sent", "BEGIN_DIALOG ", ""))
    elif dirt == "contradiction":
        for column in ("is_initiator", "sent_by_initiator", "has_where"):
            if column in row:
                row[column] = not row[column]
    elif dirt == "other moment":
        row["event_time"] += timedelta(microseconds=1)
    elif dirt == "other day":
        row["event_time"] += timedelta(days=1)
    return row


@st.composite
def _other_value(draw: st.DrawFn, column: str) -> object:
    """Another value of the column's type."""
    if column in ("session_id", "row_count", "size_bytes", "queuing_order", "message_sequence_number"):
        return 77
    if column == "logged_priority":
        return 7
    if column == "has_where":
        return draw(st.booleans())
    return one_of(draw, ("other", "Other"))
