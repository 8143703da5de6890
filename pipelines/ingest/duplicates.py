"""Repeated events: duplicates are counted once, conflicts are rejected."""

from collections.abc import Collection
from datetime import date

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import row_hash
from pipelines.engine.materialize import Materialize
from pipelines.ingest.days import on_days
from pipelines.ingest.ids import has_more_than_case, is_in_other_spelling
from pipelines.server.snapshots.places import OWN
from schemas import EventContract

EVENT = ["event_date", "event_id"]
"""An event's identity: its id is unique in its input within a UTC day."""


def narrow_rows(rows: DataFrame, contract: EventContract, *, is_mapped: bool = False) -> DataFrame:
    """Reduce each row to the columns that find repeats: 8 bytes of identity, the time, and flags.

    Args:
        rows: rows of `storage.inputs.read`, with `reasons`.
        contract: the input's contract.
        is_mapped: whether these are mapped rows, which have `time_note`.

    Returns:
        One row per row: `identity` (a hash of UTC day and event_id), `event_time`, `is_event`,
        `is_mistyped`, which ends the run with an error, `is_in_other_spelling` and `has_more_than_case`; of
        mapped rows `time_note`.
    """
    return rows.select(
        _identity().alias("identity"),
        "event_time",
        F.col("reasons").isNull().alias("is_event"),
        F.col("mistyped").isNotNull().alias("is_mistyped"),
        is_in_other_spelling(contract).alias("is_in_other_spelling"),
        has_more_than_case(contract).alias("has_more_than_case"),
        *(["time_note"] if is_mapped else []),
    )


def find_repeated_hashes(
    narrow_rows: DataFrame, recorded: DataFrame, *, full_days: Collection[date], other_days: Collection[date]
) -> DataFrame:
    """Find the hashes that several rows share; every repeated event has one of them.

    Args:
        narrow_rows: `narrow_rows` of the batch, materialized, as it is read twice.
        recorded: accepted events of earlier batches.
        full_days: the UTC days with many events of the batch.
        other_days: all other days of its events. Recorded events of these days are compared with the
            batch's few hashes only.

    Returns:
        (identity), unique. Two different events can share one by chance; `find_repeated` compares them.
    """
    hashes = narrow_rows.select("identity")
    if full_days:
        hashes = hashes.unionByName(on_days(recorded, full_days).select(_identity().alias("identity")))
    if other_days:
        few = on_days(narrow_rows, other_days).select("identity").distinct()
        known = on_days(recorded, other_days).select(_identity().alias("identity"))
        hashes = hashes.unionByName(known.join(F.broadcast(few), "identity", "left_semi"))
    counted = hashes.groupBy("identity").agg(F.count(F.lit(1)).alias("rows"))
    return counted.where("rows > 1").select("identity")


def select_near_suspects(rows: DataFrame, narrow_rows: DataFrame, hashes: DataFrame) -> DataFrame:
    """Select the rows among which the suspects are: rows of their times, and rows without a time.

    Args:
        rows: the batch's rows.
        narrow_rows: `narrow_rows` of the batch.
        hashes: `find_repeated_hashes`; few.

    Returns:
        Few rows, unchanged. All other rows are events, each once.
    """
    suspect = _marked(narrow_rows, hashes).where("not is_event or is_found")
    timeless = rows.where("event_time is null")
    return _by_moment(rows, suspect, "left_semi").unionByName(timeless)


def select_suspects(near_rows: DataFrame, hashes: DataFrame) -> DataFrame:
    """Select the rows that are no events, or can be repeated.

    Args:
        near_rows: `select_near_suspects` with `reasons`.
        hashes: `find_repeated_hashes`; few.

    Returns:
        The selected rows with `event_date`.
    """
    rows = near_rows.withColumns({"identity": _identity(), "event_date": F.to_date("event_time")})
    return _marked(rows, hashes).where("reasons is not null or is_found").drop("identity", "is_found")


def select_with_hashes(recorded: DataFrame, hashes: DataFrame) -> DataFrame:
    """Select the recorded events whose hash is one of `find_repeated_hashes`."""
    row_hash = recorded.withColumn("identity", _identity())
    return row_hash.join(F.broadcast(hashes), "identity", "left_semi").drop("identity")


def find_repeated(events: DataFrame, recorded: DataFrame, contract: EventContract) -> DataFrame:
    """Find the repeated events.

    Args:
        events: the events among the suspects of the batch.
        recorded: recorded events, `select_with_hashes`.
        contract: the input's contract; its columns are an event's content.

    Returns:
        One row per event that the batch has more than once or that was recorded before; key (event_date,
        event_id). `recorded_content`: the recorded content, null if none; `conflicting`: whether rows of the
        batch contradict each other.
    """
    both = _with_content(events, contract, is_new=True).unionByName(
        _with_content(recorded, contract, is_new=False)
    )
    is_new, content = F.col("is_new"), F.col("content")
    grouped = both.groupBy(*EVENT).agg(
        F.count_if(is_new).alias("rows"),
        F.max(F.when(~is_new, content)).alias("recorded_content"),
        F.min(F.when(is_new, content)).alias("least"),
        F.max(F.when(is_new, content)).alias("greatest"),
    )
    several = (F.col("rows") > 1) | ((F.col("rows") == 1) & F.col("recorded_content").isNotNull())
    return grouped.where(several).select(
        *EVENT, "recorded_content", (F.col("least") != F.col("greatest")).alias("conflicting")
    )


def decide_duplicates(few: DataFrame, repeats: DataFrame, contract: EventContract) -> DataFrame:
    """Decide for each suspect whether it is accepted.

    Args:
        few: `select_suspects` of the batch.
        repeats: `find_repeated` of the events among them.
        contract: the input's contract.

    Returns:
        The suspects with `verdict`: invalid (not an event); accepted (not repeated); twin (all rows of the
        event are equal and none was recorded: one of them is accepted); duplicate (of a recorded event);
        conflict.
    """
    stands, content = F.col("recorded_content"), _content(contract)
    verdict = (
        F.when(F.col("reasons").isNotNull(), "invalid")
        .when(F.col("conflicting").isNull(), "accepted")
        .when(stands.isNotNull() & (stands == content), "duplicate")
        .when(stands.isNotNull() | F.col("conflicting"), "conflict")
        .otherwise("twin")
    )
    return (
        few.join(F.broadcast(repeats), EVENT, "left")
        .withColumn("verdict", verdict)
        .drop("recorded_content", "conflicting")
    )


def select_accepted(
    rows: DataFrame,
    near_rows: DataFrame,
    verdicts: DataFrame,
    contract: EventContract,
    materialize: Materialize,
) -> DataFrame:
    """Select the events to record, each once, with the declared columns.

    The key is (UTC day of event_time, event_id).

    Args:
        rows: the batch's rows.
        near_rows: `select_near_suspects`; few, materialized.
        verdicts: `decide_duplicates`; few, materialized.
        contract: the input's contract.
        materialize: computes a frame once.

    Rows whose time no suspect has are found by their time alone, without `reasons`, so that a query reads
    only the columns it needs.
    """
    apart = F.broadcast(verdicts.select(*EVENT).distinct())
    # The rows of a twin are equal in every declared column, so any of them can stay.
    twins = verdicts.where("verdict = 'twin'").dropDuplicates(EVENT)
    beside = (
        near_rows.where("event_id is not null and event_time is not null")
        .withColumn("event_date", F.to_date("event_time"))
        .join(apart, EVENT, "left_anti")
    )
    names = recorded_names(rows, contract)
    few = materialize(
        beside.select(*names)
        .unionByName(verdicts.where("verdict = 'accepted'").select(*names))
        .unionByName(twins.select(*names))
    )
    others = _by_moment(rows.where("event_time is not null"), near_rows, "left_anti")
    return others.select(*names).unionByName(few)


def recorded_names(rows: DataFrame, contract: EventContract) -> list[str]:
    """The declared columns, and what aliases of databases replaced."""
    return [*contract.names, *[name for name in OWN if name in rows.columns]]


def _marked(rows: DataFrame, hashes: DataFrame) -> DataFrame:
    """Rows that have `identity`, with `is_found`: true if it is one of the hashes, else null."""
    return rows.join(F.broadcast(hashes.withColumn("is_found", F.lit(True))), "identity", "left")


def _by_moment(rows: DataFrame, few: DataFrame, how: str) -> DataFrame:
    """The rows with the event_time of one of the few rows (left_semi), or of none (left_anti)."""
    # A number, as a sort-merge join of times can fail.
    moment = F.unix_micros("event_time").alias("moment")
    moments = F.broadcast(few.where("event_time is not null").select(moment).distinct())
    return rows.withColumn("moment", moment).join(moments, "moment", how).drop("moment")


def _identity() -> Column:
    return row_hash(F.to_date("event_time"), F.col("event_id"))


def _content(contract: EventContract) -> Column:
    # A hash ignores nulls; the flags distinguish (null, 'a') from ('a', null).
    columns = [F.col(name) for name in contract.names]
    return row_hash(*columns, *[column.isNull() for column in columns])


def _with_content(events: DataFrame, contract: EventContract, *, is_new: bool) -> DataFrame:
    return events.select(
        F.to_date("event_time").alias("event_date"),
        "event_id",
        _content(contract).alias("content"),
        F.lit(is_new).alias("is_new"),
    )
