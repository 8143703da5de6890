"""The tables of activation: runs of checks, and the summary of each queue with its advice."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation.advice import advice, advice_sentence
from pipelines.activation.evidence import LOGGED, Evidence
from pipelines.activation.monitor import RUN
from schemas.keys import QUEUE
from schemas.outputs import ACTIVATION_SUMMARY

SECOND = 1_000_000
COUNTED = (
    "ready",
    "rollbacks",
    "receives",
    "takes",
    "exits",
    "exits_with_ready",
    "exits_without_start",
    "waits_without_start",
    "waits_without_end",
    "most_ready",
)
ODDITIES = (
    "exits_without_start",
    "waits_without_start",
    "waits_without_end",
    "received_while_not_ready",
    "negative_row_counts",
)
COUNTS = ("activations", "groups_ready", "groups_free", "conversations")
NOTIFIED = {"notified_at": "timestamp", "notified_since": "timestamp", "tasks_running": "bigint"}
FIGURES = (
    "need_seconds",
    "short_seconds",
    "activations",
    "most_ready",
    "groups_ready",
    "groups_free",
    "ready_at_end",
)
"""Of a queue that the catalog lacks they are 0."""
COLUMNS = [name for name in ACTIVATION_SUMMARY.names if name not in ("as_of", "as_of_key", *QUEUE)]
MOMENTS = ("first_check", "last_check", "until")
EVENT_COUNTS = ("received_while_not_ready", "negative_row_counts")


@dataclass(frozen=True)
class SummaryParts:
    """The frames that a summary joins, and the evidence.

    Attributes:
        replay: `monitor.replay_monitors`.
        groups: `backlog.count_groups`.
        periods: see `pipelines.activation.ready`.
        event_counts: `count_events`.
        evidence: evidence of the log and of snapshots about readers.
    """

    replay: DataFrame
    groups: DataFrame
    periods: DataFrame
    event_counts: DataFrame
    evidence: Evidence


def summary(monitors: DataFrame, parts: SummaryParts, *, start: int) -> DataFrame:
    """Summarize the window of each monitored queue.

    Args:
        monitors: (queue_number, instance, database, queue, mode, max_queue_readers, is_on), unique by the
            first.
        parts: the frames that are joined, and the evidence.
        start: start of the window, in microseconds.

    Returns:
        The `activation_summary` table without as_of: one row per monitored queue.
    """
    # Whole microseconds: a sum of fractions depends on the order of the rows.
    length = F.col("until") - F.col("first_check")
    is_short = F.col("suppressed_by") == "max_queue_readers"
    runs = (
        parts.replay.where("ordinal > 0")
        .groupBy("queue_number")
        .agg(
            (F.sum(length) / SECOND).alias("need_seconds"),
            (F.sum(F.when(is_short, length)) / SECOND).alias("short_seconds"),
            F.sum(F.when(F.col("occurs"), F.col("checks"))).alias("activations"),
        )
    )
    totals = parts.replay.where("ordinal = 0").select(
        "queue_number", *COUNTED, "most_ready_at", "off_since", F.col("is_on").alias("was_left_on")
    )
    not_ready = (
        parts.periods.where("not_ready > 0")
        .groupBy("queue_number")
        .agg(F.sum("not_ready").alias("received_while_not_ready"))
    )
    rows = monitors.join(F.broadcast(parts.event_counts.select(*QUEUE, "negative_row_counts")), QUEUE, "left")
    for part in (totals, runs, parts.groups, not_ready):
        rows = rows.join(F.broadcast(part), "queue_number", "left")
    evidence = parts.evidence
    if evidence.notified is None:
        rows = rows.withColumns({name: F.lit(None).cast(type) for name, type in NOTIFIED.items()})
    else:
        rows = rows.join(F.broadcast(evidence.notified), "queue_number", "left")
    rows = rows.join(F.broadcast(evidence.logged), "instance", "left").join(
        F.broadcast(evidence.seen_off), ["queue_number", "off_since"], "left"
    )
    rows = rows.fillna(False, [*LOGGED]).fillna(
        0, [*COUNTED, *COUNTS, *EVENT_COUNTS, "need_seconds", "short_seconds"]
    )
    rows = rows.withColumns(
        {
            "is_on": F.coalesce("was_left_on", "is_on"),
            "was_off_before": F.col("off_since") < F.lit(start),
            "off_since": F.when(F.col("off_seen_at").isNull(), F.timestamp_micros("off_since")),
            "most_ready_at": F.timestamp_micros("most_ready_at"),
            "ready_at_end": F.col("ready"),
        }
    )
    rows = rows.withColumn("advice", advice())
    rows = rows.withColumns({"sentence": advice_sentence(), "oddities": _oddities()})
    return rows.select(*QUEUE, *COLUMNS)


def activation(replay: DataFrame, monitors: DataFrame) -> DataFrame:
    """The table `activation` without as_of: runs with the names of their queues.

    Args:
        replay: `replay_monitors`.
        monitors: (queue_number, instance, database, queue, mode, ...), unique by the first.
    """
    runs = replay.where("ordinal > 0").select("queue_number", "ordinal", *RUN)
    named = runs.join(F.broadcast(monitors.select("queue_number", *QUEUE, "mode")), "queue_number", "inner")
    return named.withColumns({name: F.timestamp_micros(name) for name in MOMENTS}).drop("queue_number")


def most_ready(replay: DataFrame) -> DataFrame:
    """(queue_number, moment): when most messages were ready, in microseconds; no row without any."""
    moment = F.col("most_ready_at")
    return replay.where((F.col("ordinal") == 0) & moment.isNotNull()).select(
        "queue_number", moment.alias("moment")
    )


def count_events(queue_events: DataFrame) -> DataFrame:
    """Count the queue events of the queues that they name.

    Args:
        queue_events: the queue events of the window.

    Returns:
        One row per (instance, database, queue): `events`, and `negative_row_counts` among them.
    """
    return queue_events.groupBy(*QUEUE).agg(
        F.count(F.lit(1)).alias("events"), F.count_if(F.col("row_count") < 0).alias("negative_row_counts")
    )


def of_unknown_queues(event_counts: DataFrame, known: DataFrame) -> DataFrame:
    """Count the queue events of queues that the catalog lacks.

    Args:
        event_counts: `count_events`.
        known: (instance, database, queue) of the catalog, unique.

    Returns:
        The `activation_summary` table without as_of: one row per unknown queue.
    """
    counted = event_counts.join(F.broadcast(known), QUEUE, "left_anti")
    sentence = F.format_string(
        "%,d queue events name this queue and the catalog does not: add it, with its monitor.", "events"
    )
    values: dict[str, Column] = {
        **{name: F.lit(0) for name in FIGURES},
        "is_on": F.lit(True),
        "advice": F.lit("not_in_catalog"),
        "sentence": sentence,
        "oddities": F.create_map(F.lit("queue_not_in_catalog"), F.col("events")),
    }
    fields = [field for field in ACTIVATION_SUMMARY.struct if field.name in COLUMNS]
    return counted.select(
        *QUEUE, *[values.get(each.name, F.lit(None)).cast(each.dataType).alias(each.name) for each in fields]
    )


def _oddities() -> Column:
    """The counts above 0, by name."""

    def positive(values: list[Column]) -> Column:
        some = [F.when(F.col(name) > 0, value) for name, value in zip(ODDITIES, values, strict=True)]
        return F.array_compact(F.array(*some))

    return F.map_from_arrays(
        positive([F.lit(name) for name in ODDITIES]), positive([F.col(name) for name in ODDITIES])
    )
