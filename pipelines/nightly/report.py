"""The summary of a run as plain values."""

from datetime import datetime
from operator import itemgetter
from typing import Any

from pipelines.changes.read import read_changes_before
from pipelines.config.load import Settings
from pipelines.storage.ages import Ages
from pipelines.storage.batches import EVENT_COUNTS, read_completed_batches
from pipelines.storage.warehouse import Warehouse
from pipelines.why.report import Findings

Row = dict[str, Any]


def report_night(
    warehouse: Warehouse, settings: Settings, as_of: datetime, findings: Findings, ages: Ages
) -> Row:
    """Report a published as_of as `nightly --format json` prints it.

    Args:
        warehouse: the tables.
        settings: those at as_of.
        as_of: the instant.
        findings: of its run, all of them told.
        ages: of its run.

    Returns:
        `as_of`, `verdict`, `findings` as `report_why` has them, `stale` (`Ages.stale`), `changes`
        (`read_changes_before`), and `counts`: by source `events`, `accepted`, `duplicates`, `rejected` and
        `pending`.
    """
    return {
        "as_of": as_of,
        "verdict": findings.verdict,
        "findings": findings.told,
        "stale": ages.stale,
        "changes": read_changes_before(warehouse, settings, as_of),
        "counts": count_events(warehouse),
    }


def count_events(warehouse: Warehouse) -> dict[str, dict[str, int]]:
    """The rows that each input has brought so far, by source: EVENT_COUNTS, and those still `pending`.

    A pending row is read again by each batch, and counts once.
    """
    found: dict[str, dict[str, int]] = {}
    for row in sorted(read_completed_batches(warehouse).batches, key=itemgetter("source", "batch")):
        counts = found.setdefault(row["source"], dict.fromkeys((*EVENT_COUNTS, "pending"), 0))
        for name in EVENT_COUNTS:
            counts[name] += row[name]
        counts["events"] -= counts["pending"]
        counts["pending"] = row["pending"] or 0
    return found
