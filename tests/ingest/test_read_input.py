"""The counts of a source with rows that wait."""

from pipelines.ingest.read_input import InputBatch, with_pending
from tests.support.drawn import Draw
from tests.support.factories import at


def test_waiting_rows_are_pending_until_the_log_has_gone_on_for_long(draw: Draw) -> None:
    waiting = draw("""
        event_id | event_time timestamp | reason         | payload | first_seen timestamp | rows bigint
        old      | 11:59                | handle_unknown | a       | -                    | 2
        young    | 12:00                | handle_unknown | b       | -                    | 3
    """)
    source = "message_events/audit"
    read = InputBatch(source, "message_events", 10, 1, 0, waiting, None, {}, {}, waiting=waiting)
    found = with_pending(read, at(day=31))
    assert (found.rows, found.duplicates, found.rejected, found.pending) == (15, 4, 1, 1)
    assert found.waiting is not None
    draw.require(found.waiting)("event_id\n young")
    assert found.reports is not None
    draw.require(found.reports)("""
        source               | event_id | reason         | payload
        message_events/audit | old      | handle_unknown | a
    """)
