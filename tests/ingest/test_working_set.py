"""The rows that a batch reads: new events, open rows, and closed rows that new events refer to."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.late_events import Lookback, select_closed_rows
from pipelines.ingest.retention import CloseAt
from pipelines.ingest.snapshots.partners import Key
from pipelines.ingest.working_set import (
    Batch,
    Rows,
    WorkingSet,
    find_closed_messages,
    find_passed_conversations,
    read_working_set,
    union_batches,
)
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from schemas.events import CONTRACTS, QUEUE_FACTS, accepted_names
from schemas.ledger import ENDPOINTS
from schemas.table import Table
from tests.support.drawn import Draw
from tests.support.frames import DAY, assert_same, instant
from tests.support.harness import same

MOMENT = "timestamp'2026-11-18 12:00:00'"
ANY = {"string": "'x'", "boolean": "true", "timestamp": MOMENT, "int": "5", "bigint": "1L"}


def rows_of(draw: Draw, table: Table, drawing: str) -> DataFrame:
    """Rows of a table of the ledger; columns that are not drawn have any value, or none."""
    required = {column.name: column.type for column in table.columns if not column.nullable}
    rows = draw.rows(table)(drawing)
    values = {name: F.coalesce(name, F.expr(ANY[type])) for name, type in required.items()}
    return rows.withColumns(values).select(*table.names)


@pytest.mark.parametrize(
    ("full", "others", "found"),
    [
        pytest.param(None, [], "a18 a19 a20 b18", id="everywhere"),
        pytest.param([19], [], "a19 a20", id="full day"),
        pytest.param([20], [19], "a20", id="of other days only what their events refer to"),
        pytest.param([20], [18], "a20 b18", id="back to the first other day"),
        pytest.param([19], [20], "a19 a20", id="a later other day"),
        pytest.param([], [18], "b18", id="other days only"),
    ],
)
def test_closed_rows_that_new_events_refer_to(
    draw: Draw, full: list[int] | None, others: list[int], found: str
) -> None:
    """Rows that were closed on the event's day or later, of its key."""
    closed = draw("""
        name | key | closed_on date
        a18  | a   | 2026-11-18
        a19  | a   | 2026-11-19
        a20  | a   | 2026-11-20
        b17  | c   | 2026-11-17
        b18  | b   | 2026-11-18
    """)
    new = draw("key | event_time timestamp\n a | 11-20 12:00\n a | 11-20 13:00\n b | 11-18 12:00")
    full_days, other_days = ({date(2026, 11, day) for day in days or ()} for days in (full, others))
    lookback = Lookback(full_days, other_days, everywhere=full is None)
    expected = closed.where(F.col("name").isin(*found.split()))
    assert_same(select_closed_rows(closed, new, ["key"], lookback).select(*closed.columns), expected)


def test_rows_of_a_table_together(draw: Draw) -> None:
    """After the table is written, late rows stand among the open ones, too."""
    new, late, before = (
        rows_of(draw, QUEUE_FACTS, f"event_id | batch\n {drawing}")
        for drawing in ("new | 2", "late | 1", "open | 1\n late | 1")
    )
    warehouse = Warehouse(draw.session, "/nowhere")
    rows = Rows(QUEUE_FACTS, new, before, late)
    assert rows.all(warehouse).columns == [*accepted_names("queue_events"), "batch"]
    assert ids(rows.all(warehouse)) == ["late", "late", "new", "open"]
    assert ids(rows.each_once(warehouse)) == ["late", "new", "open"]
    assert ids(Rows(QUEUE_FACTS, new, before, None).each_once(warehouse)) == ["late", "new", "open"]
    assert ids(Rows(QUEUE_FACTS, new, None, late).each_once(warehouse)) == ["late", "new"]
    assert ids(Rows(QUEUE_FACTS, None, None, None).all(warehouse)) == []
    known = rows_of(draw, ENDPOINTS, "conversation_id\n c1")
    assert_same(union_batches(warehouse, ENDPOINTS, None, known), known)


STORED = {
    "message_events": """
        event_id  | event_type | message_id | conversation_id | transaction_id | batch | fold | closed_on
        open      | SENT       | m1         | c1              | -              | 1     | 1    | -
        late      | RECEIVED   | m2         | c9              | t2             | 1     | 1    | 2026-11-18
        arrived   | DELIVERED  | m3         | c3              | -              | 1     | 1    | 2026-11-18
        untouched | RECEIVED   | m4         | c4              | t4             | 1     | 1    | 2026-11-18
        moved     | RECEIVED   | m5         | c9              | t5             | 1     | 2    | 2026-11-18
        attempted | SENT       | m6         | c9              | -              | 2     | 2    | -
    """,
    "endpoint_events": """
        event_id  | event_type       | conversation_id | closed_on
        open      | BEGIN_DIALOG     | c1              | -
        late      | BEGIN_DIALOG     | c3              | 2026-11-18
        late too  | END_CONVERSATION | c2              | 2026-11-18
        untouched | BEGIN_DIALOG     | c4              | 2026-11-18
    """,
    "queue_events": """
        event_id  | event_type | instance | transaction_id | closed_on
        open      | COMMIT     | x        | t1             | -
        late      | COMMIT     | x        | t2             | 2026-11-18
        late too  | COMMIT     | x        | t5             | 2026-11-18
        late new  | COMMIT     | x        | t7             | 2026-11-18
        late take | COMMIT     | x        | t8             | 2026-11-18
        elsewhere | COMMIT     | y        | t2             | 2026-11-18
        untouched | COMMIT     | x        | t4             | 2026-11-18
        of nobody | RECEIVE    | x        | -              | 2026-11-18
    """,
    "endpoints": """
        conversation_id | closed_on
        c1              | -
        c3              | 2026-11-18
        c4              | 2026-11-18
    """,
}
NEW = {
    "message_events": """
        event_id | event_type | message_id | conversation_id | transaction_id
        new 1    | SENT       | m2         | c2              | -
        new 2    | SENT       | m5         | c2              | -
        new 3    | RECEIVED   | m8         | c2              | t8
    """,
    "endpoint_events": """
        event_id | event_type       | conversation_id
        new 1    | DIALOG_CREATED   | c3
        new 2    | END_CONVERSATION | c1
    """,
    "queue_events": """
        event_id | event_type | transaction_id
        new 1    | RECEIVE    | t7
        new 2    | RECEIVE    | -
    """,
}


def working_set(
    draw: Draw,
    folder: Path,
    *,
    stored: Mapping[str, str] = STORED,
    number: int = 2,
    starts_over: bool = False,
    replaced: Sequence[Key] = (),
) -> WorkingSet:
    """That of a batch with NEW events; drawings of tables say what is stored."""
    warehouse = Warehouse(draw.session, str(folder))
    for name, drawing in stored.items():
        warehouse.replace(TABLES[name], rows_of(draw, TABLES[name], drawing))
    events = {
        name: rows_of(draw, TABLES[name], drawing).select(*CONTRACTS[name].names)
        for name, drawing in NEW.items()
    }
    batch = Batch(
        number=number,
        events=events,
        view_events={},
        new_views=None,
        views=None,
        close_at=CloseAt(DAY, instant("12:00"), instant("11:45")),
        closed_until=None,
        lookback=Lookback(set(), set(), everywhere=True),
        bindings=[],
        binding_periods=[],
        has_queue_events=True,
        starts_over=starts_over,
        replaced=replaced,
    )
    return read_working_set(warehouse, batch, same)


def ids(rows: DataFrame | None, name: str = "event_id") -> list[str] | None:
    return None if rows is None else sorted(row[name] for row in rows.collect())


def test_what_a_batch_reads(draw: Draw, tmp_path: Path) -> None:
    """A late message brings the outcomes of transactions that received it, a late creation its arrivals."""
    found = working_set(draw, tmp_path)
    assert ids(found.messages.new) == ["new 1", "new 2", "new 3"]
    assert ids(found.messages.open) == ["moved", "open"]
    assert ids(found.messages.late) == ["late"]
    assert ids(found.arrivals) == ["arrived"]
    assert ids(found.conversations.open) == ["open"]
    assert ids(found.conversations.late) == ["late", "late too"]
    assert ids(found.transactions.open) == ["open"]
    assert ids(found.transactions.late) == ["late", "late new", "late take", "late too"]
    assert ids(found.known, "conversation_id") == ["c1", "c3"]
    assert ids(found.known_late, "conversation_id") == ["c3"]


def test_closed_messages_that_new_events_can_change(draw: Draw, tmp_path: Path) -> None:
    """Where no new view is earlier, messages of c1 and c2, shown at 11:00 and again at 12:00, stay closed."""
    warehouse = Warehouse(draw.session, str(tmp_path))
    stored = {
        "message_events": """
            event_id | message_id | conversation_id | seen_at | closed_on
            1        | before     | c1              | 11:00   | 2026-11-18
            2        | later      | c2              | 11:00   | 2026-11-18
            3        | open       | c2              | 11:00   | -
            4        | dropped    | c3              | 11:00   | 2026-11-18
            5        | logged     | c4              | 11:00   | 2026-11-18
            6        | unseen     | c4              | -       | 2026-11-18
            7        | untouched  | c5              | 11:00   | 2026-11-18
        """,
        "endpoint_events": """
            conversation_id | is_initiator | event_type
            c1              | true         | BEGIN_DIALOG
            c3              | true         | BEGIN_DIALOG
            c3              | false        | END_CONVERSATION
        """,
    }
    for name, drawing in stored.items():
        warehouse.replace(TABLES[name], rows_of(draw, TABLES[name], drawing))
    new = draw("""
        conversation_id | event_time timestamp | seen_at timestamp
        c1              | 12:00                | 12:00
        c2              | 12:00                | 12:00
        c3              | 12:00                | 12:00
        c4              | 12:00                | -
    """)
    all_shown = ["before", "dropped", "later", "logged"]

    def find(first: str | None, *days: date) -> list[str] | None:
        lookback = Lookback(set(days), set(), everywhere=not days)
        return ids(find_closed_messages(warehouse, new, first and instant(first), lookback), "message_id")

    found = {first: find(first) for first in ("11:00", "10:00", None)}
    assert found == {"11:00": ["dropped", "logged"], "10:00": all_shown, None: all_shown}
    assert find(None, date(2026, 11, 19)) == []


def test_conversations_that_a_late_view_may_end_earlier(draw: Draw, tmp_path: Path) -> None:
    """New views of 11:00 and 11:10 come after one of 12:00, where none of B was there any more."""
    warehouse = Warehouse(draw.session, str(tmp_path))
    stored = {
        "message_events": """
            conversation_id | database | event_time | seen_at | not_before | shown_until | closed_on
            received        | B        | 11:59      | 12:00   | 11:05      | -           | 2026-11-20
            shown on        | B        | 09:00      | 10:00   | -          | 12:00       | 2026-11-20
            gone before     | B        | 10:59      | 11:00   | 10:00      | -           | 2026-11-20
            came later      | B        | 11:59      | 12:00   | 11:10      | -           | 2026-11-20
            elsewhere       | C        | 11:59      | 12:00   | 10:00      | -           | 2026-11-20
            open            | B        | 11:59      | 12:00   | 10:00      | -           | -
        """,
        "endpoints": """
            conversation_id | is_initiator | database | created_at
            ended           | true         | B        | 10:00
            ended before    | true         | B        | 10:00
            alive           | true         | B        | 10:00
            began later     | true         | B        | 11:20
            ended there     | true         | C        | 10:00
        """,
        "endpoint_events": """
            conversation_id | is_initiator | event_type       | event_time
            ended           | false        | END_CONVERSATION | 12:00
            ended before    | true         | END_CONVERSATION | 10:30
            alive           | true         | BEGIN_DIALOG     | 12:00
            began later     | true         | END_CONVERSATION | 12:00
            ended there     | true         | END_CONVERSATION | 12:00
        """,
    }
    for name, drawing in stored.items():
        warehouse.replace(TABLES[name], rows_of(draw, TABLES[name], drawing))
    new = draw("instance | database | seen_at timestamp\n x | B | 11:00\n x | B | 11:10\n x | D | 09:00")
    found = find_passed_conversations(warehouse, new, instant("09:00"))
    draw.require(found)("""
        conversation_id | event_time timestamp | seen_at timestamp
        received        | 11:00                | 11:00
        shown on        | 11:00                | 11:00
        ended           | 11:00                | 11:00
    """)


def test_rows_since_a_snapshot_that_does_not_count_any_more(draw: Draw, tmp_path: Path) -> None:
    """Closed rows of its batch and of later ones are read, whatever new events refer to."""
    replaced = [("M2", "x", instant("12:00"))]
    stored = {
        "snapshots": """
            batch | instance | taken_at | view
            3     | M2       | 12:00    | dbo.Q
            2     | M2       | 11:00    | dbo.Q
        """,
        "message_events": """
            event_id | message_id | instance | shown_queue | seen_at | batch | fold | closed_on
            before   | m1         | M2       | -           | -       | 1     | 2    | 2026-11-18
            late     | m2         | M2       | -           | -       | 1     | 2    | 2026-11-18
            since    | m3         | M2       | -           | -       | 1     | 3    | 2026-11-18
            shown    | m4         | M2       | Q           | 12:00   | 3     | 4    | 2026-11-18
            open     | m5         | M2       | Q           | 12:00   | 3     | 4    | -
            attempt  | m6         | M2       | -           | -       | 1     | 5    | 2026-11-18
        """,
        "endpoints": """
            conversation_id | fold | closed_on
            c1              | 2    | 2026-11-18
            c3              | 3    | 2026-11-18
        """,
    }
    found = working_set(draw, tmp_path, stored=stored, number=5, replaced=replaced)
    assert ids(found.messages.late) == ["late", "shown", "since"]
    assert ids(found.messages.counting) == ["late", "since"]
    assert ids(found.messages.open) == ["attempt"]
    assert ids(found.messages.all(Warehouse(draw.session, "/nowhere"))) == [
        *("attempt", "late", "new 1", "new 2", "new 3", "since")
    ]
    assert ids(found.known_late, "conversation_id") == ["c1", "c3"]


def test_the_first_queue_events_have_all_rows_read(draw: Draw, tmp_path: Path) -> None:
    found = working_set(draw, tmp_path, starts_over=True)
    assert ids(found.messages.open) == ["arrived", "late", "moved", "open", "untouched"]
    assert (found.messages.late, found.transactions.late, found.arrivals) == (None, None, None)
    assert ids(found.known, "conversation_id") == ["c1", "c3", "c4"]
