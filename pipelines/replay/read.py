"""Read what a replay needs from the warehouse, play it, and give the tables of the answer."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import QueueName, queue_text
from pipelines.console.invocation import command_line
from pipelines.engine.frames import small_frame
from pipelines.engine.materialize import Materialize
from pipelines.queue_machine.workers import run_queues
from pipelines.replay.inputs import Sources, replay_inputs
from pipelines.replay.player import RESULTS, Machine, Player
from pipelines.replay.request import PROPOSED, Period, ReplayRequest, find_queues, list_variants
from pipelines.replay.tables import ReplayTables, make_tables
from pipelines.replay.timeline import ORDER, PLAYED, timeline
from pipelines.schedules.read import catalog_frames, read_backlog
from pipelines.settings.load import Settings
from pipelines.state.fates import ARE_BINDINGS
from pipelines.state.read import read_ledger
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.collect import collect_rows, micros
from pipelines.storage.pruned_days import require_left, start_of
from pipelines.storage.published import published_as_of, read_published_runs
from pipelines.storage.snapshots.newest import read_complete_endpoints
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.outputs import CATALOG_HISTORY

log = logging.getLogger(__name__)
NUMBERED = "queue_number int, instance string, database string, queue string"
MACHINES = "machine int, scenario string, of_curve boolean, instance string, database string, queue string"


@contextmanager
def open_replay(warehouse: Warehouse, settings: Settings, request: ReplayRequest) -> Iterator[ReplayTables]:
    """Play the queues; the frames can be read inside the block.

    Args:
        warehouse: the tables; nothing is written.
        settings: the current settings.
        request: the period, the queues, and how they are played.

    Raises:
        ConfigError: no message is ready in the period.

    The scenario actual uses the recorded levels and the current settings, the scenario proposed those of the
    proposal; both play the same messages with the same work. A curve plays them again for each number.
    """
    names = find_queues(settings, request.queues)
    period, variants = request.period, list_variants(settings, request)
    with warehouse.materializing() as materialize:
        numbered = small_frame(
            warehouse.spark, [(number, *name) for number, name in enumerate(names)], NUMBERED
        )
        sources = _read_sources(warehouse, settings, numbered.drop("queue_number"), period, materialize)
        inputs = replay_inputs(sources, request, settings, materialize)
        if inputs.messages.isEmpty():
            raise _no_messages(request, names)
        machines = [
            Machine(micros(period.start), micros(period.end), variant.readers, variant.top, request.drain)
            for _ in names
            for variant in variants
        ]
        by_proposal = [variant.scenario == PROPOSED for variant in variants]
        events = timeline(inputs, numbered, period, by_proposal)
        played = run_queues(events, PLAYED, ORDER, lambda machine: Player(machines[machine]), RESULTS)
        rows = [
            (machine, variant.scenario, variant.is_of_curve, *name)
            for machine, (name, variant) in enumerate((name, each) for name in names for each in variants)
        ]
        described = small_frame(warehouse.spark, rows, MACHINES)
        yield make_tables(materialize(played), described, inputs, period, materialize)


def require_known(warehouse: Warehouse, settings: Settings, period: Period) -> None:
    """Refuse a period that is not over.

    Raises:
        PipelineError: nothing was published yet.
        ConfigError: neither a published as_of nor an event is as late as the end of the period, or it needs
            a pruned day.
    """
    subject = f"command line: --from {format_instant(period.start)}"
    require_left(warehouse.first_day, period.around.start, subject=subject, moment=period.start)
    latest = published_as_of(warehouse, settings, None, says_age=False)
    runs = read_published_runs(warehouse, "as_of")
    latest = max([latest, *(run["as_of"] for run in runs)])
    if period.end <= latest:
        return
    for table in (MESSAGES, QUEUE_FACTS, ENDPOINT_FACTS):
        [row] = collect_rows(warehouse.read(table).agg(F.max("event_time").alias("newest")))
        latest = max(latest, row["newest"] or latest)
    if period.end > latest:
        raise ConfigError(
            f"command line: --to {format_instant(period.end)} is in the future: the ledger goes to "
            f"{format_instant(latest)}; name an end until then, or run "
            f"{command_line('nightly', '--as-of', format_instant(period.end))} first"
        )


def _read_sources(
    warehouse: Warehouse, settings: Settings, queues: DataFrame, period: Period, materialize: Materialize
) -> Sources:
    has_queue_events = read_completed_batches(warehouse).has_queue_events
    catalog = catalog_frames(warehouse, settings)
    backlog = read_backlog(warehouse, catalog, period.start, materialize, has_queue_events=has_queue_events)
    since = _earliest_moment(warehouse, backlog.messages, period)
    return Sources(
        read_ledger(warehouse, since, has_queue_events=has_queue_events),
        catalog,
        backlog,
        queues,
        complete=read_complete_endpoints(warehouse),
        bindings=warehouse.read(CATALOG_HISTORY).where(ARE_BINDINGS),
    )


def _earliest_moment(warehouse: Warehouse, waiting: DataFrame, period: Period) -> datetime:
    """The moment since when rows of the ledger can matter: 24 hours before the period, or earlier.

    A message that was received earlier and is still open shared the work on it with others that can be
    closed. If that was on a pruned day, a warning says so.
    """
    around = period.around.start
    received = warehouse.read_open(MESSAGES, period.start).where(
        (F.col("event_type") == "RECEIVED") & (F.col("event_time") < F.lit(around))
    )
    still_open = waiting.where("in_queue or in_flight").select("message_id")
    earliest = received.join(still_open, "message_id", "left_semi").agg(
        F.min("event_time").alias("first_received_at")
    )
    [row] = collect_rows(earliest)
    first = min(around, row["first_received_at"] or around)
    if warehouse.first_day is None or not warehouse.is_pruned(first):
        return first
    log.warning(
        "a message that is still open was received at %s, on a pruned day (the first day left is %s): the "
        "work on it counts without the messages that were received with it",
        format_instant(first),
        warehouse.first_day,
    )
    return start_of(warehouse.first_day)


def _no_messages(request: ReplayRequest, names: Sequence[QueueName]) -> ConfigError:
    period = request.period
    where = " in " + ", ".join(queue_text(name) for name in names) if request.queues else ""
    return ConfigError(
        f"command line: --from {format_instant(period.start)} --to {format_instant(period.end)}: no "
        f"message is ready{where} in that time; name a time in which messages arrived"
    )
