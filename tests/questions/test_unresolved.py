"""Messages that can't be placed, by what they are."""

from pathlib import Path

from pipelines.config.catalog import Catalog
from pipelines.questions.unresolved import LINES_SHOWN, count_unresolved, describe_unresolved
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES
from schemas.ledger import ENDPOINTS
from schemas.outputs import UNRESOLVED
from schemas.reading import as_of_key
from tests.support.drawn import Draw
from tests.support.factories import NOON


def test_the_level_that_only_the_row_of_a_view_says(draw: Draw, tmp_path: Path) -> None:
    """Not of a message whose endpoint is known, nor where the row does not say it."""
    warehouse = Warehouse(draw.session, str(tmp_path))
    place = {"instance": "SQL1", "database": "A"}
    of_view = {**place, "event_type": "SENT", "sent_by_initiator": True, "message_type": "Order"}
    sent = draw.rows(MESSAGES, **of_view, batch=1, fold=1)("""
        event_id | event_time | message_id | conversation_id | seen_at | shown_priority | shown_from_service
        1        | 11:00      | gone       | H1/unknown      | 11:30   | 7              | Desk
        2        | 11:00      | unsaid     | H2/unknown      | 11:30   | -              | Desk
        3        | 11:00      | known      | c3              | 11:30   | 7              | Desk
    """)
    warehouse.replace(MESSAGES, sent)
    names = {"contract": "Jobs", "local_service": "Desk", "remote_service": "Press"}
    groups = {"conversation_group_id": "g", "first_group_id": "g"}
    facts = {"is_initiator": True, "inferred": False, "fold": 1}
    endpoints = draw.rows(ENDPOINTS, **place, **names, **groups, **facts)("""
        conversation_id | priority | created_at
        c3              | 3        | 10:00
    """)
    warehouse.replace(ENDPOINTS, endpoints)
    lost = draw.rows(UNRESOLVED, as_of_key=as_of_key(NOON), kind="transmission", reason="handle_unknown")("""
        as_of | id
        12:00 | gone
        12:00 | unsaid
        12:00 | known
    """)
    warehouse.replace(UNRESOLVED, lost)
    rows = count_unresolved(warehouse, NOON)
    assert sorted((row["contract"] or "", row["level"] or 0, row["messages"]) for row in rows) == [
        ("", 0, 1),
        ("", 7, 1),
        ("Jobs", 0, 1),
    ]
    said = "from Desk to a service that is not known, at level 7 (handle_unknown)"
    assert any(said in line for line in describe_unresolved(rows, Catalog(), None))


def test_what_is_left_out_is_counted() -> None:
    nothing = dict.fromkeys(("instance", "database", "contract", "local_service", "remote_service", "level"))
    row = {"kind": "receive", "reason": "endpoint_unknown", "messages": 1, **nothing}
    *_, one = describe_unresolved([row] * (LINES_SHOWN + 1), Catalog(), None)
    *_, two = describe_unresolved([row] * (LINES_SHOWN + 2), Catalog(), None)
    assert one.startswith("  and 1 more kind: ")
    assert two.startswith("  and 2 more kinds: ")
