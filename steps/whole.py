"""Stop before a table that has lost commits is taken for whole."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from config.errors import WarehouseError
from config.instants import format_instant
from storage.published import published_runs
from storage.versions import REBUILD, versions_of
from storage.warehouse import Warehouse


def require_whole(warehouse: Warehouse) -> Sequence[Mapping[str, Any]]:
    """Compare the tables with what the last published run left.

    Returns:
        The published runs: as_of, finished_at, versions, last_batch.

    Raises:
        WarehouseError: a table is at an older version, or is gone; every one is listed.
    """
    runs = published_runs(warehouse, "as_of", "finished_at", "versions", "last_batch")
    require_as_left(warehouse.root, runs)
    return runs


def require_as_left(root: str, runs: Iterable[Mapping[str, Any]]) -> None:
    """Compare the tables under a folder with what the last of these runs left, which were published.

    Raises:
        WarehouseError: as `require_whole`.
    """
    last = max(runs, key=itemgetter("finished_at"), default=None)
    found = versions_of(root) if last else None
    if last is None or found is None:
        return
    lost = [
        f"warehouse: {root}/{name} is {_state(found.get(name))}, but the run of "
        f"{format_instant(last['as_of'])} that finished at {format_instant(last['finished_at'])} left it at "
        f"version {version}: commits are lost. Put back what is missing, or {REBUILD}"
        for name, version in sorted(dict(last["versions"] or {}).items())
        if found.get(name, -1) < version
    ]
    if lost:
        raise WarehouseError(*lost)


def _state(version: int | None) -> str:
    return "gone" if version is None else f"at version {version}"
