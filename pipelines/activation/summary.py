"""What a night says of each queue with a monitor, down to a sentence of advice."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation.evidence import LOGGED, Evidence
from schemas.keys import QUEUE

SECOND = 1_000_000
WORTH_SAYING = 60
"""Seconds in a window; what lasted shorter is no reason to change anything. Our choice."""

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
EVENT_COUNTS = ("received_while_not_ready", "negative_row_counts")


@dataclass(frozen=True)
class SummaryParts:
    """The frames that a summary joins, and the evidence.

    Attributes:
        replay: `pipelines.activation.workers.replay_monitors`.
        groups: `backlog.count_groups`.
        periods: see `pipelines.activation.ready`.
        event_counts: `count_events`.
        evidence: what the log and the snapshots say of readers.
    """

    replay: DataFrame
    groups: DataFrame
    periods: DataFrame
    event_counts: DataFrame
    evidence: Evidence


def summary(monitors: DataFrame, parts: SummaryParts, *, start: int) -> DataFrame:
    """Sum the window up per monitored queue.

    Args:
        monitors: (queue_number, instance, database, queue, mode, max_queue_readers, is_on), unique by the
            first.
        parts: what the summary is made of.
        start: start of the window, in microseconds.

    Returns:
        The `activation_summary` table without as_of: one row per monitored queue.
    """
    # Whole microseconds: a sum of fractions depends on the order of the rows.
    length = F.col("run.until") - F.col("run.first_check")
    is_short = F.col("run.suppressed_by") == "max_queue_readers"
    runs = (
        parts.replay.where("ordinal > 0")
        .groupBy("queue_number")
        .agg(
            (F.sum(length) / SECOND).alias("need_seconds"),
            (F.sum(F.when(is_short, length)) / SECOND).alias("short_seconds"),
            F.sum(F.when(F.col("run.occurs"), F.col("run.checks"))).alias("activations"),
        )
    )
    totals = parts.replay.where("ordinal = 0").select(
        "queue_number",
        *[f"totals.{name}" for name in (*COUNTED, "most_ready_at", "off_since")],
        F.col("totals.is_on").alias("was_left_on"),
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
    rows = rows.withColumn("advice", _advice())
    return rows.select(
        *QUEUE,
        "mode",
        "max_queue_readers",
        "need_seconds",
        "short_seconds",
        "activations",
        "most_ready",
        "most_ready_at",
        "groups_ready",
        "groups_free",
        "ready_at_end",
        "is_on",
        "off_since",
        "advice",
        _sentence().alias("sentence"),
        _oddities().alias("oddities"),
    )


def most_ready(replay: DataFrame) -> DataFrame:
    """(queue_number, moment): when the most messages were ready, in microseconds; unless there were none."""
    moment = F.col("totals.most_ready_at")
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
    nothing: dict[str, Column] = {
        name: F.lit(0).cast("bigint")
        for name in ("activations", "most_ready", "groups_ready", "groups_free", "ready_at_end")
    }
    never = F.lit(None).cast("timestamp")
    return counted.select(
        *QUEUE,
        F.lit(None).cast("string").alias("mode"),
        F.lit(None).cast("int").alias("max_queue_readers"),
        F.lit(0.0).alias("need_seconds"),
        F.lit(0.0).alias("short_seconds"),
        nothing["activations"].alias("activations"),
        nothing["most_ready"].alias("most_ready"),
        never.alias("most_ready_at"),
        nothing["groups_ready"].alias("groups_ready"),
        nothing["groups_free"].alias("groups_free"),
        nothing["ready_at_end"].alias("ready_at_end"),
        F.lit(True).alias("is_on"),
        never.alias("off_since"),
        F.lit("not_in_catalog").alias("advice"),
        F.format_string(
            "%,d queue events name this queue and the catalog does not: add it, with its monitor.", "events"
        ).alias("sentence"),
        F.create_map(F.lit("queue_not_in_catalog"), F.col("events")).alias("oddities"),
    )


def _advice() -> Column:
    is_short = F.col("short_seconds") >= WORTH_SAYING
    is_needed = F.col("need_seconds") >= WORTH_SAYING
    one_group = (F.col("most_ready") > 1) & (F.col("groups_ready") == 1) & (F.col("ready_at_end") > 0)
    return (
        F.when(~F.col("is_on"), "queue_off")
        .when(F.col("notified_at").isNotNull() & (F.col("ready_at_end") > 0), "not_received")
        .when(~(F.col("has_queue_events") & F.col("has_receives")), "not_known")
        .when(is_needed & (F.col("takes") == 0), "not_known")
        .when(one_group | (is_short & (F.col("groups_free") == 0)), "more_readers_wont_help")
        .when(is_short, "raise_max_queue_readers")
        .when(is_needed & (F.col("mode") == "external"), "answers_late")
        .when(is_needed & (F.col("exits_with_ready") > 0), "reader_exits_early")
        .otherwise("keeps_up")
    )


def _sentence() -> Column:
    most = F.format_string(
        "at most %s in %s, %,d of them free",
        _some("most_ready", "ready message"),
        _some("groups_ready", "conversation group"),
        "groups_free",
    )
    wont = F.format_string(
        "More readers won't help: of %s, the most at any time, all were in %s (%s), %,d of them free, and "
        "a group has one reader at a time.",
        _some("most_ready", "ready message"),
        _some("groups_ready", "conversation group"),
        _some("conversations", "conversation"),
        "groups_free",
    )
    more = F.format_string(
        "All readers that max_queue_readers = %d allows ran for %s while messages waited, %s: raise "
        "max_queue_readers.",
        "max_queue_readers",
        _duration("short_seconds"),
        most,
    )
    late = F.format_string(
        "Messages waited for a reader for %s, in which a monitor sends %s, %s: the application answers late.",
        _duration("need_seconds"),
        _some("activations", "notification"),
        most,
    )
    early = F.format_string(
        "A reader was needed for %s, and %,d of %s came while messages were ready, %s: let the procedure "
        "receive until the queue is empty.",
        _duration("need_seconds"),
        "exits_with_ready",
        _some("exits", "exit"),
        most,
    )
    fine = F.format_string("The readers keep up: one was needed for %s, %s.", _duration("need_seconds"), most)
    return (
        F.when(F.col("advice") == "queue_off", _off())
        .when(F.col("advice") == "not_received", _not_received())
        .when(F.col("advice") == "not_known", _not_known())
        .when(F.col("advice") == "more_readers_wont_help", wont)
        .when(F.col("advice") == "raise_max_queue_readers", more)
        .when(F.col("advice") == "answers_late", late)
        .when(F.col("advice") == "reader_exits_early", early)
        .otherwise(fine)
    )


def _off() -> Column:
    """That the queue is off, since when, and what the log says of rollbacks.

    What waits for it elsewhere, and which message was rolled back, the schedules say.
    """
    off = (
        F.when(
            F.col("off_seen_at").isNotNull(),
            F.concat(F.lit("The queue was seen off at "), _time("off_seen_at"), F.lit(" by a snapshot.")),
        )
        .when(F.col("off_since").isNull(), "The catalog says that the queue is off.")
        .otherwise(F.concat(F.lit("The queue is off since "), _time("off_since"), F.lit(".")))
    )
    left = F.concat(_some("ready", "message"), F.when(F.col("ready") == 1, " is").otherwise(" are"))
    # How many wait for it in a transmission queue is not known here, so "0 left" would be no answer.
    has_some, find = F.col("ready") > 0, "ind what could not be read, then turn the queue on."
    stand = F.when(has_some, F.concat(F.lit(" "), left, F.lit(" left in it."))).otherwise("")
    rollbacks = F.format_string(" In the window there were %s", _some("rollbacks", "rollback"))
    return F.concat(
        off,
        F.when(
            ~F.col("has_outcomes"),
            F.concat(
                F.format_string(
                    " How many rollbacks there were is not known: the log has no COMMIT and no ROLLBACK of "
                    "%s in the window.",
                    "instance",
                ),
                stand,
                F.lit(f" F{find}"),
            ),
        )
        .when(F.col("was_off_before"), F.concat(stand, F.lit(f" F{find}")))
        .when(has_some, F.concat(rollbacks, F.lit("; "), left, F.lit(f" left in it: f{find}")))
        .otherwise(F.concat(rollbacks, F.lit(f". F{find}"))),
    )


def _not_received() -> Column:
    since = F.coalesce(F.concat(F.lit(" since "), _time("notified_since")), F.lit(""))
    what = (
        F.when(F.col("mode") == "external", "the application was notified and did not RECEIVE")
        .when(
            F.col("tasks_running") > 0,
            F.format_string(
                "the procedure was started, %s still running, and did not RECEIVE",
                F.when(F.col("tasks_running") == 1, F.lit("is")).otherwise(
                    F.format_string("%,d times, is", "tasks_running")
                ),
            ),
        )
        .otherwise("the procedure was started and did not RECEIVE")
    )
    return F.concat(
        _stand(),
        F.lit(" in the queue and nothing has been received"),
        since,
        F.lit("; the monitor is NOTIFIED: "),
        what,
        F.lit(" (snapshot of "),
        _time("notified_at"),
        F.lit(")."),
    )


def _not_known() -> Column:
    lacks = F.when(~F.col("has_queue_events"), "queue events").otherwise("RECEIVE and no RECEIVED")
    stand = F.when(
        F.col("ready") > 0,
        F.concat(F.lit(" As far as is known, "), _some("ready", "message"), F.lit(" waited at its end.")),
    ).otherwise("")
    of_instance = F.format_string(
        "What readers did is not known: the log has no %s of %s in the window.", lacks, "instance"
    )
    of_queue = F.format_string(
        "What readers did is not known: one was needed for %s, and the log has no RECEIVED of this queue in "
        "the window; either none came, or the log lacks what they received.",
        _duration("need_seconds"),
    )
    is_logged = F.col("has_queue_events") & F.col("has_receives")
    return F.concat(F.when(is_logged, of_queue).otherwise(of_instance), stand)


def _stand() -> Column:
    return F.concat(_some("ready", "message"), F.when(F.col("ready") == 1, " stands").otherwise(" stand"))


def _time(moment: str) -> Column:
    return F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss'Z'")


def _some(count: str, noun: str) -> Column:
    """So many of something, in words."""
    return F.format_string(f"%,d {noun}%s", count, F.when(F.col(count) == 1, "").otherwise("s"))


def _duration(seconds: str) -> Column:
    whole = F.floor(seconds)
    hours, minutes = F.floor(whole / 3600), F.floor(whole % 3600 / 60)
    return (
        F.when(whole >= 3600, F.format_string("%d h %d min", hours, minutes))
        .when(whole >= 60, F.format_string("%d min", minutes))
        .otherwise(F.format_string("%d s", whole))
    )


def _oddities() -> Column:
    """The counts above 0, by name."""

    def those(values: list[Column]) -> Column:
        some = [F.when(F.col(name) > 0, value) for name, value in zip(ODDITIES, values, strict=True)]
        return F.array_compact(F.array(*some))

    return F.map_from_arrays(
        those([F.lit(name) for name in ODDITIES]), those([F.col(name) for name in ODDITIES])
    )
