"""What snapshots show of catalogs, as the table `catalog_history` holds it."""

from collections.abc import Collection
from dataclasses import astuple

from pipelines.config.snapshots.history import CatalogFact
from pipelines.engine.small_jobs import small_job_settings
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import CATALOG_HISTORY


def write_catalog_history(warehouse: Warehouse, history: Collection[CatalogFact]) -> None:
    """Replace `catalog_history`, if it differs.

    Args:
        warehouse: the tables.
        history: all facts of all snapshots, which are few in a night of any size.
    """
    with small_job_settings(warehouse.spark):
        stored = {CatalogFact(**row) for row in collect_rows(warehouse.read(CATALOG_HISTORY))}
        if stored != {*history}:
            warehouse.replace(CATALOG_HISTORY, [astuple(fact) for fact in history])
