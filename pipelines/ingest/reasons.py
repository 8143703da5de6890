"""Why a row cannot be an event."""

import re
from datetime import date
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.instants import END, FIRST
from pipelines.storage.pruned_days import start_of
from schemas import EventContract

BROKEN_ROW = "broken_row"
LINE_TOO_LONG = "line_too_long"
UNKNOWN_EVENT_TYPE = "unknown_event_type"
CONTRADICTS_TYPE = "is_initiator_contradicts_event_type"
OUT_OF_RANGE = "event_time_out_of_range"
DAY_PRUNED = "day_pruned"
NO_TIME = "time_does_not_exist"
HANDLE_UNKNOWN = "handle_unknown"
NO_OUTCOME = "no_outcome"
CONFLICTING_DUPLICATE = "conflicting_duplicate"

REASONS = {
    BROKEN_ROW: "not one JSON object; a CSV row of another width than its header, or without a line end at "
    "the file's end; text that is not UTF-8 or has a NUL",
    LINE_TOO_LONG: "more bytes than `quality.max_line_bytes`",
    "unreadable_<column>": "the text does not have the column's type, or a snapshot's time is before 1900 or "
    "after 9998",
    "missing_<column>": "null where the event type needs a value",
    UNKNOWN_EVENT_TYPE: "none of the input's event types",
    CONTRADICTS_TYPE: "BEGIN_DIALOG of a target, or DIALOG_CREATED of an initiator",
    OUT_OF_RANGE: "before 1900 or after 9998",
    DAY_PRUNED: "before the first day that [`maintain --keep-event-days`](operations.md#prune-closed-days) "
    "has left",
    NO_TIME: "a local time that the clocks of the source's [zone](exporting.md#your-own-tables) never show",
    HANDLE_UNKNOWN: "no endpoint has had the row's handle [for 31 days](exporting.md#handles)",
    NO_OUTCOME: "for 31 days a [trace](exporting.md#traces) has not said how the row's transaction ended",
    CONFLICTING_DUPLICATE: "an event of the same UTC day and `event_id` [has other "
    "content](operations.md#duplicates)",
}
"""Every reason of events in `rejected_events`, with its line in the data dictionary."""
SNAPSHOT_REASONS = {
    "repeated_handle": "conversation_endpoints has the handle twice, in different rows; none of them counts",
    "unknown_contract": "the snapshot's own view of contracts lacks the id",
    "unknown_service": "the snapshot's own view of services lacks the id",
    "unknown_queue": "the snapshot's own view of queues lacks the id",
    "unknown_state": "none of SO, SI, CO, ER, DI, DO, CD",
    "priority_out_of_range": "not 1 to 10",
}
"""Further reasons of rows of snapshots, with their lines in the data dictionary."""
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
"""A link of the data dictionary."""
OF_COLUMN = "<column>"


def explain_reason(reason: str) -> str | None:
    """Say in plain text what a reason means; None if this version does not have it."""
    meanings = REASONS | SNAPSHOT_REASONS
    for name, meaning in meanings.items():
        if reason == name or (OF_COLUMN in name and reason.startswith(name.removesuffix(OF_COLUMN))):
            return LINK.sub(r"\1", meaning).replace("`", "")
    return None


def with_reasons(
    rows: DataFrame, contract: EventContract, *, first_day: date | None = None, is_mapped: bool = False
) -> DataFrame:
    """Add the reasons why a row cannot be an event of this contract.

    Args:
        rows: rows of `pipelines.storage.inputs.read`; one row per row of the input.
        contract: the input's contract.
        first_day: events before this UTC day are rejected; null if no day was pruned.
        is_mapped: whether these are mapped rows, which have `time_note`.

    Returns:
        The rows, with `reasons`: joined by commas, in the order of `REASONS` and then of the columns; null
        where the row is an event. `broken` and `unreadable` are dropped.
    """
    verdicts = _verdicts(contract, first_day)
    if is_mapped:
        verdicts[NO_TIME] = F.col("time_note") == NO_TIME
        verdicts["missing_event_time"] &= ~verdicts[NO_TIME].eqNullSafe(True)
    unreadable = F.concat(F.lit("unreadable_"), F.replace("unreadable", F.lit(","), F.lit(",unreadable_")))
    # Nearly all rows are events; for them, no texts are concatenated.
    is_rejected = reduce(or_, verdicts.values(), F.col("unreadable").isNotNull())
    named = [F.when(verdict, F.lit(reason)) for reason, verdict in verdicts.items()]
    reasons = F.when(F.col("broken"), F.lit(BROKEN_ROW)).when(
        is_rejected, F.concat_ws(",", unreadable, *named)
    )
    return rows.withColumn("reasons", reasons).drop("broken", "unreadable")


def _verdicts(contract: EventContract, first_day: date | None) -> dict[str, Column]:
    """By reason, whether the row has it; false or null if it does not."""
    event_type, event_time = F.col("event_type"), F.col("event_time")
    verdicts = {}
    for column in contract.columns:
        types = [type for type, names in contract.required_for.items() if column.name in names]
        if column.nullable and not types:
            continue
        needed = F.lit(True) if not column.nullable else event_type.isin(types)
        missing = needed & F.col(column.name).isNull() & ~_is_unreadable(column.name)
        verdicts[f"missing_{column.name}"] = missing
    verdicts[UNKNOWN_EVENT_TYPE] = ~event_type.isin(*contract.event_types)
    if "is_initiator" in contract.names:
        verdicts[CONTRADICTS_TYPE] = ((event_type == "BEGIN_DIALOG") & ~F.col("is_initiator")) | (
            (event_type == "DIALOG_CREATED") & F.col("is_initiator")
        )
    first = F.lit(FIRST)
    verdicts[OUT_OF_RANGE] = (event_time < first) | (event_time >= F.lit(END))
    if first_day is not None:
        # Whether it repeats an event can't be known: that may have been deleted.
        verdicts[DAY_PRUNED] = (event_time >= first) & (event_time < F.lit(start_of(first_day)))
    return verdicts


def _is_unreadable(name: str) -> Column:
    names = F.concat(F.lit(","), "unreadable", F.lit(","))
    return F.contains(names, F.lit(f",{name},")).eqNullSafe(True)
