"""What the rows of a mapped source say in other words: the ids of messages."""

from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.snapshots.identity import own_id
from pipelines.storage.inputs.mapped_rows import SourceMapping
from schemas.ids import canonical_id

NUMBERED = ("conversation_id", "sent_by_initiator", "message_sequence_number")
"""What a message is known by where it has no id."""


def with_message_ids(rows: DataFrame, mapping: SourceMapping) -> DataFrame:
    """Give messages without an id the one that snapshots give them; one without a number has none."""
    if "message_id" not in mapping.contract.names:
        return rows
    is_known = (
        F.col(NUMBERED[0]).isNotNull() & F.col(NUMBERED[1]).isNotNull() & F.col(NUMBERED[2]).isNotNull()
    )
    made = F.when(is_known, own_id(canonical_id(F.col("conversation_id"))))
    return rows.withColumn("message_id", F.coalesce("message_id", made))
