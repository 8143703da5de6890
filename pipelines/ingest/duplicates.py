"""Events that came twice: duplicates are counted once, conflicts are rejected."""

from functools import reduce

from pyspark.sql import Column, DataFrame, functions as F

from schemas import EventContract

EVENT = ("event_date", "event_id")
"""An event's identity: its id is unique in its input within a UTC day."""


def with_identity(rows: DataFrame, contract: EventContract) -> DataFrame:
    """Add `event_date` (UTC day of event_time) and `content_hash` (of the declared, typed columns)."""
    # A hash passes over nulls; the flags tell (null, 'a') from ('a', null).
    nulls = [F.col(name).isNull() for name in contract.names]
    return rows.withColumns(
        {"event_date": F.to_date("event_time"), "content_hash": F.xxhash64(*contract.names, *nulls)}
    )


def hashed_twice(rows: DataFrame, recorded: DataFrame) -> DataFrame:
    """Find what may have come more than once, by eight bytes a row: `repeated` is for these only.

    Args:
        rows: the batch's rows.
        recorded: accepted events of earlier batches.

    Returns:
        One row per `identity_hash` that several rows share. Every event that came twice has one of them;
        so may two that happen to have the same hash.
    """
    hashes = [frame.select(_identity_hash()) for frame in (rows, recorded)]
    counted = (
        reduce(DataFrame.unionByName, hashes).groupBy("identity_hash").agg(F.count(F.lit(1)).alias("rows"))
    )
    return counted.where("rows > 1").select("identity_hash")


def suspects(rows: DataFrame, hashes: DataFrame) -> DataFrame:
    """The rows of the batch that are no events, or may have come more than once by `hashed_twice`."""
    found = hashes.withColumn("is_found", F.lit(True))
    return (
        rows.withColumn("identity_hash", _identity_hash())
        .join(found, "identity_hash", "left")
        .where((F.size("reasons") > 0) | F.col("is_found"))
        .drop("identity_hash", "is_found")
    )


def with_hash_in(recorded: DataFrame, hashes: DataFrame) -> DataFrame:
    """The recorded events whose hash is one of `hashed_twice`."""
    hashed = recorded.withColumn("identity_hash", _identity_hash())
    return hashed.join(hashes, "identity_hash", "left_semi").drop("identity_hash")


def repeated(events: DataFrame, recorded: DataFrame) -> DataFrame:
    """Find the events that came more than once.

    Args:
        events: the batch's events, or its `suspects` among them; any number of rows per event.
        recorded: accepted events of earlier batches, or those `with_hash_in` the batch; one row per event.

    Returns:
        One row per event of the batch that is there more than once or was recorded already; key
        (event_date, event_id). `rows`: its rows in the batch; `recorded_hash`: the content that
        stands, null if none;
        `conflicting`: whether rows of the batch contradict each other.
    """
    named = [*EVENT, "content_hash"]
    both = events.select(*named, F.lit(False).alias("is_recorded")).unionByName(
        recorded.select(*named, F.lit(True).alias("is_recorded"))
    )
    is_new, content = ~F.col("is_recorded"), F.col("content_hash")
    grouped = both.groupBy(*EVENT).agg(
        F.count_if(is_new).alias("rows"),
        F.max(F.when(~is_new, content)).alias("recorded_hash"),
        F.min(F.when(is_new, content)).alias("least"),
        F.max(F.when(is_new, content)).alias("greatest"),
    )
    several = (F.col("rows") > 1) | ((F.col("rows") == 1) & F.col("recorded_hash").isNotNull())
    return grouped.where(several).select(
        *EVENT, "rows", "recorded_hash", (F.col("least") != F.col("greatest")).alias("conflicting")
    )


def set_apart(rows: DataFrame, repeats: DataFrame) -> DataFrame:
    """Find the rows of the batch that are no events, or are events that came more than once.

    Args:
        rows: the batch's `suspects`, with `content_hash` and `reasons`.
        repeats: `repeated` of the events among them.

    Returns:
        These rows with `verdict`: invalid (not an event); twin (all rows of the event are equal and
        none was recorded: one of them is accepted); duplicate (of what was recorded); conflict.
    """
    stands, content = F.col("recorded_hash"), F.col("content_hash")
    verdict = (
        F.when(F.size("reasons") > 0, "invalid")
        .when(F.col("rows").isNull(), None)
        .when(stands.isNotNull() & (stands == content), "duplicate")
        .when(stands.isNotNull() | F.col("conflicting"), "conflict")
        .otherwise("twin")
    )
    return (
        rows.join(repeats, list(EVENT), "left")
        .withColumn("verdict", verdict)
        .where("verdict is not null")
        .drop("rows", "recorded_hash", "conflicting")
    )


def accepted(events: DataFrame, repeats: DataFrame, apart: DataFrame) -> DataFrame:
    """The events to record, each once; key (event_date, event_id).

    Args:
        events: the batch's events.
        repeats: `repeated` of them.
        apart: `set_apart` of the batch's suspects.
    """
    once = events.join(repeats.select(*EVENT), list(EVENT), "left_anti")
    twins = apart.where("verdict = 'twin'").drop("verdict")
    # The rows of a twin are equal in every declared column: whichever stays, the same event stays.
    return once.unionByName(twins.dropDuplicates(list(EVENT)))


def _identity_hash() -> Column:
    return F.xxhash64(*EVENT).alias("identity_hash")
