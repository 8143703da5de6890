"""The completed batches, from the table `batches`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.events import table_of
from schemas.outputs import BATCHES
from schemas.table import Table

SNAPSHOTS = "snapshots"
"""What all snapshots are called in `batches` and `rejected_events`."""
EVENT_COUNTS = ("events", "accepted", "duplicates", "rejected")
"""What a batch has counted of each input, beside `pending`."""
SMALL_LEDGER = 500_000
"""Accepted events up to which Spark runs a night faster with the settings for small jobs."""


@dataclass(frozen=True)
class CompletedBatches:
    """The completed batches.

    Attributes:
        batches: the rows of `batches`, in no order; they are few.
    """

    batches: Sequence[Mapping[str, Any]]

    @property
    def batch(self) -> int:
        """The number of the last batch; 0 without any."""
        return max((row["batch"] for row in self.batches), default=0)

    @property
    def events(self) -> int:
        """The number of accepted events."""
        return sum(row["accepted"] for row in self.batches)

    @property
    def has_queue_events(self) -> bool:
        """Whether any queue event was ever accepted; without any, every RECEIVED counts as committed."""
        return any(table_of(row["source"]) == "queue_events" and row["accepted"] for row in self.batches)

    @property
    def newest(self) -> datetime | None:
        """The newest moment of the log; null if no event was ever accepted."""
        moment: datetime | None = self._from_last("newest")
        return moment

    @property
    def newest_event(self) -> datetime | None:
        """The time of the newest accepted event; null without any.

        Batches of older versions say only what `newest` is, which leaves out clocks that are far ahead.
        """
        of_events = (
            row["newest_data"] or row["newest"]
            for row in self.batches
            if row["accepted"] and not (row["source"] == SNAPSHOTS and row["newest_data"])
        )
        return max(filter(None, of_events), default=None)

    @property
    def newest_snapshot(self) -> datetime | None:
        """The newest taken_at; null without any snapshot, or if only batches of older versions took some."""
        of_snapshots = (row["newest_data"] for row in self.batches if row["source"] == SNAPSHOTS)
        return max(filter(None, of_snapshots), default=None)

    @property
    def has_newest_data(self) -> bool:
        """Whether every batch says how far its data goes; those of older versions do not."""
        return all(row["newest_data"] for row in self.batches if row["accepted"])

    @property
    def has_snapshots(self) -> bool:
        """Whether a snapshot was ever taken."""
        return any(row["source"] == SNAPSHOTS for row in self.batches)

    @property
    def bindings(self) -> str | None:
        """The fingerprint of the catalog that the last batch used."""
        fingerprint: str | None = self._from_last("bindings")
        return fingerprint

    @property
    def is_small(self) -> bool:
        """Whether the ledger is small."""
        return self.events <= SMALL_LEDGER

    def _from_last(self, name: str) -> Any:
        last = self.batch
        return next((row[name] for row in self.batches if row["batch"] == last), None)


def read_completed_batches(warehouse: Warehouse) -> CompletedBatches:
    """Read `batches`."""
    return CompletedBatches(collect_rows(warehouse.read(BATCHES)))


def replace_batch(warehouse: Warehouse, table: Table, number: int, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write rows that a batch brings beside the ledger, in place of those of an interrupted attempt.

    Args:
        warehouse: the tables.
        table: its first column is `batch`. It stays missing as long as no batch brings rows.
        number: of the batch.
        rows: the other columns; few.
    """
    if rows or warehouse.exists(table):
        warehouse.replace(table, [(number, *row) for row in rows], where=f"batch >= {number}")
