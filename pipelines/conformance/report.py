"""The report of a conformance check as plain values."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.queue_filter import QueueName
from pipelines.conformance.levels import KIND
from pipelines.conformance.links import LINK
from pipelines.storage.collect import collect_first, collect_rows
from pipelines.storage.histories import RuleSnapshots
from schemas.keys import QUEUE


def report_levels(
    levels: DataFrame, of_server: Mapping[str, int], *, limit: int, shown: RuleSnapshots | None = None
) -> dict[str, Any]:
    """Count the endpoints, and list the kinds that differ, those with most endpoints first.

    Args:
        levels: `conformance_levels`, materialized.
        of_server: `count_levels_of_server`.
        limit: rows.
        shown: when snapshots with rules were taken, if there are any.

    Returns:
        `endpoints`: the number of all endpoints, of comparable ones (`logged`), of `differing` ones among
        these, and `of_server`; `levels`: rows, and whether only a snapshot shows the version that explains
        (`first_seen`); `levels_in_all`: `rows` and `endpoints` without a limit.
    """
    counts_of = {
        "endpoints": F.lit(True),
        "logged": F.col("logged_priority").isNotNull(),
        "differing": F.col("explanation").isNotNull(),
    }
    endpoints = F.col("endpoints")
    sums = [F.sum(F.when(is_counted, endpoints)).alias(name) for name, is_counted in counts_of.items()]
    [totals] = collect_rows(levels.agg(*sums))
    counts = {name: count or 0 for name, count in totals.items()}
    counts["logged"] -= of_server["of_server"]
    differing = levels.where("explanation is not null").orderBy(F.desc("endpoints"), *KIND)
    first, in_all = collect_first(differing, limit, "endpoints")
    return {
        "endpoints": {**counts, **of_server},
        "levels": [
            {
                **row,
                "first_seen": row["explaining_valid_from"]
                in (shown or {}).get((row["instance"], row["database"]), ()),
            }
            for row in first
        ],
        "levels_in_all": in_all,
    }


def report_receives(
    receives: DataFrame,
    deviations: DataFrame,
    *,
    has_queue_events: bool,
    find_receives: Callable[[], bool],
    silent: Collection[QueueName],
    limit: int,
) -> dict[str, Any]:
    """Count the decisions, and list the queues that passed most groups, and the worst deviations.

    Args:
        receives: `conformance`, materialized.
        deviations: `conformance_deviations`, materialized.
        has_queue_events: whether the log has queue events.
        find_receives: finds out whether the log has RECEIVED events; called if there are no decisions.
        silent: `read.silent_queues`.
        limit: rows of each part.
    """
    names = ("decisions", "with_choice", "conforming")
    [counts] = collect_rows(receives.agg(*[F.sum(name).alias(name) for name in names]))
    queues, queues_in_all = collect_first(receives.orderBy(F.desc("passed"), *QUEUE), limit, None)
    worst, worst_in_all = collect_first(deviations.orderBy(*worst_first()), limit, None)
    return {
        "receives": {name: count or 0 for name, count in counts.items()},
        "has_queue_events": has_queue_events,
        "silent_queues": len(silent),
        "has_receives": bool(counts["decisions"]) or find_receives(),
        "queues": queues,
        "queues_in_all": queues_in_all,
        "deviations": [
            {
                **row,
                "locks_known": has_queue_events
                and (row["instance"], row["database"], row["queue"]) not in silent,
            }
            for row in worst
        ],
        "deviations_in_all": worst_in_all,
    }


def worst_first() -> list[Column]:
    """The order of deviations: unexplained ones first, then those that passed most levels."""
    return [
        F.desc(F.col("class") == "unexplained"),
        F.desc(F.col("best_level") - F.col("level")),
        F.desc("passed_groups"),
        *map(F.col, QUEUE),
        F.col("at"),
        F.asc_nulls_first("transaction_id"),
        F.col("conversation_group_id"),
    ]


def report_overtaken(links: DataFrame, sends: DataFrame, *, limit: int) -> dict[str, Any]:
    """List the links with most inversions, and the instances that sent most messages too early.

    Args:
        links: `conformance_links`, materialized.
        sends: `conformance_sends`; the report adds their share of all that could be compared.
        limit: rows of each part.
    """
    of_instances, sends_in_all = collect_first(sends.orderBy(F.desc("inversions"), "instance"), limit, None)
    of_links, links_in_all = collect_first(links.orderBy(F.desc("inversions"), *LINK), limit, None)
    return {
        "links": of_links,
        "links_in_all": links_in_all,
        "sends_in_all": sends_in_all,
        "sends": [
            {**row, "share": row["messages"] / row["all_messages"] if row["all_messages"] else None}
            for row in of_instances
        ],
    }
