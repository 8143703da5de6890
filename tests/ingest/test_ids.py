"""GUIDs of an input in their one spelling."""

import pytest
from pyspark.sql import functions as F

from pipelines.ingest.ids import (
    has_more_than_case,
    is_in_other_spelling,
    with_canonical_ids,
    with_message_ids,
    with_written_ids,
)
from pipelines.storage.inputs.mapped_rows import SourceMapping
from schemas.events import MESSAGES, QUEUE_EVENTS, EventContract
from schemas.table import optional
from tests.support.drawn import Draw
from tests.support.frames import assert_same

NAMES = ("event_id", "message_id", "conversation_id")
CONTRACT = EventContract("things", tuple(optional(name, "string", "") for name in NAMES), (), {})
GUID = "ABCDEF00-0000-4000-8000-00000000000A"
SPELLINGS = f"""
    event_id | message_id       | conversation_id     | other_spelling boolean | more_than_case boolean
    e1       | {GUID}           | -                   | false              | false
    e2       | {GUID.lower()}   | {GUID}              | true               | false
    e3       | {GUID}           | {{{GUID}}}          | true               | true
    e4       | {GUID.lower()}/x | {{{GUID.lower()}}}  | true               | true
    e5       | M5               | m5                  | false              | true
"""
CANONICAL = f"""
    event_id | message_id       | conversation_id
    e1       | {GUID}           | -
    e2       | {GUID}           | {GUID}
    e3       | {GUID}           | {GUID}
    e4       | {GUID.lower()}/x | {GUID}
    e5       | M5               | m5
"""


def test_what_a_spelling_asks_for(draw: Draw) -> None:
    rows = draw(SPELLINGS)
    found = rows.select(
        *NAMES,
        is_in_other_spelling(CONTRACT).alias("other_spelling"),
        has_more_than_case(CONTRACT).alias("more_than_case"),
    )
    assert_same(found, rows)


@pytest.mark.parametrize("by_case", [True, False])
def test_the_one_spelling_and_the_written_one(draw: Draw, by_case: bool) -> None:
    rows = draw(SPELLINGS).select(*NAMES)
    if by_case:
        rows = rows.where("event_id in ('e1', 'e2')")
    expected = draw(CANONICAL).join(rows.select("event_id"), "event_id", "left_semi")
    found = with_canonical_ids(rows, CONTRACT, by_case=by_case)
    assert_same(found.drop("written"), expected)
    assert_same(with_written_ids(found, CONTRACT).drop("written"), rows)
    assert_same(with_written_ids(rows, CONTRACT), rows)


def test_ids_of_an_input_are_its_guids(draw: Draw) -> None:
    """The id of an event and of a transaction stay as they are."""
    drawing = "\n".join([" | ".join(QUEUE_EVENTS.names), " | ".join("a" for _ in QUEUE_EVENTS.names)])
    found = with_canonical_ids(draw(drawing), QUEUE_EVENTS, by_case=True)
    [row] = found.drop("written").collect()
    assert {name for name in QUEUE_EVENTS.names if row[name] == "A"} == {"conversation_group_id"}


GUID = "ABCDEF00-0000-4000-8000-00000000000A"


def test_a_message_without_an_id_has_that_of_its_number(draw: Draw) -> None:
    """As snapshots name it, with the conversation in its one spelling."""
    expected = draw.rows(MESSAGES, message_type="Order")(f"""
        conversation_id | sent_by_initiator | message_sequence_number | message_id
        c1              | true              | 0                       | m1
        {GUID.lower()}  | false             | 7                       | {GUID}/target/7
        c1              | true              | -                       | -
        c1              | -                 | 0                       | -
    """)
    rows = expected.withColumn("message_id", F.when(F.col("message_id") == "m1", "m1"))
    assert_same(with_message_ids(rows, SourceMapping("message_events/audit", {})), expected)
    assert with_message_ids(rows, SourceMapping("endpoint_events/audit", {})) is rows
