"""Queues that are off: what waits for them elsewhere, and how often a message was rolled back."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from pyspark.sql import SparkSession

from pipelines.activation.queues_off import UNKNOWN, off_sentence
from pipelines.activation.read import queues_off_at, rollbacks
from pipelines.config.queue_filter import QueueFilter
from pipelines.questions.next import report_next
from pipelines.questions.waiting import report_waits
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES, QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same
from tests.support.written import received, sent, warehouse_of

OFF = {"state": "queue_off", "arrived_at": at(1)}
SEEN = {"held_since": at(2), "held_source": "snapshot"}
WAITS = {"waits_since": at(3), "waits_source": "log"}


def test_queues_that_are_off_and_what_waits_for_them(session: SparkSession, tmp_path: Path) -> None:
    """Rows of an older version do not say since when, nor which messages wait elsewhere."""
    tables = {
        "receive_schedule": [
            received("Q", 1),
            received("Locked", None, held_since=at(0), held_source="log"),
            received("Seen", None, **OFF, **SEEN),
            received("Seen", None, **OFF, **SEEN, message_id="second"),
            received("Both", None, **OFF, held_since=at(3), held_source="log"),
            received("Catalog", None, **OFF, held_source="catalog"),
            received("Older", None, **OFF),
        ],
        "transmission_schedule": [
            sent(1, waits_for="SQL1.A.Both", **WAITS, sendable_at=at(0)),
            sent(2, waits_for="SQL1.A.Both", **WAITS),
            sent(3, waits_for="SQL1.[a b].[X.Y]", **WAITS),
            sent(4),
        ],
    }
    warehouse = warehouse_of(session, tmp_path, tables)
    found = queues_off_at(warehouse, at(60))
    shown = ("database", "queue", "off_since", "seen_off_at", "messages", "waiting", "oldest", "rolled_back")
    assert [tuple(row[name] for name in shown) for row in found] == [
        ("A", "Both", at(3), None, 1, 2, at(0), None),
        ("A", "Seen", None, at(2), 2, 0, at(1), None),
        ("A", "Catalog", None, None, 1, 0, at(1), None),
        ("A", "Older", None, None, 1, 0, at(1), None),
        ("a b", "X.Y", at(3), None, 0, 1, at(3), None),
    ]
    assert [row["queue"] for row in found if UNKNOWN in row] == ["Older"]
    assert [off_sentence(row).split("; ")[0] for row in found] == [
        "the queue has been off since 2026-11-20T12:03:00Z",
        "the queue was seen off at 2026-11-20T12:02:00Z by a snapshot",
        "the catalog says that the queue is off",
        "the queue is off (since when is not known",
        "the queue has been off since 2026-11-20T12:03:00Z",
    ]
    assert off_sentence(found[3]) == (
        "the queue is off (since when is not known; run the night of this as_of again); 1 message stands in "
        "it; the log has no RECEIVED of them that was rolled back"
    )
    coming = report_next(warehouse, QueueFilter(instance="SQL1"), as_of=at(60), limit=1)
    assert [row["message_id"] for row in coming["next"]] == ["m4"]
    assert coming["held_back"] == {"queue_off": 3}
    late = report_waits(warehouse, as_of=at(60), limit=9)["transmission"]["overtaken"]
    assert late == []


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
