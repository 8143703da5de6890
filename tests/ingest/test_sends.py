"""Messages that a trace shows to be sent, each once, with the first acknowledgement."""

from pathlib import Path

from pipelines.ingest.read_input import InputBatch
from pipelines.ingest.sends import judge_sends, write_sends
from pipelines.storage.warehouse import Warehouse
from schemas.events import SENT_MESSAGES
from schemas.outputs import SENDS
from tests.support.drawn import Draw
from tests.support.harness import same

COLUMNS = ", ".join(f"{column.name} {column.type}" for column in SENT_MESSAGES.columns)
PLACE = {"instance": "SQL1", "conversation_id": "c1", "sent_by_initiator": True}


def taken(draw: Draw, warehouse: Warehouse, batch: int, drawing: str) -> InputBatch:
    """What a batch takes of these rows, which are written."""
    rows = draw.rows(f"{COLUMNS}, reasons string", **PLACE)(drawing)
    found = judge_sends(warehouse, "logs/trace", rows, batch, same, [], format="csv")
    write_sends(warehouse, batch, [found], draw.keep)
    return found


def test_what_was_sent_and_acknowledged(draw: Draw, tmp_path: Path) -> None:
    """A row that came before is a duplicate; acknowledgements come with it or later, and are not counted."""
    warehouse = Warehouse(draw.session, str(tmp_path))
    first = taken(draw, warehouse, 1, """
        event_type   | event_time  | message_sequence_number | fragment | level
        SENT         | 12:00       | 0                       | -        | 7
        SENT         | 12:00       | 0                       | 0        | 5
        SENT         | 12:00       | 0                       | 1        | 5
        SENT         | 11-21 12:00 | 1                       | 0        | 5
        ACKNOWLEDGED | 11:59       | 0                       | -        | -
        ACKNOWLEDGED | 12:02       | 0                       | -        | -
        ACKNOWLEDGED | 12:01       | 0                       | -        | -
    """)  # fmt: skip
    assert (first.rows, first.accepted, first.duplicates) == (4, 3, 1)
    second = taken(draw, warehouse, 2, """
        event_type   | event_time  | message_sequence_number
        SENT         | 12:00       | 0
        ACKNOWLEDGED | 11-21 12:01 | 1
    """)  # fmt: skip
    assert (second.rows, second.accepted, second.duplicates) == (1, 0, 1)
    draw.require(warehouse.read(SENDS), SENDS)("""
        message_sequence_number | fragment | sent_at     | level | acknowledged_at | sent_on    | batch
        0                       | 0        | 12:00       | 5     | 12:01           | 2026-11-20 | 1
        0                       | 1        | 12:00       | 5     | 12:01           | 2026-11-20 | 1
        1                       | 0        | 11-21 12:00 | 5     | 11-21 12:01     | 2026-11-21 | 1
    """)
