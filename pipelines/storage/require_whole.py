"""Refuse to write a warehouse that has lost tables or commits."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.config.errors import WarehouseError
from pipelines.storage.integrity import runs_are_gone
from pipelines.storage.published import checked_runs
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import BATCHES, RUNS


def require_whole(warehouse: Warehouse) -> Sequence[Mapping[str, Any]]:
    """Compare the tables with what the last published run left.

    A warehouse without tables gets `runs`, so that no other table is ever there without it.

    Returns:
        The published runs: as_of, finished_at, versions, last_batch.

    Raises:
        WarehouseError: as `require_as_left`.
    """
    runs = checked_runs(warehouse)
    # The engine may reach what delta-rs does not.
    if not warehouse.exists(RUNS) and warehouse.exists(BATCHES):
        raise WarehouseError(runs_are_gone(warehouse.root))
    warehouse.create_missing(RUNS)
    return runs
