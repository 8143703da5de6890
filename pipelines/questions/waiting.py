"""Summarize the messages that wait: by queue or sending instance, and by level."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation.read import queues_off_at
from pipelines.questions.open_messages import NAMES, SCHEDULES, read_open
from pipelines.questions.overtaken import rank_overtaken
from pipelines.questions.transmission_status import read_statuses
from pipelines.questions.unresolved import count_unresolved
from pipelines.storage.collect import collect_first, collect_rows
from pipelines.storage.warehouse import Warehouse

BY = ("instance", "database", "queue", *NAMES, "level")
"""What messages that wait can be counted by."""
OVERTAKEN_COLUMNS = (*NAMES, "passed_by", "position", "message_id", "since")


def seconds_waited(since: str, as_of: datetime) -> Column:
    """Whole seconds from the moment in a column to as_of, rounded down."""
    return F.floor((F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / 1_000_000)


def percentile(seconds: Column, share: float) -> Column:
    """A percentile of whole seconds, interpolated between neighbours; exact for a share of whole hundredths.

    It is rounded, as engines differ in the last digits.
    """
    return F.round(F.percentile(seconds, F.lit(share)), 2)


def summarize_waits(
    messages: DataFrame,
    *,
    within: Sequence[str],
    as_of: datetime,
    conditions: Mapping[str, str] | None = None,
) -> DataFrame:
    """Count the messages that wait, and measure their wait at as_of.

    Args:
        messages: `read_open` of one as_of.
        within: the columns to count by: those of a place, `level` or any others.
        as_of: the instant of the schedule.
        conditions: SQL conditions, by name: the messages that fulfil each are counted too.

    Returns:
        One row per combination: `messages`, the count of each condition by its name, `oldest`, and
        `median_seconds` and `p95_seconds` of waiting so far. They are exact and interpolated. Seconds are
        whole, which bounds the number of different values that the engine keeps.
    """
    seconds = seconds_waited("since", as_of)
    return messages.groupBy(*within).agg(
        F.count(F.lit(1)).alias("messages"),
        *[F.count_if(F.expr(sql)).alias(name) for name, sql in (conditions or {}).items()],
        F.min("since").alias("oldest"),
        percentile(seconds, 0.5).alias("median_seconds"),
        percentile(seconds, 0.95).alias("p95_seconds"),
    )


def report_waits(
    warehouse: Warehouse,
    *,
    as_of: datetime,
    limit: int,
    by: Sequence[str] = (),
) -> dict[str, Any]:
    """Report the messages that wait at an as_of.

    Args:
        warehouse: what to read.
        as_of: an as_of that was published.
        limit: rows of each part.
        by: what to count by, of `BY`, in this order; empty is the queue (or instance) and its level.

    Returns:
        `as_of`; `by`, if it was given; `transmission_status` (`count_statuses`), and how many `rows` and
        `messages` these are without a limit, `transmission_status_in_all`; `unplaced`
        (`count_unresolved`); `queues_off` (`queues_off_at`); and for receive and transmission: `waiting`, a
        row per queue (or instance) and level (or per combination of `by`; a schedule without such a column
        has null), the longest waiting first, `waiting_in_all`, and `overtaken`, the ten most overtaken
        messages of each queue (or instance). Messages that wait for a queue that is off are not overtaken.
    """
    statuses, statuses_in_all = read_statuses(warehouse, as_of, limit)
    report: dict[str, Any] = {
        "as_of": as_of,
        **({"by": list(by)} if by else {}),
        "transmission_status": statuses,
        "transmission_status_in_all": statuses_in_all,
        "unplaced": count_unresolved(warehouse, as_of),
        "queues_off": queues_off_at(warehouse, as_of),
    }
    for schedule in SCHEDULES:
        messages = read_open(warehouse, schedule, as_of)
        waits = _count_by(messages, by or (*schedule.within, schedule.level), as_of)
        late = rank_overtaken(messages.where("waits_for is null"), within=schedule.within, also=NAMES)
        rows, in_all = collect_first(waits, limit)
        report[schedule.name] = {
            "waiting": rows,
            "waiting_in_all": in_all,
            "overtaken": collect_rows(
                late.orderBy(F.desc("passed_by"), *schedule.within, "place")
                .select(*schedule.within, *OVERTAKEN_COLUMNS)
                .limit(limit)
            ),
        }
    return report


def _count_by(messages: DataFrame, by: Sequence[str], as_of: datetime) -> DataFrame:
    """One row per combination, the longest waiting first."""
    levels = ("level", *[schedule.level for schedule in SCHEDULES])
    names = [F.asc_nulls_last(name) for name in by if name not in levels]
    waits = summarize_waits(messages, within=by, as_of=as_of)
    return waits.orderBy("oldest", *names, *[F.desc(name) for name in by if name in levels])
