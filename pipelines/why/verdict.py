"""The first line of a night and of the page: what is stopped, or how much waits."""

from collections import Counter
from collections.abc import Sequence

from pyspark.sql import DataFrame, functions as F

from pipelines.config.catalog import Catalog
from pipelines.console.wording import format_count, format_duration, format_list
from pipelines.storage.collect import collect_rows
from pipelines.why.causes.cause import STOPPED
from pipelines.why.places import Place, Row

UNREACHED = ("rule_newer_than_endpoint", "rule_changed_since")
"""Causes by which a rule does not reach conversations that exist."""
RULE = ("endpoint_instance", "endpoint_database", "today_rule")
CANNOT_BE_SENT = (
    "kind = 'transmission' and coalesce(status, waits_for, cast(broker_off_at as string)) is not null"
)


def verdict_sentence(
    catalog: Catalog, rows: DataFrame, findings: Sequence[tuple[Place, Row]], seconds: int | None
) -> str:
    """Say in one line how bad it is.

    Args:
        catalog: the queues, beside those that are stopped.
        rows: `explained_rows`, materialized.
        findings: place and cause with its severity and messages; none of the severity order.
        seconds: how long the oldest open message has waited; null if none is open.
    """
    stopped = [(place, cause) for place, cause in findings if cause["severity"] == STOPPED]
    parts = [*_stopped_queues(catalog, stopped), *_unsent(rows, stopped), *_unplaced(stopped)]
    if not parts:
        parts = [
            "Nothing is stopped",
            _waiting(rows.count(), seconds) if seconds is not None else "Nothing waits",
        ]
    if any(cause["code"] in UNREACHED for _, cause in findings):
        parts += _unreached(rows)
    return ". ".join(parts) + "."


def _waiting(messages: int, seconds: int) -> str:
    verb = "waits" if messages == 1 else "wait"
    return f"{format_count(messages, 'message')} {verb}, the oldest {format_duration(seconds)}"


def _stopped_queues(catalog: Catalog, stopped: Sequence[tuple[Place, Row]]) -> list[str]:
    off = {place[1:] for place, _ in stopped if place[0] == "receive"}
    queues = off | {row[:3] for row in catalog.queue_rows()}
    verb = "is" if len(off) == 1 else "are"
    return [f"{len(off):,} of {format_count(len(queues), 'queue')} {verb} stopped"] if off else []


def _unsent(rows: DataFrame, stopped: Sequence[tuple[Place, Row]]) -> list[str]:
    """A message may have two causes, so it is counted in the rows where a place has both."""
    by_instance: dict[str, list[int]] = {}
    for place, cause in stopped:
        if place[0] == "transmission":
            by_instance.setdefault(place[1], []).append(cause["messages"])
    if not by_instance:
        return []
    counts = Counter({instance: sum(messages) for instance, messages in by_instance.items()})
    if any(len(messages) > 1 for messages in by_instance.values()):
        counted = rows.where(CANNOT_BE_SENT).groupBy("instance").agg(F.count(F.lit(1)).alias("messages"))
        counts = Counter({row["instance"]: row["messages"] for row in collect_rows(counted)})
    largest = sorted(counts, key=lambda instance: (-counts[instance], instance))
    of = format_list([f"{format_count(counts[each], 'message')} of {each}" for each in largest])
    return [f"{of} can't be sent"]


def _unplaced(stopped: Sequence[tuple[Place, Row]]) -> list[str]:
    messages = sum(cause["messages"] for place, cause in stopped if place[0] == "unresolved")
    verb = "is" if messages == 1 else "are"
    return [f"{format_count(messages, 'message')} {verb} not matched to a queue"] if messages else []


def _unreached(rows: DataFrame) -> list[str]:
    late = rows.where(F.arrays_overlap("codes", F.array(*map(F.lit, UNREACHED)))).where(
        "today_rule is not null"
    )
    rules = late.select(*RULE).distinct().count()
    verb = "does" if rules == 1 else "do"
    return [f"{format_count(rules, 'rule')} {verb} not reach existing conversations"] if rules else []
