"""The window of all monitored queues: from the rows of the ledger to the two tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.activation.backlog import count_groups, groups_at_peaks, holders_at_peaks, members_at_peaks
from pipelines.activation.checks import Clock
from pipelines.activation.evidence import evidence_of_window
from pipelines.activation.messages import monitored_messages, receivers, rolled_back_transactions
from pipelines.activation.monitor import Monitor, replay_monitors
from pipelines.activation.ready import received_once, redelivered
from pipelines.activation.summary import (
    SummaryParts,
    activation,
    count_events,
    most_ready,
    of_unknown_queues,
    summary,
)
from pipelines.activation.timeline import period_rows, queue_event_rows
from pipelines.engine.materialize import Materialize
from pipelines.state.events_before import events_before
from pipelines.state.ledger import Ledger
from schemas.keys import QUEUE


@dataclass(frozen=True)
class MonitoredQueues:
    """The monitors of the catalog, and their queues.

    Attributes:
        monitors: the monitors by number: `monitors[n].number` is n; not empty.
        named: (queue_number, instance, database, queue, mode, max_queue_readers, is_on) of them.
        services: (instance, database, local_service, queue_number) of the services of their queues.
        queues: (instance, database, queue) of all queues.
        snapshot_monitors: `pipelines.activation.write.SNAPSHOT_MONITORS` of the monitors that the newest
            snapshots show; null if they show none.
    """

    monitors: Sequence[Monitor]
    named: DataFrame
    services: DataFrame
    queues: DataFrame
    snapshot_monitors: DataFrame | None = None


def activation_of_window(
    ledger: Ledger, monitored: MonitoredQueues, clock: Clock, *, as_of: datetime, materialize: Materialize
) -> tuple[DataFrame, DataFrame]:
    """Replay the window before as_of; see docs/semantics.md#activation.

    Args:
        ledger: the rows that can matter at the start of the window or later.
        monitored: the monitors and their queues, by the catalog.
        clock: the window and the timer.
        as_of: the end of the window.
        materialize: computes a frame once.

    Returns:
        `activation` and `activation_summary` without as_of.
    """
    start = clock.start
    so_far = ledger.before(as_of)
    message_events, queue_events = so_far.message_events, so_far.queue_events
    numbers = F.broadcast(monitored.named.select("queue_number", *QUEUE))
    monitored_events = numbers.join(queue_events, QUEUE, "inner")
    receiving = receivers(ledger.endpoints, monitored.services, as_of=as_of)
    rolled_back = materialize(rolled_back_transactions(queue_events))
    messages = monitored_messages(
        message_events, receiving, rolled_back, start=start, materialize=materialize
    )
    returned = materialize(redelivered(messages, message_events, monitored_events, rolled_back, start=start))
    periods = received_once(messages, start=start).unionByName(returned)
    timeline = period_rows(periods, start=start).unionByName(queue_event_rows(monitored_events, start=start))
    replay = materialize(replay_monitors(timeline, monitored.monitors, clock))

    peaks = materialize(most_ready(replay))
    members = materialize(members_at_peaks(receiving, so_far.endpoint_events, peaks))
    groups = materialize(groups_at_peaks(periods, members, peaks))
    holders = materialize(holders_at_peaks(groups, members, so_far, monitored_events))
    counts = count_groups(groups, holders, queue_events)
    event_counts = materialize(count_events(_since(queue_events, clock)))
    evidence = evidence_of_window(
        so_far, receiving, monitored_events, monitored.snapshot_monitors, start=start
    )
    parts = SummaryParts(replay, counts, periods, event_counts, evidence)
    rows = summary(monitored.named, parts, start=start)
    return activation(replay, monitored.named), rows.unionByName(
        of_unknown_queues(event_counts, monitored.queues)
    )


def without_monitors(
    queue_events: DataFrame, queues: DataFrame, clock: Clock, *, as_of: datetime
) -> DataFrame:
    """`activation_summary` without as_of where the catalog has no monitor: the queues that it lacks."""
    return of_unknown_queues(count_events(_since(events_before(queue_events, as_of), clock)), queues)


def _since(events: DataFrame, clock: Clock) -> DataFrame:
    return events.where(F.unix_micros("event_time") >= clock.start)
