"""How the transactions ended in which a log has rows: those of one that was rolled back do not count."""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame, functions as F

from pipelines.config.log_mapping import INSTANCE
from pipelines.ingest.reasons import NO_OUTCOME
from pipelines.storage.inputs.log_rows import LogReading
from pipelines.storage.inputs.mapped_rows import SourceMapping, with_instant
from pipelines.storage.inputs.payloads import payload_of_mapped
from pipelines.storage.inputs.text import parse_value

TRANSACTION, SEQUENCE = "transaction", "sequence"
"""What rows keep of their transaction, and of their place in the log."""
OUTCOMES, ROLLED_BACK = "outcomes", "rolled_back"
"""What is counted of them."""
KEY = ["instance", TRANSACTION]
DOUBLED = timedelta(hours=1)
"""How far the time of an end may be before that of a row: in the hour that local clocks show twice."""


def outcomes(raw: DataFrame, log: LogReading) -> DataFrame:
    """The ends of transactions that a log has.

    Args:
        raw: `read_log`.
        log: how it was read; its mapping has transactions.

    Returns:
        (instance, transaction, ended_at, ended_sequence, is_rollback).
    """
    ends = log.mapping.transactions
    assert ends is not None
    is_rollback = log.holds(ends.rolled_back)
    rows = raw.where(~F.col("broken") & (log.holds(ends.committed) | is_rollback))
    return with_instant(rows, log.clock).select(
        log.column(INSTANCE).alias("instance"),
        F.trim(log.column(ends.id)).alias(TRANSACTION),
        F.col("instant").alias("ended_at"),
        parse_value(log.column(ends.sequence), "bigint").alias("ended_sequence"),
        is_rollback.alias("is_rollback"),
    )


def with_outcomes(rows: DataFrame, ends: DataFrame | None, mapping: SourceMapping) -> DataFrame:
    """Say of rows how their transaction ended.

    Args:
        rows: rows that keep transaction and sequence, with event_id and `pending_reason`.
        ends: `outcomes`; None if no row was read that says any.
        mapping: the mapping of their table.

    Returns:
        The rows with `is_rolled_back`; those of a transaction whose end nothing shows are pending.
    """
    if ends is None:
        found = rows.select("event_id", F.lit(False).alias("found_rollback")).where("false")
    else:
        found = find_outcomes(rows, ends, ["event_id"])
    joined = rows.join(found, "event_id", "left")
    waits = F.col(TRANSACTION).isNotNull() & F.col("found_rollback").isNull()
    written = payload_of_mapped(rows.drop("event_id"), mapping.contract, mapping.kept)
    return joined.withColumns(
        {
            "is_rolled_back": F.coalesce("found_rollback", F.lit(False)),
            "pending_reason": F.coalesce("pending_reason", F.when(waits, F.lit(NO_OUTCOME))),
            "payload": F.when(waits, written).otherwise(F.col("payload")),
        }
    ).drop("found_rollback")


def find_outcomes(rows: DataFrame, ends: DataFrame, key: Sequence[str]) -> DataFrame:
    """How the transactions of rows ended, as far as any row shows it.

    Args:
        rows: rows with `event_time`, `KEY` and `SEQUENCE`, and where there are aliases `own_instance`.
        ends: `outcomes`.
        key: columns that identify a row, none of them null.

    Returns:
        `key` and `found_rollback`.

    A server that restarts uses transaction ids again, and its numbers of rows begin again: the first end
    after a row by time and by number is that of its transaction.
    """
    if "own_instance" in rows.columns:
        rows = rows.withColumn("instance", F.coalesce("own_instance", "instance"))
    asking = rows.where(f"{TRANSACTION} is not null").select(
        *dict.fromkeys([*key, "event_time", *KEY, SEQUENCE])
    )
    sequence = parse_value(F.col(SEQUENCE), "bigint")
    by_number = (F.col("ended_sequence") > sequence) & (
        F.col("ended_at") >= F.col("event_time") - F.lit(DOUBLED)
    )
    is_behind = F.coalesce(by_number, F.col("ended_at") >= F.col("event_time"))
    return (
        asking.join(ends, KEY, "inner")
        .where(is_behind)
        .groupBy(*key)
        .agg(F.min_by("is_rollback", "ended_at").alias("found_rollback"))
    )
