"""Rejected rows by input and reason, with some of each."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pyspark.sql import functions as F

from pipelines.engine.concurrency import run_concurrently
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import REJECTED_EVENTS

REJECTED_COLUMNS = ("source", "reason", "events")
SAMPLE_COLUMNS = ("event_id", "payload")


def report_rejected(warehouse: Warehouse, *, limit: int) -> list[dict[str, Any]]:
    """Count the rows of `rejected_events` by input and reason; nothing is written.

    Args:
        warehouse: the tables.
        limit: samples of each reason at most, by event_id and payload.

    Returns:
        source, reason, events and samples (event_id, payload), most events first, then by source and reason.
    """
    rejected = warehouse.read(REJECTED_EVENTS)
    found = collect_rows(rejected.groupBy("source", "reason").agg(F.count(F.lit(1)).alias("events")))
    found.sort(key=lambda row: (-row["events"], row["source"], row["reason"]))

    def samples(row: Mapping[str, Any]) -> list[dict[str, Any]]:
        rows = rejected.where((F.col("source") == row["source"]) & (F.col("reason") == row["reason"]))
        return collect_rows(rows.select(*SAMPLE_COLUMNS).orderBy(*SAMPLE_COLUMNS).limit(limit))

    # There are a few dozen reasons at most.
    taken = run_concurrently(warehouse.spark, *[partial(samples, row) for row in found])
    return [
        {**{name: row[name] for name in REJECTED_COLUMNS}, "samples": some}
        for row, some in zip(found, taken, strict=True)
    ]
