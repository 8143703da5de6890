"""Read what changed between two published as_ofs."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pyspark.sql import functions as F

from pipelines.changes.declared import catalog_changes, rule_changes
from pipelines.changes.traffic import arrived_messages, count_conversations, count_traffic, count_unread
from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.engine.concurrency import run_concurrently
from pipelines.server.snapshots.history import CatalogFact
from pipelines.settings.load import Settings
from pipelines.state.fates import ARE_BINDINGS
from pipelines.state.transactions import uncommitted
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.collect import collect_rows
from pipelines.storage.histories import read_rule_snapshots, stored_versions
from pipelines.storage.published import has_rows, read_published_runs, require_findings
from pipelines.storage.snapshots.newest import read_complete_endpoints
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import CATALOG_HISTORY, FINDINGS, PRIORITY_RULES, WAITS

Row = dict[str, Any]
Key = tuple[str | None, ...]
PLACE = ("kind", "instance", "database", "queue")
DATABASE = ("instance", "database")
SECOND = timedelta(seconds=1)


def find_since(warehouse: Warehouse, settings: Settings, asked: datetime | None, as_of: datetime) -> datetime:
    """The greatest published as_of below another one.

    Args:
        warehouse: the tables.
        settings: for messages.
        asked: it is not above this moment; None for any.
        as_of: the later as_of, published.

    Raises:
        ConfigError: there is none, or its rows were removed, or an older version wrote it.
    """
    runs = read_published_runs(warehouse, "as_of", "row_counts")
    earlier = {run["as_of"]: run for run in runs if run["as_of"] < as_of}
    fitting = [each for each in earlier if asked is None or each <= asked]
    named = f"--since {format_instant(asked)}" if asked else f"--as-of {format_instant(as_of)}"
    if not fitting:
        raise ConfigError(
            f"command line: {named}: no as_of was published {'up to then' if asked else 'before it'}; name a "
            "later one, or publish an earlier one"
        )
    since: datetime = max(fitting)

    def is_left(moment: datetime) -> bool:
        return not warehouse.is_pruned(moment) and has_rows(warehouse, earlier[moment])

    if not is_left(since):
        later = [format_instant(each) for each in sorted(earlier) if each > since and is_left(each)]
        remedy = f"name --since {later[0]}, the next one" if later else "no later one is left"
        raise ConfigError(
            f"command line: {named}: the rows of {format_instant(since)} were removed (maintain); {remedy}"
        )
    require_findings(warehouse, settings, since, "--since")
    return since


def read_changes_before(warehouse: Warehouse, settings: Settings, as_of: datetime) -> Row | None:
    """The changes since the as_of before a published one; null without one whose rows are left."""
    try:
        return read_changes(warehouse, settings, find_since(warehouse, settings, None, as_of), as_of)
    except ConfigError:
        return None


def read_changes(warehouse: Warehouse, settings: Settings, since: datetime, as_of: datetime) -> Row:
    """Read what changed from one published as_of to a later one.

    Returns:
        `as_of`, `since`, `rules` (`rule_changes`), `catalog` (`catalog_changes`), `conversations`, `places`
        and `findings`; see docs/monitoring.md#what-changed.

    Raises:
        ConfigError: the day of since was pruned.
    """
    (rules, catalog), (conversations, traffic), kept = run_concurrently(
        warehouse.spark,
        partial(_read_declared, warehouse, settings, since, as_of),
        partial(_read_traffic, warehouse, since, as_of),
        lambda: [(_read_waits(warehouse, each), _read_findings(warehouse, each)) for each in (since, as_of)],
    )
    (waits_then, then), (waits_now, now) = kept
    return {
        "as_of": as_of,
        "since": since,
        "rules": rules,
        "catalog": catalog,
        "conversations": conversations,
        "places": _places(waits_then, waits_now, traffic, as_of - since),
        "findings": {
            "new": [row for key, row in now.items() if key not in then],
            "gone": [row for key, row in then.items() if key not in now],
        },
    }


def _read_declared(
    warehouse: Warehouse, settings: Settings, since: datetime, as_of: datetime
) -> tuple[list[Row], list[Row]]:
    written = settings.databases_of_rule_files
    shown = {
        place: min(moments)
        for place, moments in read_rule_snapshots(warehouse).items()
        if place not in written
    }
    facts = [CatalogFact(**row) for row in collect_rows(warehouse.read(CATALOG_HISTORY))]
    versions = stored_versions(warehouse.read(PRIORITY_RULES))
    return rule_changes(versions, shown, since, as_of), catalog_changes(facts, since, as_of)


def _read_traffic(
    warehouse: Warehouse, since: datetime, as_of: datetime
) -> tuple[list[Row], Mapping[Key, Row]]:
    at = F.lit(as_of)
    events = warehouse.read_open(MESSAGES, since).where(F.col("event_time") <= at)
    endpoints = warehouse.read_open(ENDPOINTS, since).where(F.col("created_at") <= at)
    endpoint_events = warehouse.read_open(ENDPOINT_FACTS, since)
    queue_events = warehouse.read_open(QUEUE_FACTS, since).where(F.col("event_time") <= at)
    complete = read_complete_endpoints(warehouse)
    bindings = warehouse.read(CATALOG_HISTORY).where(ARE_BINDINGS)
    undone = uncommitted(events, queue_events)
    if not read_completed_batches(warehouse).has_queue_events:
        undone = undone.limit(0)
    with warehouse.materialized(
        arrived_messages(events, undone, endpoints, endpoint_events, complete, bindings, since)
    ) as messages:
        traffic = collect_rows(count_traffic(messages, since, as_of))
        unread = _by(DATABASE, collect_rows(count_unread(messages, since, as_of)))
    counted = _by(DATABASE, collect_rows(count_conversations(endpoints, since, as_of)))
    conversations = [
        {
            **dict(zip(DATABASE, key, strict=True)),
            **{name: counted.get(key, {}).get(name, 0) for name in ("begun", "gone")},
            "unread_gone": unread.get(key, {}).get("unread_gone", 0),
        }
        for key in sorted({**counted, **unread}, key=_order)
    ]
    return conversations, _by(PLACE, [{"kind": "receive", **row} for row in traffic])


def _read_waits(warehouse: Warehouse, moment: datetime) -> dict[Key, Row]:
    messages = F.sum(F.col("ready") + F.col("held")).alias("messages")
    by_place = warehouse.read_as_of(WAITS, moment).groupBy(*PLACE)
    return _by(PLACE, collect_rows(by_place.agg(messages, F.max("oldest_seconds").alias("oldest_seconds"))))


def _read_findings(warehouse: Warehouse, moment: datetime) -> dict[Key, Row]:
    rows = collect_rows(warehouse.read_as_of(FINDINGS, moment).drop("as_of", "as_of_key"))
    found = _by(("code", "severity", *PLACE), rows)
    return {key: found[key] for key in sorted(found, key=_order)}


def _places(
    then: Mapping[Key, Row], now: Mapping[Key, Row], traffic: Mapping[Key, Row], passed: timedelta
) -> list[Row]:
    found = []
    for key in sorted({**then, **now, **traffic}, key=_order):
        before, after, moved = then.get(key, {}), now.get(key, {}), traffic.get(key, {})
        row = {
            **dict(zip(PLACE, key, strict=True)),
            "messages_then": before.get("messages", 0),
            "messages_now": after.get("messages", 0),
            "oldest_seconds_then": before.get("oldest_seconds"),
            "oldest_seconds_now": after.get("oldest_seconds"),
            "arrived_at_least": moved.get("arrived_at_least", 0),
            "arrived_at_most": moved.get("arrived_at_most"),
            "received_at_least": moved.get("received_at_least", 0),
        }
        if _is_other(row, passed):
            found.append(row)
    return found


def _is_other(row: Row, passed: timedelta) -> bool:
    """Whether a place has changed: that its messages have waited longer is no change."""
    then, now = row["oldest_seconds_then"], row["oldest_seconds_now"]
    # Both waits are rounded down.
    has_other_oldest = then is not None and now is not None and abs(passed - (now - then) * SECOND) > SECOND
    moved = ("arrived_at_least", "arrived_at_most", "received_at_least")
    return has_other_oldest or row["messages_then"] != row["messages_now"] or any(row[name] for name in moved)


def _by(names: Sequence[str], rows: Iterable[Row]) -> dict[Key, Row]:
    return {tuple(row[name] for name in names): row for row in rows}


def _order(key: Key) -> tuple[bytes, ...]:
    """Names by their UTF-8 bytes; nulls first."""
    return tuple((name or "").encode() for name in key)
