"""Ids of messages that a mapped source lacks."""

from pyspark.sql import functions as F

from pipelines.ingest.mapped import with_message_ids
from pipelines.storage.inputs.mapped_rows import SourceMapping
from schemas.events import MESSAGES
from tests.support.drawn import Draw
from tests.support.frames import assert_same

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
