"""Read the ledger from the warehouse."""

from datetime import datetime

from pyspark.sql import DataFrame

from pipelines.engine.frames import small_frame
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

    queue_events = with_switches(warehouse, rows(QUEUE_FACTS))
    return Ledger(rows(MESSAGES), rows(ENDPOINT_FACTS), queue_events, rows(ENDPOINTS), has_queue_events)


def with_switches(warehouse: Warehouse, queue_events: DataFrame) -> DataFrame:
    """Rows of `queue_events`, and a QUEUE_ALTERED for each statement of a DDL log that switches a queue.

    The settings have the statements, so no batch brings them.
    """
    if not warehouse.switches:
        return queue_events
    rows = [
        {
            "event_type": "QUEUE_ALTERED",
            "event_id": f"ddl-log/{number}",
            "event_time": each.moment,
            "instance": each.instance,
            "database": each.database,
            "queue": each.queue,
            "queue_status": "ON" if each.is_on else "OFF",
            "batch": 0,
            "fold": 0,
        }
        for number, each in enumerate(warehouse.switches)
    ]
    struct = QUEUE_FACTS.struct
    stated = small_frame(warehouse.spark, ([row.get(name) for name in struct.names] for row in rows), struct)
    return queue_events.unionByName(stated.select(*queue_events.columns))
