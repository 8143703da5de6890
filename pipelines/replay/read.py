"""Play the log again: the tables of the answer, and what of them is told."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import functions as F

from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.config.load import Settings
from pipelines.config.proposal import Proposal
from pipelines.config.queue_filter import KnownQueues, QueueFilter, QueueName, queue_text
from pipelines.console.invocation import name_command
from pipelines.replay.inputs import Read, queue_numbers, read_inputs
from pipelines.replay.period import Period
from pipelines.replay.player import Machine
from pipelines.replay.tables import Answer, answer
from pipelines.replay.timeline import timeline
from pipelines.replay.workers import played
from pipelines.storage.collect import collect_rows, micros
from pipelines.storage.published import published_as_of, published_runs
from pipelines.storage.small_frame import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS

ACTUAL, PROPOSED = "actual", "proposed"


@dataclass(frozen=True)
class ReplayRequest:
    """What is asked.

    Attributes:
        period: what is played.
        queues: by name, none for all; see `find_queues`.
        proposal: what the scenario `proposed` goes by; none leaves it out.
        as_if: as in a what-if.
        readers: None for as many as the log has, or their number.
        curve: numbers of readers that are tried beside it.
        top: TOP of both scenarios; None goes by the settings.
        drain: whether it goes on without arrivals until all is served.
    """

    period: Period
    queues: Sequence[str] = ()
    proposal: Proposal | None = None
    as_if: datetime | None = None
    readers: int | None = None
    curve: Sequence[int] = ()
    top: int | None = None
    drain: bool = False


@dataclass(frozen=True)
class Variant:
    """One way to play each queue; those of a curve stand beside the scenarios."""

    scenario: str
    readers: int | None
    top: int | None
    of_curve: bool = False


def find_queues(settings: Settings, names: Sequence[str]) -> list[QueueName]:
    """The queues of the catalog that the names mean, in any of their forms, in order; none means all.

    Raises:
        ConfigError: no queue has the name, or several have.
    """
    known = KnownQueues.of(settings.catalog)
    return sorted({QueueFilter(name).only(known) for name in names} or known.queues)


@contextmanager
def replayed(warehouse: Warehouse, settings: Settings, asked: ReplayRequest) -> Iterator[Answer]:
    """Play the queues; the frames may be read inside the block.

    Args:
        warehouse: what to read; nothing is written into it.
        settings: the current settings.
        asked: what is asked.

    Raises:
        ConfigError: no message is ready in the period.

    The scenario actual goes by the recorded levels and the current settings, the scenario proposed by the
    proposal; both play the same messages with the same work. A curve plays them again for each number.
    """
    names = find_queues(settings, asked.queues)
    numbered_names = queue_numbers(names)
    with warehouse.materializing() as materialize:
        spark = warehouse.spark
        numbered = small_frame(
            spark, numbered_names, "queue_number int, instance string, database string, queue string"
        )
        read = read_inputs(
            warehouse,
            settings,
            asked.proposal,
            numbered.drop("queue_number"),
            asked.period,
            as_if=asked.as_if,
            materialize=materialize,
        )
        _require_messages(read, asked, names)
        variants = _variants(settings, asked)
        machines = [
            Machine(
                start=micros(asked.period.start),
                end=micros(asked.period.end),
                readers=variant.readers,
                top=variant.top,
                drain=asked.drain,
            )
            for _ in numbered_names
            for variant in variants
        ]
        by_proposal = [variant.scenario == PROPOSED for variant in variants]
        lines = timeline(read.inputs, numbered, asked.period, by_proposal)
        done = materialize(played(lines, machines))
        told = [
            (number * len(variants) + place, variant.scenario, variant.readers, variant.of_curve, *name)
            for number, *name in numbered_names
            for place, variant in enumerate(variants)
        ]
        of_machines = small_frame(
            spark,
            told,
            "machine int, scenario string, given_readers bigint, of_curve boolean, instance string, "
            "database string, queue string",
        )
        yield answer(done, of_machines, read, asked.period, materialize)


def require_known(warehouse: Warehouse, settings: Settings, period: Period) -> None:
    """Look whether the ledger knows the whole period.

    Raises:
        PipelineError: nothing was published yet.
        ConfigError: the period is not over: neither a run nor an event is as late as its end.
    """
    latest = published_as_of(warehouse, settings, None)
    runs = published_runs(warehouse, "as_of")
    latest = max([latest, *(run["as_of"] for run in runs)])
    if period.end <= latest:
        return
    for table in (MESSAGES, QUEUE_FACTS, ENDPOINT_FACTS):
        [row] = collect_rows(warehouse.read(table).agg(F.max("event_time").alias("newest")))
        latest = max(latest, row["newest"] or latest)
    if period.end > latest:
        raise ConfigError(
            f"command line: --to {format_instant(period.end)} is in the future: the ledger goes to "
            f"{format_instant(latest)}; name an end until then, or run {name_command('nightly')} first"
        )


def _variants(settings: Settings, asked: ReplayRequest) -> list[Variant]:
    tops = {ACTUAL: asked.top or settings.receive.top}
    if asked.proposal:
        tops[PROPOSED] = asked.top or asked.proposal.settings.receive.top
    main = [Variant(scenario, asked.readers, top) for scenario, top in tops.items()]
    curve = [Variant(name, readers, top, True) for name, top in tops.items() for readers in asked.curve]
    return main + curve


def _require_messages(read: Read, asked: ReplayRequest, names: Sequence[QueueName]) -> None:
    if read.inputs.messages.isEmpty():
        period = asked.period
        where = " in " + ", ".join(queue_text(name) for name in names) if asked.queues else ""
        raise ConfigError(
            f"command line: --from {format_instant(period.start)} --to {format_instant(period.end)}: no "
            f"message is ready{where} in that time; name a time in which messages arrived"
        )
