"""The summary of a run as plain values."""

from datetime import datetime
from typing import Any

from pyspark.sql import functions as F

from pipelines.changes.read import read_changes_before
from pipelines.config.load import Settings
from pipelines.storage.ages import Ages
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.why.report import Findings
from schemas.outputs import BATCHES

EVENT_COUNTS = ("events", "accepted", "duplicates", "rejected")
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
    counts = {row["source"]: {name: row[name] for name in EVENT_COUNTS} for row in count_events(warehouse)}
    return {
        "as_of": as_of,
        "verdict": findings.verdict,
        "findings": findings.told,
        "stale": ages.stale,
        "changes": read_changes_before(warehouse, settings, as_of),
        "counts": {source: {**of_source, "pending": 0} for source, of_source in counts.items()},
    }


def count_events(warehouse: Warehouse) -> list[Row]:
    """The rows that each input has brought so far: `source` and EVENT_COUNTS."""
    sums = [F.sum(name).alias(name) for name in EVENT_COUNTS]
    return collect_rows(warehouse.read(BATCHES).groupBy("source").agg(*sums).orderBy("source"))
