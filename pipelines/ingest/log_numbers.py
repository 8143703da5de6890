"""Numbers of the messages of a trace: they are counted, and hold where the sequences of captures agree."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.config.log_mapping import DATABASE, INSTANCE
from pipelines.engine.frames import union_all
from pipelines.engine.materialize import Materialize
from pipelines.ingest.ids import NUMBERED
from pipelines.ingest.log_transactions import SEQUENCE, TRANSACTION, find_outcomes
from pipelines.ingest.snapshots.identity import with_handles
from pipelines.storage.inputs.log_rows import LogReading
from pipelines.storage.inputs.mapped_rows import with_instant
from pipelines.storage.inputs.text import parse_value
from pipelines.storage.placed import placed_events
from pipelines.storage.warehouse import Warehouse
from schemas.events import CREATIONS, ENDPOINT_FACTS, MESSAGES
from schemas.ids import canonical_id

ENDPOINT = ["instance", "database", "conversation_id", "is_initiator"]
LINE = [*ENDPOINT, "is_sent"]
"""What is counted alone: the messages that an endpoint sends, and those that it gets."""
ROW = [*ENDPOINT, "event_time", "sequence"]
MESSAGE_ROW = ["instance", "database", *NUMBERED[:2], "event_type", "event_time", "counted_sequence"]
STEP, BEGUN, SENT, ARRIVED = "step", "begun", "sent", "arrived"
SAID = ("message_type", "size_bytes")
"""What a trace does not say of a message."""


def count_steps(raw: DataFrame, log: LogReading, ends: DataFrame | None, warehouse: Warehouse) -> DataFrame:
    """The rows of a log that take numbers, each once, without those that were rolled back.

    Args:
        raw: `read_log`; files may overlap.
        log: how it was read; its mapping has sequences and transactions.
        ends: `log_transactions.outcomes`; None if no row says any.
        warehouse: for the names of databases.

    Returns:
        `ROW` and `STEP`; only rows that have a place in the log.
    """
    sequences, transactions = log.mapping.sequences, log.mapping.transactions
    assert sequences is not None
    assert transactions is not None
    steps = {BEGUN: sequences.begun, SENT: sequences.sent, ARRIVED: sequences.arrived}
    step = F.coalesce(*[F.when(log.holds(given), F.lit(name)) for name, given in steps.items()])
    rows = with_instant(
        raw.where(~F.col("broken")).withColumn(STEP, step).where(f"{STEP} is not null"), log.clock
    )
    role = F.lower(F.trim(log.column(sequences.role)))
    steps_of = rows.select(
        log.column(INSTANCE).alias("instance"),
        log.column(DATABASE).alias("database"),
        canonical_id(log.column(sequences.conversation)).alias("conversation_id"),
        F.when(role.isin("initiator", "target"), role == "initiator").alias("is_initiator"),
        F.col("instant").alias("event_time"),
        parse_value(log.column(transactions.sequence), "bigint").alias(SEQUENCE),
        F.trim(log.column(transactions.id)).alias(TRANSACTION),
        STEP,
    )
    whole = steps_of.where(" and ".join(f"{name} is not null" for name in ROW)).distinct()
    if ends is not None:
        whole = whole.join(find_outcomes(whole, ends, ROW), ROW, "left").where(
            "found_rollback is null or not found_rollback"
        )
    return placed_events(whole, warehouse.places).select(*ROW, STEP)


def shown_sequences(warehouse: Warehouse, shown: DataFrame | None, steps: DataFrame) -> DataFrame | None:
    """What captures say of the next numbers of endpoints; None if there are none.

    Args:
        warehouse: the tables.
        shown: the endpoint events of the snapshots of this batch.
        steps: `count_steps`; only their endpoints count.
    """
    frames = [] if shown is None else [shown]
    if warehouse.exists(ENDPOINT_FACTS):
        frames.append(warehouse.read(ENDPOINT_FACTS).where("closed_on is null"))
    if not frames:
        return None
    sequences = ["send_sequence", "receive_sequence"]
    is_shown = (
        F.col("event_type").isin(*CREATIONS) & F.col("seen_at").isNotNull() & F.col("inferred").isNull()
    )
    is_said = F.col("send_sequence").isNotNull() | F.col("receive_sequence").isNotNull()
    found = [each.where(is_shown & is_said).select(*ENDPOINT, "seen_at", *sequences) for each in frames]
    return union_all(found).join(steps.select(*ENDPOINT).distinct(), ENDPOINT, "left_semi")


def number_steps(steps: DataFrame, shown: DataFrame) -> DataFrame:
    """The numbers of messages, where captures agree.

    Args:
        steps: `count_steps`.
        shown: `shown_sequences`.

    Returns:
        The steps that send or get a message, with `number`. A stretch of an endpoint goes from a capture, or
        from its begin, to the next capture; it has as many steps as the sequence grew, else its steps are
        left out. They are left out, too, if their times contradict their order in the log.
    """
    lines = {True: (SENT, "send_sequence"), False: (ARRIVED, "receive_sequence")}
    steps = steps.join(shown.select(*ENDPOINT).distinct(), ENDPOINT, "left_semi")
    frames = []
    for is_sent, (step, next_number) in lines.items():
        line = F.lit(is_sent).alias("is_sent")
        nothing = F.lit(None).cast("bigint")
        frames.append(
            steps.where(F.col(STEP).isin(BEGUN, step)).select(*ROW, STEP, line, nothing.alias("next_number"))
        )
        frames.append(
            shown.where(f"{next_number} is not null")
            .groupBy(*ENDPOINT, F.col("seen_at").alias("event_time"))
            .agg(F.max(next_number).alias("next_number"))
            .select(
                *ENDPOINT,
                "event_time",
                nothing.alias("sequence"),
                F.lit(None).cast("string").alias(STEP),
                line,
                "next_number",
            )
        )
    is_capture, is_message = F.col("next_number").isNotNull(), F.col(STEP) != BEGUN
    in_time = Window.partitionBy(*LINE).orderBy("event_time", F.when(is_capture, 0).otherwise(1))
    stretch = F.sum(is_capture.cast("int")).over(in_time.rowsBetween(Window.unboundedPreceding, 0))
    rows = union_all(frames).withColumn("stretch", stretch)
    in_log = Window.partitionBy(*LINE, "stretch", STEP).orderBy("sequence")
    rows = rows.withColumns(
        {
            "place": F.when(is_message, F.row_number().over(in_log)),
            "is_behind": F.when(is_message, F.lag("event_time").over(in_log) > F.col("event_time")),
        }
    )
    stretches = rows.groupBy(*LINE, "stretch").agg(
        F.coalesce(F.max("next_number"), F.max(F.when(F.col(STEP) == BEGUN, F.lit(0)))).alias("first"),
        F.count("place").alias("messages"),
        F.bool_or("is_behind").alias("is_odd"),
    )
    following = F.lead("first").over(Window.partitionBy(*LINE).orderBy("stretch"))
    agreed = stretches.withColumn("following", following).where(
        "following - first = messages and not coalesce(is_odd, false)"
    )
    counted = rows.where(is_message).join(
        agreed.select(*LINE, "stretch", "first"), [*LINE, "stretch"], "inner"
    )
    return counted.select(*ROW, "is_sent", (F.col("first") + F.col("place") - 1).alias("number"))


def with_numbers(
    rows: DataFrame,
    numbered: DataFrame,
    known: DataFrame,
    messages: DataFrame | None,
    logged: Sequence[DataFrame],
    warehouse: Warehouse,
    materialize: Materialize,
) -> DataFrame:
    """Give messages of a trace their numbers, and what another input says of the message with the number.

    Args:
        rows: mapped rows of message events.
        numbered: `number_steps`, materialized.
        known: `pending.known_endpoints`.
        messages: the messages of the snapshots of this batch; None if there are none.
        logged: the accepted message events of other sources in this batch.
        warehouse: the tables.
        materialize: computes a frame once.
    """
    if numbered.isEmpty():
        return rows
    is_sent = F.col("is_sent")
    counted = numbered.select(
        "instance",
        "database",
        "conversation_id",
        (F.col("is_initiator") == is_sent).alias("sent_by_initiator"),
        F.when(is_sent, "SENT").otherwise("DELIVERED").alias("event_type"),
        "event_time",
        F.col("sequence").alias("counted_sequence"),
        F.col("number").alias("counted"),
    )
    asked = counted.select(*NUMBERED[:2], F.col("counted").alias(NUMBERED[2])).distinct()
    frames = [each.withColumn("is_logged", F.lit(True)) for each in logged]
    if warehouse.exists(MESSAGES):
        open_rows = warehouse.read(MESSAGES).where("closed_on is null")
        frames.append(open_rows.withColumn("is_logged", F.col("seen_at").isNull()))
    if messages is not None:
        handles = known.join(asked.select("conversation_id").distinct(), "conversation_id", "left_semi")
        by_handle = ["instance", "conversation_handle"]
        of_asked = messages.join(handles.select(*by_handle), by_handle, "left_semi")
        frames.append(with_handles(of_asked, handles).withColumn("is_logged", F.lit(False)))
    if not frames:
        return rows
    said = (
        union_all([each.select(*NUMBERED, "message_id", *SAID, "is_logged") for each in frames])
        .join(asked, list(NUMBERED), "left_semi")
        .groupBy(*NUMBERED)
        .agg(
            F.min(F.when(F.col("is_logged"), F.col("message_id"))).alias("said_message_id"),
            *[F.min(name).alias(f"said_{name}") for name in SAID],
        )
        .withColumnRenamed(NUMBERED[2], "counted")
    )
    found = materialize(counted.join(said, [*NUMBERED[:2], "counted"], "left"))
    asking = rows.withColumns(
        {
            "asked_id": canonical_id(F.col("conversation_id")),
            "counted_sequence": parse_value(F.col(SEQUENCE), "bigint"),
        }
    )
    key = ["asked_id" if name == "conversation_id" else name for name in MESSAGE_ROW]
    joined = asking.join(found.withColumnRenamed("conversation_id", "asked_id"), key, "left")
    said_of = {name: F.coalesce(name, f"said_{name}") for name in ("message_id", *SAID)}
    number = F.coalesce(NUMBERED[2], "counted")
    return joined.withColumns({**said_of, NUMBERED[2]: number}).select(*rows.columns)
