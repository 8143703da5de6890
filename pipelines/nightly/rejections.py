"""The most frequent reason of rejected rows, with file and line of one of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import functions as F

from pipelines.config.errors import InputError
from pipelines.config.instants import format_instant
from pipelines.console.invocation import command_line
from pipelines.ingest.reasons import (
    CONFLICTING_DUPLICATE,
    CONTRADICTS_TYPE,
    DAY_PRUNED,
    OUT_OF_RANGE,
    UNKNOWN_EVENT_TYPE,
)
from pipelines.settings.load import Settings
from pipelines.storage.batches import SNAPSHOTS, CompletedBatches
from pipelines.storage.collect import collect_rows
from pipelines.storage.inputs.row_locations import locate
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import FILES, REJECTED_EVENTS

SAMPLES = 100
"""Rejected rows that are searched in the files; the first one found is named."""
LONGEST_VALUE = 60
COLUMNS = {
    UNKNOWN_EVENT_TYPE: "event_type",
    CONTRADICTS_TYPE: "is_initiator",
    OUT_OF_RANGE: "event_time",
    DAY_PRUNED: "event_time",
    CONFLICTING_DUPLICATE: "event_id",
    "repeated_handle": "conversation_handle",
    "unknown_contract": "service_contract_id",
    "unknown_service": "service_id",
    "unknown_queue": "queue_id",
    "unknown_state": "state",
    "priority_out_of_range": "priority",
}
"""The column of a reason, if the reason's name does not contain it."""


def name_most_frequent(
    warehouse: Warehouse, settings: Settings, *, since: datetime | None, after_batch: int
) -> str:
    """Name the most frequent reason of rejected rows, with column, file, line and value of one of them.

    Args:
        warehouse: the tables.
        settings: the inputs and the snapshots.
        since: only rows rejected at this moment or later count; null means all.
        after_batch: only files of later batches are searched.

    Returns:
        Text that follows `most often`, without unknown parts; empty without any row.
    """
    rejected = warehouse.read(REJECTED_EVENTS)
    if since is not None:
        rejected = rejected.where(F.col("first_seen") >= F.lit(since))
    by_reason = collect_rows(rejected.groupBy("source", "reason").agg(F.count(F.lit(1)).alias("rows")))
    if not by_reason:
        return ""
    top = min(by_reason, key=lambda row: (-row["rows"], row["source"], row["reason"]))
    source, reason = top["source"], top["reason"]
    of_reason = rejected.where((F.col("source") == source) & (F.col("reason") == reason))
    samples = collect_rows(
        of_reason.select("event_id", "payload").orderBy("event_id", "payload").limit(SAMPLES)
    )
    if source == SNAPSHOTS:
        paths, format = _views(settings, str(samples[0]["event_id"]))
        samples = [row for row in samples if row["event_id"] == samples[0]["event_id"]]
    else:
        paths, format = _files(warehouse, settings, source, after_batch)
    payloads = [_parse(row["payload"]) for row in samples]
    found = locate(paths, format, payloads)
    location = f"{found.path}:{found.line}" if found else paths[0] if len(paths) == 1 else source
    return f"{reason}, as in {location}{_value(reason, payloads[found.number if found else 0])}"


def _value(reason: str, payload: Mapping[str, Any]) -> str:
    """The column of the reason, and its value."""
    column = COLUMNS.get(reason) or reason.partition("_")[2]
    if reason.startswith("missing_"):
        return f": {column} is null"
    if column not in payload:
        return ""
    text = str(payload[column])
    short = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
    return f": {column} is {short!r}"


def _parse(payload: str) -> dict[str, Any]:
    try:
        found = json.loads(payload)
    except ValueError:  # Older versions stored whole lines.
        return {}
    return found if isinstance(found, dict) else {}


def _files(
    warehouse: Warehouse, settings: Settings, source: str, after_batch: int
) -> tuple[Sequence[str], str]:
    """The files of an input that later batches read, in their order, and their format."""
    source_settings = settings.inputs.by_name().get(source)
    rows = collect_rows(
        warehouse.read(FILES).where((F.col("source") == source) & (F.col("batch") > after_batch))
    )
    paths = sorted({row["path"] for row in rows})
    return paths, source_settings.format if source_settings else ""


def _views(settings: Settings, event_id: str) -> tuple[Sequence[str], str]:
    """The file of a view, and its format; the id is that of rejected rows of snapshots."""
    for each in settings.snapshots:
        # The id has whole seconds.
        prefix = "/".join([*each.database_key, format_instant(each.taken_at.replace(microsecond=0)), ""])
        file = each.files.get(event_id.removeprefix(prefix))
        if event_id.startswith(prefix) and file is not None:
            return [file.path], file.format
    return [], ""


def require_good_input(
    warehouse: Warehouse,
    settings: Settings,
    completed: CompletedBatches,
    published: Sequence[Mapping[str, Any]],
) -> None:
    """Check the rows of all batches that no published run covers; see `require_quality`."""
    after = max((run["last_batch"] or 0 for run in published), default=0)
    counts: dict[str, tuple[int, int]] = {}
    for row in completed.batches:
        if row["batch"] > after:
            events, rejected = counts.get(row["source"], (0, 0))
            counts[row["source"]] = (
                events + row["events"] - (row["pending"] or 0),
                rejected + row["rejected"],
            )
    last = max((run["finished_at"] for run in published), default=None)
    require_quality(
        counts,
        max_rejected_share=settings.quality.max_rejected_share,
        most_frequent=partial(name_most_frequent, warehouse, settings, since=last, after_batch=after),
    )


def require_quality(
    counts: Mapping[str, tuple[int, int]], *, max_rejected_share: float, most_frequent: Callable[[], str]
) -> None:
    """Refuse to publish if too many rows were rejected.

    Args:
        counts: (rows read, rows rejected) by input.
        max_rejected_share: the greatest share that passes, 0 to 1 (`quality.max_rejected_share`).
        most_frequent: names the most frequent reason, with one row; empty if unknown.

    Raises:
        InputError: the share over all inputs is greater.
    """
    events, rejected = (sum(count[index] for count in counts.values()) for index in (0, 1))
    if rejected <= max_rejected_share * events:
        return
    each = ", ".join(f"{source} {bad} of {all}" for source, (all, bad) in sorted(counts.items()) if bad)
    example = most_frequent()
    often = f"; most often {example}" if example else ""
    raise InputError(
        f"{rejected} of {events} rows were rejected ({each}), more than quality.max_rejected_share = "
        f"{max_rejected_share} allows{often}. Correct the rows and add "
        f"them in new files, or allow more; {command_line('rejected')} lists all reasons"
    )
