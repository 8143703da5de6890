"""What waits at an as_of, read from the tables: what schedules and questions about them start from."""

from datetime import datetime

from pipelines.config.catalog import BINDINGS
from pipelines.config.load import Settings
from pipelines.engine.differences import Materialize
from pipelines.schedules.orders import Backlog, Catalog, backlog
from pipelines.state.open_messages import StateOfMessages
from pipelines.storage.small_frame import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS

QUEUES = "instance string, database string, queue string, is_on boolean"
DATABASES = "instance string, database string, honors boolean"


def catalog_frames(warehouse: Warehouse, settings: Settings) -> Catalog:
    """The catalog as frames."""
    spark, catalog = warehouse.spark, settings.catalog
    return Catalog(
        bindings=small_frame(spark, catalog.service_bindings(), BINDINGS),
        honoring=small_frame(spark, catalog.database_rows(), DATABASES).where("honors").drop("honors"),
        queues=small_frame(spark, catalog.queue_rows(), QUEUES),
    )


def read_backlog(
    warehouse: Warehouse,
    catalog: Catalog,
    as_of: datetime,
    materialize: Materialize,
    *,
    knows_queues: bool,
    known: StateOfMessages | None = None,
) -> Backlog:
    """What waits at as_of; any as_of, published or not.

    Args:
        warehouse: what to read.
        catalog: `catalog_frames`.
        as_of: the instant.
        materialize: computes a frame once.
        knows_queues: whether any queue event was ever accepted.
        known: the state of messages that the fold of the same rows has found, if it is at hand.
    """
    message_events, endpoint_events, queue_events, endpoints = (
        warehouse.read_open(table, as_of) for table in (MESSAGES, ENDPOINT_FACTS, QUEUE_FACTS, ENDPOINTS)
    )
    return backlog(
        message_events,
        endpoint_events,
        queue_events,
        endpoints,
        catalog,
        as_of=as_of,
        every_receive_counts=not knows_queues,
        known=known,
        materialize=materialize,
    )
