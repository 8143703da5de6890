"""Rows of mapped sources that wait for what makes them events: an endpoint that has their handle.

`pending_events` has what is pending after the last complete batch. Each batch reads these rows again, with
its own. It writes what is pending then beside the rows of the batch before, and removes those once it is
complete: an attempt that breaks off leaves all.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import empty_frame, union_all
from pipelines.ingest.reasons import HANDLE_UNKNOWN
from pipelines.ingest.snapshots.identity import HANDLE, endpoints_by_handle, of_endpoint
from pipelines.ingest.snapshots.message_endpoints import made_of_messages
from pipelines.storage.inputs.mapped_rows import SourceMapping
from pipelines.storage.inputs.payloads import payload_of_mapped
from pipelines.storage.inputs.text import parse_value
from pipelines.storage.warehouse import Warehouse
from schemas.events import CREATIONS, ENDPOINT_FACTS
from schemas.ids import canonical_id
from schemas.ledger import ENDPOINTS
from schemas.outputs import PENDING_EVENTS

KEPT = timedelta(days=31)
"""How far the newest event may be ahead of a row that is pending."""
OWN_ENDPOINT, OTHER_ENDPOINT = ("SENT",), ("DELIVERED", "RECEIVED")
"""Message events at the sender, and at the receiver."""


def known_endpoints(warehouse: Warehouse, shown: Sequence[DataFrame]) -> DataFrame:
    """The endpoints that have handles: those of the ledger, and of endpoint events of this batch.

    Args:
        warehouse: the tables.
        shown: rows of endpoint events, of files and of snapshots.
    """
    # Endpoints that only messages show are named by their handles.
    frames = [rows.where(~made_of_messages()).select(*HANDLE) for rows in shown]
    if warehouse.exists(ENDPOINTS):
        ledger = warehouse.read(ENDPOINTS).where("conversation_handle <> conversation_id")
        frames.append(ledger.select(*HANDLE))
    if warehouse.exists(ENDPOINT_FACTS):
        # A handle may be known of an endpoint whose creation is not; a row may come after its end was closed.
        is_asked = F.col("closed_on").isNull() | ~F.col("event_type").isin(*CREATIONS)
        events = warehouse.read(ENDPOINT_FACTS).where(is_asked).where(~made_of_messages())
        frames.append(events.select(*HANDLE))
    return union_all(frames) if frames else empty_frame(warehouse.spark, ENDPOINTS.struct).select(*HANDLE)


def pending_sources(warehouse: Warehouse) -> set[str]:
    """The sources that have pending rows."""
    if not warehouse.exists(PENDING_EVENTS):
        return set()
    return {row.source for row in warehouse.read(PENDING_EVENTS).select("source").distinct().collect()}


def with_pending_before(
    rows: DataFrame | None, warehouse: Warehouse, mapping: SourceMapping, batch: int
) -> DataFrame:
    """The new rows of a source and those of it that were pending after the batch before.

    Returns:
        The rows, with `first_seen`, null for new ones.
    """
    nothing = F.lit(None).cast("timestamp").alias("first_seen")
    frames = [] if rows is None else [rows.select("*", nothing)]
    if rows is None or warehouse.exists(PENDING_EVENTS):
        frames.append(_read_again(warehouse, mapping, batch - 1))
    names = frames[0].columns
    return union_all([frame.select(*names) for frame in frames])


def _read_again(warehouse: Warehouse, mapping: SourceMapping, last: int) -> DataFrame:
    kept = warehouse.read(PENDING_EVENTS).where(
        (F.col("source") == mapping.source) & (F.col("batch") == last)
    )
    fields = ", ".join(f"`{column.name}` string" for column in mapping.mapped)
    told = kept.select("event_id", "first_seen", F.from_json("payload", fields).alias("told"))
    if mapping.table is not None:
        # A log has rows of several tables, which no type of events shares.
        told = told.where(F.col("told")["event_type"].isin(*mapping.contract.event_types))
    nothing = F.lit(None).cast("string")
    return told.select(
        "event_id",
        *[
            parse_value(F.col("told")[each.name], each.type).alias(each.name)
            for each in mapping.mapped
            if each.name != "event_id"
        ],
        F.lit(False).alias("broken"),
        *[nothing.alias(name) for name in ("unreadable", "mistyped", "raw", "time_note", "payload")],
        *([] if mapping.has_ids else [F.lit(-1).alias("file")]),
        *([] if mapping.table is None else [nothing.alias("class")]),
        "first_seen",
    )


def resolve_handles(rows: DataFrame, known: DataFrame, mapping: SourceMapping) -> DataFrame:
    """Say whose endpoint the handle of a row is.

    Args:
        rows: rows of `with_pending_before`.
        known: `known_endpoints`.
        mapping: the source's mapping.

    Returns:
        The rows with `pending_reason`: no endpoint of the row's database has the handle, nor one alone of its
        instance. Then conversation and side stand empty for what is not known.
    """
    names = rows.columns
    if mapping.contract.source == ENDPOINT_FACTS.name:
        known = known.unionByName(_own_endpoints(rows))
    side = "sent_by_initiator" if "sent_by_initiator" in mapping.contract.names else "is_initiator"
    is_asking = ~F.col("broken") & (F.col("conversation_id").isNull() | F.col(side).isNull())
    handle = F.when(is_asking, canonical_id(F.col("conversation_handle")))
    rows = rows.withColumn("asked", handle)
    key = ["instance", "database", "asked"]
    found = rows.join(_endpoints(rows.select(*key).where("asked is not null").distinct(), known), key, "left")
    is_initiator, conversation = of_endpoint("endpoint")
    event_type = F.col("event_type")
    by_sender = F.when(event_type.isin(*OWN_ENDPOINT), is_initiator).when(
        event_type.isin(*OTHER_ENDPOINT), ~is_initiator
    )
    is_pending = F.col("asked").isNotNull() & F.col("endpoint").isNull()
    written = payload_of_mapped(
        found if mapping.has_ids else found.drop("event_id"), mapping.contract, mapping.kept
    )
    meant = by_sender if side == "sent_by_initiator" else is_initiator
    return found.select(
        *[F.col(name) for name in names if name not in ("conversation_id", side, "payload")],
        F.coalesce("payload", F.when(is_pending, written)).alias("payload"),
        F.coalesce("conversation_id", conversation, F.when(is_pending, "")).alias("conversation_id"),
        F.coalesce(side, meant, F.when(is_pending, F.lit(False))).alias(side),
        F.when(is_pending, F.lit(HANDLE_UNKNOWN)).alias("pending_reason"),
    )


def _own_endpoints(rows: DataFrame) -> DataFrame:
    """The endpoints that rows of endpoint events show by themselves."""
    ids = {name: canonical_id(F.col(name)) for name in ("conversation_id", "conversation_handle")}
    is_whole = " and ".join(f"{name} is not null" for name in HANDLE)
    return rows.where(is_whole).withColumns(ids).select(*HANDLE)


def _endpoints(asked: DataFrame, known: DataFrame) -> DataFrame:
    """The endpoint of each asked handle, if there is only one that may be meant."""
    is_here = F.col("lives_in") == F.col("database")
    here = F.when(is_here, F.col("endpoint"))
    endpoints = endpoints_by_handle(known).withColumnRenamed("conversation_handle", "asked")
    found = asked.join(endpoints, ["instance", "asked"], "inner")
    bounds = found.groupBy("instance", "database", "asked").agg(
        F.min(here).alias("first_here"),
        F.max(here).alias("last_here"),
        F.min("endpoint").alias("first"),
        F.max("endpoint").alias("last"),
    )
    of_own = F.when(F.col("first_here") == F.col("last_here"), F.col("first_here"))
    of_one = F.when(F.col("first") == F.col("last"), F.col("first"))
    chosen = F.when(F.col("first_here").isNotNull(), of_own).otherwise(of_one)
    return bounds.select("instance", "database", "asked", chosen.alias("endpoint"))


def select_pending(rows: DataFrame) -> DataFrame:
    """The rows that are events but for their endpoint: each event once, with how many rows say it.

    Args:
        rows: rows of `resolve_handles` with `reasons`.
    """
    return (
        rows.where(is_pending())
        .groupBy("event_id")
        .agg(
            F.min("event_time").alias("event_time"),
            F.min("pending_reason").alias("reason"),
            F.min("payload").alias("payload"),
            F.min("first_seen").alias("first_seen"),
            F.count(F.lit(1)).alias("rows"),
        )
    )


def is_pending() -> Column:
    """Whether a row with `pending_reason` waits, and nothing else is wrong with it."""
    return F.col("pending_reason").isNotNull() & F.col("reasons").isNull()


def is_given_up(newest: datetime | None) -> Column:
    """Whether the log has gone on for so long that a pending row is rejected."""
    if newest is None:
        return F.lit(False)
    return F.col("event_time") < F.lit(newest - KEPT)


def write_pending(
    warehouse: Warehouse,
    number: int,
    pending: Sequence[DataFrame],
    sources: Sequence[str],
    started_at: datetime,
) -> None:
    """Write what is pending after a batch, beside what was pending before it.

    Args:
        warehouse: the tables.
        number: the number of the batch.
        pending: (source, event_id, reason, payload, first_seen) of the sources that were read.
        sources: these sources; rows of others stay as they are.
        started_at: the start of the run, when new rows are first seen.
    """
    if not pending and not warehouse.exists(PENDING_EVENTS):
        return
    frames = list(pending)
    if warehouse.exists(PENDING_EVENTS):
        before = warehouse.read(PENDING_EVENTS).where(F.col("batch") == number - 1)
        others = before.where(~F.col("source").isin(*sources)) if sources else before
        frames.append(others.drop("batch"))
    rows = union_all(frames).withColumns(
        {
            "first_seen": F.coalesce("first_seen", F.lit(started_at)),
            "batch": F.lit(number).cast("bigint"),
        }
    )
    warehouse.replace(PENDING_EVENTS, rows.select(*PENDING_EVENTS.names), where=f"batch >= {number}")


def remove_tried(warehouse: Warehouse, number: int) -> None:
    """Remove what was pending before a batch that is complete."""
    if warehouse.exists(PENDING_EVENTS):
        gone = warehouse.read(PENDING_EVENTS).where("false")
        warehouse.replace(PENDING_EVENTS, gone, where=f"batch < {number}")
