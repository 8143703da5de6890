"""The first line of a night and of the page: what is stopped, or how much waits."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.config.catalog import Catalog
from pipelines.console.wording import (
    LIST_LENGTH,
    count_unmatched,
    format_count,
    format_database,
    format_duration,
    format_list,
)
from pipelines.questions.waiting import seconds_waited
from pipelines.storage.collect import collect_rows
from pipelines.why.cause_bits import has_any
from pipelines.why.causes.cause import STOPPED
from pipelines.why.places import Place, Row

UNREACHED = ("rule_newer_than_endpoint", "rule_changed_since")
"""Causes by which a rule does not reach conversations that exist."""
RULE = ("endpoint_instance", "endpoint_database", "today_rule")
OF_DATABASES = {
    "broker_disabled": "Service Broker is off in {}",
    "broker_changed": "the broker id of {} has changed",
    "conversations_gone": "all conversations of {} are gone",
}
"""What is told of databases, by the cause that names no queue."""


def verdict_sentence(
    catalog: Catalog, rows: DataFrame, findings: Sequence[tuple[Place, Row]], as_of: datetime
) -> str:
    """Say in one line how bad it is.

    Args:
        catalog: the queues, beside those that are stopped.
        rows: `explained_rows`, materialized.
        findings: place and cause with its severity and messages; none of the severity order.
        as_of: the moment of the rows.
    """
    stopped = [(place, cause) for place, cause in findings if cause["severity"] == STOPPED]
    parts = [*_stopped_queues(catalog, stopped), *_unsent(rows, stopped), *_unplaced(stopped)]
    parts += _stopped_databases(stopped)
    parts = parts or ["Nothing is stopped", _waiting(rows, as_of)]
    if any(cause["code"] in UNREACHED for _, cause in findings):
        parts += _unreached(rows)
    return ". ".join(parts) + "."


def _waiting(rows: DataFrame, as_of: datetime) -> str:
    seconds = F.max(seconds_waited("since", as_of)).alias("seconds")
    [row] = collect_rows(rows.agg(F.count(F.lit(1)).alias("messages"), seconds))
    if not row["messages"]:
        return "Nothing waits"
    verb = "waits" if row["messages"] == 1 else "wait"
    messages = format_count(row["messages"], "message")
    return f"{messages} {verb}, the oldest {format_duration(row['seconds'])}"


def _stopped_queues(catalog: Catalog, stopped: Sequence[tuple[Place, Row]]) -> list[str]:
    off = {place[1:] for place, _ in stopped if place[0] == "receive" and place[3]}
    queues = off | {row[:3] for row in catalog.queue_rows()}
    verb = "is" if len(off) == 1 else "are"
    return [f"{len(off):,} of {format_count(len(queues), 'queue')} {verb} stopped"] if off else []


def _unsent(rows: DataFrame, stopped: Sequence[tuple[Place, Row]]) -> list[str]:
    """The messages of each instance that can't be sent; one with two causes counts once."""
    codes = {cause["code"] for place, cause in stopped if place[0] == "transmission"}
    if not codes:
        return []
    counted = rows.where("kind = 'transmission'").where(has_any(codes)).groupBy("instance").count()
    largest = sorted(collect_rows(counted), key=lambda row: (-row["count"], row["instance"]))
    told = [f"{format_count(row['count'], 'message')} of {row['instance']}" for row in largest]
    if len(told) > LIST_LENGTH:
        messages = sum(row["count"] for row in largest)
        told = [f"{format_count(messages, 'message')} of {format_count(len(told), 'instance')}"]
    return [f"{format_list(told)} can't be sent"]


def _unplaced(stopped: Sequence[tuple[Place, Row]]) -> list[str]:
    messages = sum(cause["messages"] for place, cause in stopped if place[0] == "unresolved")
    return [count_unmatched(messages)] if messages else []


def _stopped_databases(stopped: Sequence[tuple[Place, Row]]) -> Iterator[str]:
    """What has happened to databases, whether messages wait in them or not."""
    for code, told in OF_DATABASES.items():
        places = [place for place, cause in stopped if cause["code"] == code and place[0] == "receive"]
        databases = sorted({format_database(place[1:3]) for place in places if not place[3]})
        if databases:
            sentence = told.format(format_list(databases))
            yield f"{sentence[0].upper()}{sentence[1:]}"


def _unreached(rows: DataFrame) -> list[str]:
    rules = rows.where(has_any(UNREACHED)).where("today_rule is not null").select(*RULE).distinct().count()
    verb = "does" if rules == 1 else "do"
    return [f"{format_count(rules, 'rule')} {verb} not reach existing conversations"] if rules else []
