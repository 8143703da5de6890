"""Causes that hold where no message waits: Service Broker is off, or a monitor is gone."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from pyspark.sql import SparkSession, functions as F

from pipelines.config.snapshots.facts import ON, QUEUE as QUEUE_KIND
from pipelines.config.snapshots.history import CatalogFact
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import small_frame
from pipelines.storage.collect import collect_rows
from pipelines.why.causes import CAUSES
from pipelines.why.causes.cause import Cause
from pipelines.why.monitors import COLUMNS, QueueName, ShownMonitor, monitor_row
from pipelines.why.places import PLACE, Place, Row, place_of
from schemas.keys import QUEUE

DatabaseKey = tuple[str, str]
FACTS = f"kind string, state string, {COLUMNS}, broker_database string, broker_off_at timestamp"


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
    nothing = (None,) * (len(COLUMNS.split(",")) - len(QUEUE))
    rows: list[tuple[object, ...]] = [
        ("receive", None, *key, "", *nothing, key[1], off_at) for key, off_at in brokers_off.items()
    ]
    rows += [
        ("receive", "ready" if name in queues_on else None, *monitor_row(name, each), name[1], None)
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


def _finding(cause: Cause, row: Row) -> Row:
    details = {**{name: row[f"d_{name}"] for name in cause.columns}, "messages": 0}
    nothing = {"messages": 0, "conversations": 0, "example_message_id": ""}
    since = {"since": details["seen_at"]}
    return {"code": cause.code, "severity": cause.severity, **nothing, **since, "details": [details]}
