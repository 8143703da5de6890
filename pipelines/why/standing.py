"""Causes that hold where no message waits: a queue, activation or broker is off, or a monitor is gone."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from pyspark.sql import SparkSession, functions as F

from pipelines.config.catalog import Catalog
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import small_frame
from pipelines.schedules.ready import queues_off
from pipelines.server.snapshots.facts import ON, QUEUE as QUEUE_KIND
from pipelines.server.snapshots.history import CatalogFact
from pipelines.storage.collect import collect_rows
from pipelines.why.causes import CAUSES
from pipelines.why.causes.cause import ORDER, Cause
from pipelines.why.causes.readers import NotReceived, QueueOff
from pipelines.why.monitors import (
    ACTIVATION_OFF,
    SHOWN,
    QueueName,
    ShownMonitor,
    monitor_values,
    static_reasons,
)
from pipelines.why.places import PLACE, Place, Row, place_of
from pipelines.why.read import PublishedTables
from schemas.events import QUEUE_FACTS
from schemas.keys import QUEUE

DatabaseKey = tuple[str, str]
OF_QUEUE = "instance string, database string, queue string"
CATALOG_QUEUES = f"{OF_QUEUE}, is_on boolean"
FACTS = f"kind string, state string, {OF_QUEUE}, {SHOWN}, broker_database string, broker_off_at timestamp"


def find_standing(
    spark: SparkSession,
    history: Iterable[CatalogFact],
    monitors: Mapping[QueueName, ShownMonitor],
    brokers_off: Mapping[DatabaseKey, datetime],
    as_of: datetime,
) -> list[tuple[Place, Row]]:
    """Find the causes that hold at queues with a monitor, and at databases, by what snapshots show.

    They are as those of `find_of_databases`; no message is counted.

    Args:
        spark: the session.
        history: what snapshots show of catalogs, for the state of queues.
        monitors: `shown_monitors`.
        brokers_off: since which snapshot a database has Service Broker off.
        as_of: the instant.
    """
    queues_on = {
        (each.instance, each.database, each.name)
        for each in history
        if (each.kind, each.attribute, each.value) == (QUEUE_KIND, "on", ON) and each.holds_at(as_of)
    }
    rows: list[tuple[object, ...]] = [
        ("receive", None, *key, "", *monitor_values(None), key[1], off_at)
        for key, off_at in brokers_off.items()
    ]
    rows += [
        ("receive", "ready" if name in queues_on else None, *name, *monitor_values(each), name[1], None)
        for name, each in monitors.items()
        if name[:2] not in brokers_off
    ]
    if not rows:
        return []
    places = small_frame(spark, rows, FACTS)
    causes = [cause for cause in CAUSES if cause.is_of_place]

    def ask(cause: Cause) -> Sequence[Row]:
        columns = [F.expr(value).alias(f"d_{name}") for name, value in cause.columns.items()]
        return collect_rows(places.where(cause.condition).select(*PLACE, *columns))

    found = run_concurrently(spark, *[partial(ask, cause) for cause in causes])
    return [
        (place_of(row), _finding(cause, row))
        for cause, of_cause in zip(causes, found, strict=True)
        for row in of_cause
    ]


def find_queues_off(
    tables: PublishedTables, catalog: Catalog, waited_for: Collection[QueueName]
) -> list[tuple[Place, Row]]:
    """Find the queues that are off, and those whose activation is off, where no message waits.

    Args:
        tables: what to read.
        catalog: the queues.
        waited_for: queues in which, or for which, messages wait.
    """
    known = small_frame(tables.spark, list(catalog.queue_rows()), CATALOG_QUEUES)
    off = {
        (row["instance"], row["database"], row["queue"]): row
        for row in collect_rows(queues_off(known, tables.events(QUEUE_FACTS)))
    }
    found = []
    for name, row in off.items():
        details = {"since": row["off_since"], "poison_message_id": None}
        seen = {"_is_seen": row["off_source"] == "snapshot", "_is_unknown": False}
        found.append((name, _nothing(QueueOff(), name, {**details, **seen}, row["off_since"])))
    for name, reason in static_reasons(catalog, [row[:3] for row in catalog.queue_rows()]).items():
        if reason == ACTIVATION_OFF and name not in off:
            details = {"reason": reason, "last_receive": None}
            found.append((name, {**_nothing(NotReceived(), name, details, None), "severity": ORDER}))
    return [(("receive", *name), row) for name, row in found if name not in waited_for]


def _finding(cause: Cause, row: Row) -> Row:
    details = {name: row[f"d_{name}"] for name in cause.columns}
    return _nothing(cause, (), details, details["seen_at"])


def _nothing(cause: Cause, queue: Sequence[str], details: Row, since: datetime | None) -> Row:
    """A cause of no message, with its row of details."""
    nothing = {"messages": 0, "conversations": 0, "example_message_id": ""}
    row = {**dict(zip(QUEUE, queue, strict=False)), **details, "messages": 0}
    return {"code": cause.code, "severity": cause.severity, **nothing, "since": since, "details": [row]}
