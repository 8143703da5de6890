"""One window of all monitored queues: from the ledger's rows to the two tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.activation.backlog import count_groups, groups_then, holders_then, members_then
from pipelines.activation.checks import Clock
from pipelines.activation.evidence import known_of_window
from pipelines.activation.messages import monitored_messages, receivers, returning_transactions
from pipelines.activation.ready import received_once, redelivered
from pipelines.activation.replay import Monitor
from pipelines.activation.runs import activation
from pipelines.activation.summary import most_ready, of_unknown_queues, seen_queues, summary
from pipelines.activation.timeline import period_rows, queue_event_rows
from pipelines.activation.workers import replayed
from pipelines.engine.differences import Materialize
from pipelines.state.events_before import events_before
from schemas.keys import QUEUE


@dataclass(frozen=True)
class Facts:
    """The rows of the ledger that may matter at the start of the window or later."""

    message_events: DataFrame
    endpoint_events: DataFrame
    queue_events: DataFrame
    endpoints: DataFrame


@dataclass(frozen=True)
class Watched:
    """What the catalog says.

    Attributes:
        monitors: the monitors by number: `monitors[n].number` is n; not empty.
        named: (queue_number, instance, database, queue, mode, max_queue_readers, is_on) of them.
        services: (instance, database, local_service, queue_number) of the services of their queues.
        queues: (instance, database, queue) of all queues.
        shown: (queue_number, state, taken_at, last_activated_time, tasks_running) of the monitors that the
            newest snapshots show; null if they show none.
    """

    monitors: Sequence[Monitor]
    named: DataFrame
    services: DataFrame
    queues: DataFrame
    shown: DataFrame | None = None


def activation_of_window(
    facts: Facts,
    watched: Watched,
    clock: Clock,
    *,
    as_of: datetime,
    every_receive_counts: bool,
    materialize: Materialize,
) -> tuple[DataFrame, DataFrame]:
    """Replay the window before as_of.

    Args:
        facts: the ledger.
        watched: the catalog.
        clock: the window and the timer.
        as_of: the end of the window.
        every_receive_counts: without any queue events a RECEIVED counts as committed.
        materialize: computes a frame once (`pipelines.engine.differences.kept`).

    Returns:
        `activation` and `activation_summary` without as_of.

    Source: the design, "Activation".
    """
    start = clock.start
    message_events, endpoint_events, queue_events = (
        events_before(events, as_of)
        for events in (facts.message_events, facts.endpoint_events, facts.queue_events)
    )
    numbers = F.broadcast(watched.named.select("queue_number", *QUEUE))
    # Small sides come first: the embedded engine hashes the left one where it knows no sizes.
    numbered = numbers.join(queue_events, QUEUE, "inner")
    receiving = receivers(facts.endpoints, watched.services, as_of=as_of)
    returning = materialize(returning_transactions(queue_events))
    messages = monitored_messages(message_events, receiving, returning, start=start, materialize=materialize)
    returned = materialize(redelivered(messages, message_events, numbered, returning, start=start))
    periods = received_once(messages, start=start).unionByName(returned)
    timeline = period_rows(periods, start=start).unionByName(queue_event_rows(numbered, start=start))
    played = materialize(replayed(timeline, watched.monitors, clock))

    peaks = materialize(most_ready(played))
    members = materialize(members_then(receiving, endpoint_events, peaks))
    groups = materialize(groups_then(periods, members, peaks))
    holders = materialize(
        holders_then(groups, members, message_events, numbered, every_receive_counts=every_receive_counts)
    )
    counted = count_groups(groups, holders, queue_events)
    seen = materialize(seen_queues(_since(queue_events, clock)))
    known = known_of_window(queue_events, message_events, receiving, numbered, watched.shown, start=start)
    told = summary(watched.named, played, counted, periods, seen, known, start=start)
    return activation(played, watched.named), told.unionByName(of_unknown_queues(seen, watched.queues))


def unwatched(queue_events: DataFrame, queues: DataFrame, clock: Clock, *, as_of: datetime) -> DataFrame:
    """`activation_summary` without as_of where the catalog has no monitor: queues that it lacks."""
    return of_unknown_queues(seen_queues(_since(events_before(queue_events, as_of), clock)), queues)


def _since(events: DataFrame, clock: Clock) -> DataFrame:
    return events.where(F.unix_micros("event_time") >= clock.start)
