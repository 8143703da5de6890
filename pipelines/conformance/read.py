"""Read what a conformance check compares from the warehouse."""

from datetime import datetime, timedelta
from operator import itemgetter

from pyspark.sql import DataFrame, functions as F

from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import QueueName
from pipelines.conformance.levels import conformance_levels
from pipelines.conformance.links import LinkRows, conformance_links, conformance_sends
from pipelines.conformance.receives import ConformanceRequest
from pipelines.conformance.timeline import timeline
from pipelines.engine.frames import small_frame
from pipelines.engine.materialize import Materialize
from pipelines.questions.differences import count_level_differences
from pipelines.schedules.read import catalog_frames
from pipelines.settings.load import Settings
from pipelines.state.ledger import Ledger
from pipelines.state.messages import describe_messages
from pipelines.state.read import read_ledger, with_switches
from pipelines.state.transactions import LOCKING, OUTCOMES
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.collect import collect_rows, micros
from pipelines.storage.histories import stored_versions
from pipelines.storage.pruned_days import pruned_error, require_left, start_of
from pipelines.storage.warehouse import Warehouse
from schemas.conformance import CONFORMANCE_LINKS
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES, SENDS


def require_window_left(
    warehouse: Warehouse, *, as_of: datetime, window: timedelta | None, tolerance: timedelta
) -> None:
    """Refuse a check that needs a pruned day.

    Raises:
        ConfigError: the window, or without one the whole log, begins before the first day left.
    """
    first_day = warehouse.first_day
    since = None if window is None else as_of - window - tolerance
    if first_day is None or (since is not None and not warehouse.is_pruned(since)):
        return
    require_left(first_day, as_of, subject=f"command line: --as-of {format_instant(as_of)}", moment=as_of)
    hours = (as_of - tolerance - start_of(first_day)) // timedelta(hours=1)
    remedy = f"name --window-hours {hours} or less" if hours else "name a later --as-of"
    raise pruned_error(first_day, since, subject="command line: conformance", remedy=remedy)


def levels_at(warehouse: Warehouse, *, as_of: datetime, window: timedelta | None) -> DataFrame:
    """`conformance_levels` of the endpoints created before as_of; with a window, within it."""
    return conformance_levels(
        _created(warehouse, as_of, window), stored_versions(warehouse.read(PRIORITY_RULES))
    )


def _created(warehouse: Warehouse, as_of: datetime, window: timedelta | None) -> DataFrame:
    created_at = F.col("created_at")
    is_within = created_at < F.lit(as_of)
    if window is not None:
        is_within &= created_at >= F.lit(as_of - window)
    return warehouse.read(ENDPOINTS).where(is_within)


def count_levels_of_server(
    warehouse: Warehouse, settings: Settings, *, as_of: datetime, window: timedelta | None
) -> dict[str, int]:
    """Count the endpoints whose level is the server's own, because only a snapshot shows them.

    Returns:
        `of_server`: their number. The levels of these endpoints cannot be checked.
        `differing_today`: the number of them to which today's rules give another level.
    """
    own = _created(warehouse, as_of, window).where("level_source = 'server' and logged_priority is not null")
    counts = {"of_server": own.count(), "differing_today": 0}
    if counts["of_server"]:
        differing = count_level_differences(
            own, warehouse.read(PRIORITY_RULES), settings.known_rules(as_of), as_of=as_of
        )
        [sums] = collect_rows(differing.agg(F.sum("endpoints").alias("endpoints")))
        counts["differing_today"] = sums["endpoints"] or 0
    return counts


def overtaken_at(
    warehouse: Warehouse,
    settings: Settings,
    *,
    as_of: datetime,
    window: timedelta | None,
    messages: DataFrame,
) -> tuple[DataFrame, DataFrame]:
    """`conformance_links` and `conformance_sends` of the messages before as_of; with a window, within it.

    Args:
        warehouse: the tables.
        settings: blocks of fragments, and databases that honor priorities.
        as_of: links compare the messages that arrived before it, sends those that were sent before it.
        window: None for all messages.
        messages: `state.messages.describe_messages` of all messages, inside and outside the window.
    """
    blocks = settings.transmission.blocks
    endpoints = warehouse.read(ENDPOINTS)
    since = None if window is None else as_of - window
    links = conformance_links(
        LinkRows(
            message_events=warehouse.read(MESSAGES),
            messages=messages,
            endpoints=endpoints,
            honoring=catalog_frames(warehouse, settings).honoring,
        ),
        since=since,
        as_of=as_of,
        fragment_bytes=None if blocks is None else blocks.fragment_bytes,
    )
    sends = conformance_sends(warehouse.read(SENDS), messages, endpoints, since=since, as_of=as_of)
    return links.withColumn("as_of", F.lit(as_of)).select(*CONFORMANCE_LINKS.names), sends


def request_at(
    warehouse: Warehouse,
    settings: Settings,
    *,
    as_of: datetime,
    window: timedelta | None,
    tolerance: timedelta = timedelta(0),
    materialize: Materialize,
) -> ConformanceRequest:
    """Read the events of the queues before as_of.

    Args:
        warehouse: the tables.
        settings: the catalog: queues, and the services that are bound to them.
        as_of: the instant.
        window: only decisions at most this long before as_of count; None for all.
        tolerance: events at most this long before the first decision still explain it.
        materialize: computes a frame once.
    """
    queues = sorted(row[:3] for row in settings.catalog.queue_rows())
    numbered = small_frame(
        warehouse.spark,
        [(number, *names) for number, names in enumerate(queues)],
        "queue_number int, instance string, database string, queue string",
    )
    start = datetime.min.replace(tzinfo=as_of.tzinfo) if window is None else as_of - window
    has_queue_events = read_completed_batches(warehouse).has_queue_events
    if window is None:
        message_events, endpoint_events, queue_events, endpoints = (
            warehouse.read(table) for table in (MESSAGES, ENDPOINT_FACTS, QUEUE_FACTS, ENDPOINTS)
        )
        queue_events = with_switches(warehouse, queue_events)
        ledger = Ledger(message_events, endpoint_events, queue_events, endpoints, has_queue_events)
    else:
        ledger = read_ledger(warehouse, start - tolerance, has_queue_events=has_queue_events)
    # All events of a message describe it, also those after as_of.
    messages = materialize(describe_messages(ledger.message_events, materialize))
    events = timeline(ledger, messages, numbered, catalog_frames(warehouse, settings).bindings, as_of=as_of)
    return ConformanceRequest(messages, events, numbered, as_of, micros(start), has_queue_events)


def has_receives(warehouse: Warehouse) -> bool:
    """Whether the log has any RECEIVED event; events that are inferred from a snapshot do not count."""
    received = warehouse.read(MESSAGES).where("event_type = 'RECEIVED' and inferred is null")
    return not received.isEmpty()


def silent_queues(warehouse: Warehouse, receives: DataFrame) -> set[QueueName]:
    """Find the queues of `conformance` whose transactions are not logged: their locks are unknown.

    Args:
        warehouse: the tables.
        receives: `conformance`, materialized.
    """
    of_transactions = F.col("event_type").isin(*LOCKING, *OUTCOMES)
    logged = warehouse.read(QUEUE_FACTS).where(of_transactions).select(*QUEUE).distinct()
    silent = receives.join(logged, list(QUEUE), "left_anti").select(*QUEUE)
    return set(map(itemgetter(*QUEUE), collect_rows(silent)))
