"""Messages that a trace shows to be sent: rows of `sends`, of which no as_of closes any."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, functions as F

from pipelines.config.model import Format
from pipelines.engine.frames import union_all
from pipelines.engine.materialize import Materialize
from pipelines.ingest.read_input import InputBatch
from pipelines.storage.inputs.payloads import with_payload
from pipelines.storage.warehouse import Warehouse
from schemas.events import SENT_MESSAGES
from schemas.ids import canonical_id
from schemas.outputs import SENDS

MESSAGE = ["instance", "conversation_id", "sent_by_initiator", "message_sequence_number"]
SAID = ("database", "level", "honor", "elevated")
"""What a row says beyond its key; of several with one key, the least counts."""


def judge_sends(
    warehouse: Warehouse,
    source: str,
    rows: DataFrame,
    batch: int,
    materialize: Materialize,
    before: Sequence[DataFrame],
    *,
    format: Format,
) -> InputBatch:
    """Say which rows become rows of `sends`; acknowledgements become none, and are not counted.

    Args:
        warehouse: the tables.
        source: the log's name.
        rows: materialized rows of `SENT_MESSAGES` with `reasons`, none of them incomplete.
        batch: the number of the batch.
        materialize: computes a frame once.
        before: rows of other logs in this batch, as this returns them.
        format: how its files are written.

    Returns:
        A batch whose events have the key of `sends`, what is said, and `event_type`.
    """
    good = rows.where("reasons is null").withColumns(
        {
            "conversation_id": canonical_id(F.col("conversation_id")),
            "fragment": F.coalesce("fragment", F.lit(0)),
        }
    )
    sent = good.where("event_type = 'SENT'").withColumnRenamed("event_time", "sent_at")
    key = list(SENDS.key)
    new = sent.groupBy(*key).agg(*[F.min(name).alias(name) for name in SAID])
    known = [each.where("event_type = 'SENT'").select(*key) for each in before]
    if warehouse.exists(SENDS):
        known.append(warehouse.read(SENDS).where(f"batch < {batch}").select(*key))
    if known:
        new = new.join(union_all(known).distinct(), key, "left_anti")
    new = materialize(new)
    accepted, all_sent = new.count(), sent.count()
    bad = rows.where("reasons is not null")
    rejected = bad.count()
    reports = None
    if rejected:
        told = with_payload(bad, SENT_MESSAGES, format)
        reason = F.explode(F.split("reasons", ",")).alias("reason")
        reports = told.select(F.lit(source).alias("source"), "event_id", reason, "payload")
    acknowledged = good.where("event_type = 'ACKNOWLEDGED'").withColumnRenamed("event_time", "sent_at")
    events = union_all(
        [
            each.select(*key, *SAID, F.lit(type).alias("event_type"))
            for each, type in ((new, "SENT"), (acknowledged, "ACKNOWLEDGED"))
        ]
    )
    return InputBatch(
        source=source,
        table=SENDS.name,
        rows=all_sent + rejected,
        duplicates=all_sent - accepted,
        rejected=rejected,
        events=events,
        reports=reports,
        by_day={},
        newest={},
        accepted=accepted,
    )


def write_sends(
    warehouse: Warehouse, number: int, read: Sequence[InputBatch], materialize: Materialize
) -> None:
    """Write what logs show to be sent, and when messages that were sent were acknowledged.

    Only the days of new or newly acknowledged rows are written again.
    """
    if not read:
        return
    events = union_all([each.events for each in read])
    acknowledgements = events.where("event_type = 'ACKNOWLEDGED'").select(
        *MESSAGE, F.col("sent_at").alias("acknowledged")
    )
    new = (
        events.where("event_type = 'SENT'")
        .drop("event_type")
        .withColumns(
            {
                "acknowledged_at": F.lit(None).cast("timestamp"),
                "sent_on": F.to_date("sent_at"),
                "batch": F.lit(number).cast("bigint"),
            }
        )
    )
    frames, days = [new], [new.select("sent_on")]
    if warehouse.exists(SENDS):
        known = warehouse.read(SENDS)
        asked = acknowledgements.select(*MESSAGE).distinct()
        waiting = known.where("acknowledged_at is null").join(asked, MESSAGE, "left_semi")
        days += [waiting.select("sent_on"), known.where(f"batch = {number}").select("sent_on")]
        frames.append(known.where(f"batch < {number}"))
    touched = sorted(row["sent_on"] for row in union_all(days).distinct().collect())
    if not touched:
        return
    rows = union_all([each.select(*SENDS.names) for each in frames])
    rows = rows.where(F.col("sent_on").isin(*touched))
    first = (
        rows.select(*SENDS.key)
        .join(acknowledgements, MESSAGE, "inner")
        .where("acknowledged >= sent_at")
        .groupBy(*SENDS.key)
        .agg(F.min("acknowledged").alias("acknowledged"))
    )
    joined = rows.join(first, list(SENDS.key), "left")
    written = joined.withColumn("acknowledged_at", F.least("acknowledged_at", "acknowledged"))
    where = ", ".join(f"DATE '{day}'" for day in touched)
    warehouse.replace(SENDS, materialize(written.select(*SENDS.names)), where=f"sent_on IN ({where})")
