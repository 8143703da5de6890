"""Read the ledger from the warehouse."""

from datetime import datetime

from pyspark.sql import DataFrame

from pipelines.state.ledger import Ledger
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from schemas.table import Table


def read_ledger(warehouse: Warehouse, since: datetime, *, has_queue_events: bool) -> Ledger:
    """The rows that can matter at `since` or later, with events of any time.

    Args:
        warehouse: the tables.
        since: the earliest moment that is described.
        has_queue_events: `CompletedBatches.has_queue_events`.
    """

    def rows(table: Table) -> DataFrame:
        return warehouse.read_open(table, since)

    return Ledger(rows(MESSAGES), rows(ENDPOINT_FACTS), rows(QUEUE_FACTS), rows(ENDPOINTS), has_queue_events)
