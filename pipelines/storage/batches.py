"""What the completed folds have done, as `batches` tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import BATCHES

LITTLE_EVENTS = 500_000
"""Up to so many accepted events a ledger is small (our choice)."""


@dataclass(frozen=True)
class CompletedBatches:
    """What the completed folds have done.

    Attributes:
        batches: the rows of `batches`, in no order; they are few.
    """

    batches: Sequence[Mapping[str, Any]]

    @property
    def batch(self) -> int:
        """The number of the last fold; 0 if there was none."""
        return max((row["batch"] for row in self.batches), default=0)

    @property
    def events(self) -> int:
        """How many events were accepted."""
        return sum(row["accepted"] for row in self.batches)

    @property
    def has_queue_events(self) -> bool:
        """Whether any queue event was ever accepted; without any, every RECEIVED counts as committed."""
        return any(row["source"] == "queue_events" and row["accepted"] for row in self.batches)

    @property
    def newest(self) -> datetime | None:
        """The newest moment of the log; null if no event was ever accepted."""
        moment: datetime | None = self._of_the_last("newest")
        return moment

    @property
    def bindings(self) -> str | None:
        """The fingerprint of the catalog that the last fold went by."""
        fingerprint: str | None = self._of_the_last("bindings")
        return fingerprint

    @property
    def is_little(self) -> bool:
        """Whether the ledger is small."""
        return self.events <= LITTLE_EVENTS

    def _of_the_last(self, name: str) -> Any:
        last = self.batch
        return next((row[name] for row in self.batches if row["batch"] == last), None)


def completed_batches(warehouse: Warehouse) -> CompletedBatches:
    """Read `batches`."""
    return CompletedBatches(collect_rows(warehouse.read(BATCHES)))
