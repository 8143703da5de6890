"""The advice of an activation summary, as a code and as a sentence, in columns."""

from pyspark.sql import Column, functions as F

MIN_SECONDS = 60
"""Seconds in a window; a need of less than a minute is no reason to change a queue."""


def advice() -> Column:
    """The advice, by the figures of a row of the summary."""
    is_short = F.col("short_seconds") >= MIN_SECONDS
    is_needed = F.col("need_seconds") >= MIN_SECONDS
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


def advice_sentence() -> Column:
    """The sentence of a row of the summary, which has `advice`."""
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
    """The queue is off, since when, and the number of rollbacks in the log.

    The schedules have the messages that wait for it elsewhere, and the message that was rolled back.
    """
    off = (
        F.when(
            F.col("off_seen_at").isNotNull(),
            F.concat(F.lit("The queue was seen off at "), _time("off_seen_at"), F.lit(" by a snapshot.")),
        )
        .when(F.col("off_since").isNull(), "The catalog says that the queue is off.")
        .otherwise(F.concat(F.lit("The queue has been off since "), _time("off_since"), F.lit(".")))
    )
    left = F.concat(_some("ready", "message"), F.when(F.col("ready") == 1, " is").otherwise(" are"))
    # Messages can wait for it in a transmission queue, so "0 left" would be misleading.
    has_some, find = F.col("ready") > 0, "ind what could not be read, then turn the queue on."
    stand = F.when(has_some, F.concat(F.lit(" "), left, F.lit(" left in it."))).otherwise("")
    rollbacks = F.format_string(" The window has %s", _some("rollbacks", "rollback"))
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
    written = F.date_format("notified_since", "yyyy-MM-dd'T'HH:mm:ss")
    since = F.coalesce(F.concat(F.lit(" since "), written, F.lit(" (zone not documented)")), F.lit(""))
    started = F.lit("the procedure was started and did not RECEIVE")
    verb = F.when(F.col("tasks_running") == 1, " runs").otherwise(" run")
    run = F.concat(_some("tasks_running", "activated task"), verb)
    what = (
        F.when(F.col("mode") == "external", "the application was notified and did not RECEIVE")
        .when(F.col("tasks_running") > 0, F.concat(started, F.lit("; "), run))
        .otherwise(started)
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
        F.concat(F.lit(" "), _some("ready", "message"), F.lit(" waited at the end of the window.")),
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
    """A count with its noun."""
    return F.format_string(f"%,d {noun}%s", count, F.when(F.col(count) == 1, "").otherwise("s"))


def _duration(seconds: str) -> Column:
    whole = F.floor(seconds)
    hours, minutes = F.floor(whole / 3600), F.floor(whole % 3600 / 60)
    return (
        F.when(whole >= 3600, F.format_string("%d h %d min", hours, minutes))
        .when(whole >= 60, F.format_string("%d min", minutes))
        .otherwise(F.format_string("%d s", whole))
    )
