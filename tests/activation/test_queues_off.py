"""Queues that are off: what waits for them elsewhere, and how often a message was rolled back."""

from types import SimpleNamespace
from typing import cast

from pipelines.activation.queues_off import with_queue_off
from pipelines.activation.read import rollbacks
from pipelines.config.catalog import Catalog
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES, QUEUE_FACTS
from schemas.outputs import TRANSMISSION_SCHEDULE
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same


class Bindings:
    """Only the bindings of a catalog matter."""

    @staticmethod
    def service_bindings() -> list[tuple[str, str, str, str]]:
        return [("SQL1", "B", "Stock", "Off"), ("SQL1", "B", "Orders", "On"), ("SQL2", "B", "Stock", "Off")]


def test_messages_that_wait_for_a_queue_that_is_off(draw: Draw) -> None:
    expected = draw.columns(TRANSMISSION_SCHEDULE)("""
        instance | destination_instance | destination_database | to_service | forwarded | waits_for string
        SQL1     | SQL1                 | B                    | Stock      | false     | SQL1.B.Off
        SQL1     | SQL1                 | B                    | Stock      | true      | -
        SQL1     | SQL1                 | B                    | Orders     | false     | -
        SQL1     | SQL1                 | C                    | Stock      | false     | -
        SQL1     | SQL2                 | B                    | Stock      | false     | -
        SQL1     | -                    | -                    | Stock      | false     | -
    """)
    catalog = cast(Catalog, Bindings())
    off = {"database": "B", "queue": "Off"}
    rows = expected.drop("waits_for")
    found = with_queue_off(rows, catalog, [{"instance": "SQL1", **off}, {"instance": "SQL2", **off}])
    assert_same(found.select(*expected.columns), expected)
    # No service has such a queue.
    unbound = with_queue_off(rows, catalog, [{"instance": "SQL3", **off}])
    assert_same(unbound.select("waits_for").distinct(), draw("waits_for\n -"))


def test_how_often_messages_were_rolled_back(draw: Draw) -> None:
    """Of receives at one moment the last event_id counts; what is at as_of has not happened."""
    messages = draw.rows(MESSAGES, instance="SQL1")("""
        message_id | event_type | event_time | event_id | transaction_id
        twice      | RECEIVED   | 12:01      | c        | t1
        twice      | RECEIVED   | 12:02      | a        | t2
        twice      | RECEIVED   | 12:02      | b        | t1
        once       | RECEIVED   | 12:01      | a        | t1
        once       | RECEIVED   | 12:03      | a        | committed
        once       | DELIVERED  | 12:03      | a        | t2
        at as_of   | RECEIVED   | 13:00      | a        | t1
        not asked  | RECEIVED   | 12:01      | a        | t1
    """)
    queues = draw.rows(QUEUE_FACTS, instance="SQL1")("""
        event_type | transaction_id | event_time
        ROLLBACK   | t1             | 12:05
        ROLLBACK   | t2             | 12:05
        ROLLBACK   | committed      | 12:05
        COMMIT     | committed      | 12:06
    """)
    tables = {MESSAGES.name: messages, QUEUE_FACTS.name: queues}
    warehouse = cast(Warehouse, SimpleNamespace(read_left=lambda table, _: tables[table.name]))
    expected = draw("""
        message_id | rollbacks bigint | last_received_at timestamp | last_transaction_id
        twice      | 2                | 12:02                      | t1
        once       | 1                | 12:01                      | t1
    """)
    asked = draw("message_id\n twice\n once\n at as_of")
    assert_same(rollbacks(warehouse, asked, at(60)), expected)
