"""Which open messages are asked about, on rows of every kind of place."""

import pytest

from pipelines.why.filters import Filters
from tests.support.drawn import Draw

STOCK = [("SQL1", "B", "StockQueue")]


@pytest.mark.parametrize(
    ("filters", "chosen"),
    [
        (Filters(), "in stock, in desk, to send, unknown"),
        (Filters(queue="StockQueue"), "in stock"),
        (Filters(is_transmission=True), "to send"),
        (Filters(is_transmission=True, instance="SQL2"), ""),
        (Filters(instance="SQL1"), "in stock, to send"),
        (Filters(database="C"), "in desk"),
        (Filters(contract="Gold"), "in desk"),
        (Filters(service="Stock"), "in stock"),
        (Filters(remote_service="Stock"), "to send"),
        (Filters(conversation="c1"), "in stock, to send"),
        (Filters(conversation="c1", contract="Gold"), ""),
    ],
)
def test_all_filters_hold_together(draw: Draw, filters: Filters, chosen: str) -> None:
    rows = draw.lines("""
        message_id      | in stock   | in desk   | to send      | unknown
        kind            | receive    | receive   | transmission | unresolved
        instance        | SQL1       | SQL2      | SQL1         | -
        database        | B          | C         | -            | -
        queue           | StockQueue | DeskQueue | -            | -
        contract        | Plain      | Gold      | Plain        | -
        local_service   | Stock      | Desk      | Orders       | -
        remote_service  | Orders     | Orders    | Stock        | -
        conversation_id | c1         | c2        | c1           | c4
    """)
    found = filters.of(rows, STOCK if filters.queue else [])
    assert ", ".join(row["message_id"] for row in found.select("message_id").collect()) == chosen


@pytest.mark.parametrize(
    ("filters", "takes"),
    [
        (Filters(), True),
        (Filters(queue="StockQueue"), True),
        (Filters(instance="SQL1", database="B"), True),
        (Filters(instance="SQL2"), False),
        (Filters(database="C"), False),
        (Filters(is_transmission=True), False),
        (Filters(conversation="c1"), False),
        (Filters(contract="Plain"), False),
    ],
)
def test_a_queue_without_messages_fits_a_filter_of_places(filters: Filters, takes: bool) -> None:
    assert filters.takes(("receive", *STOCK[0]), STOCK) is takes
