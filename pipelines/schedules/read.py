"""Read the catalog and the backlog of an as_of: the inputs of schedules and of questions about them."""

from datetime import datetime

from pipelines.config.catalog import BINDINGS
from pipelines.engine.frames import small_frame
from pipelines.engine.materialize import Materialize
from pipelines.schedules.orders import Backlog, Catalog, backlog
from pipelines.settings.load import Settings
from pipelines.state.open_messages import StateOfMessages
from pipelines.state.read import read_ledger
from pipelines.storage.warehouse import Warehouse

QUEUES = "instance string, database string, queue string, is_on boolean"
DATABASES = "instance string, database string, honors boolean"


def catalog_frames(warehouse: Warehouse, settings: Settings) -> Catalog:
    """The catalog as frames."""
    spark, catalog = warehouse.spark, settings.catalog
    return Catalog(
        bindings=small_frame(spark, catalog.service_bindings(), BINDINGS),
        honoring=small_frame(spark, catalog.database_rows(), DATABASES),
        queues=small_frame(spark, catalog.queue_rows(), QUEUES),
    )


def read_backlog(
    warehouse: Warehouse,
    catalog: Catalog,
    as_of: datetime,
    materialize: Materialize,
    *,
    has_queue_events: bool,
    known: StateOfMessages | None = None,
) -> Backlog:
    """The backlog of any as_of, published or not.

    Args:
        warehouse: the tables.
        catalog: `catalog_frames`.
        as_of: the instant.
        materialize: computes a frame once.
        has_queue_events: see `Ledger`.
        known: the state of messages at as_of, if the ingest of the same rows has found it.
    """
    ledger = read_ledger(warehouse, as_of, has_queue_events=has_queue_events)
    return backlog(ledger, catalog, as_of=as_of, known=known, materialize=materialize)
