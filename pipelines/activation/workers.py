"""Queue monitors in Python workers: the events of each queue stream in, and runs of checks come out."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from types import NoneType
from typing import TYPE_CHECKING, get_args, get_type_hints

import numpy as np
from pyspark.sql import DataFrame, functions as F

from pipelines.activation import timeline as codes
from pipelines.activation.checks import CHECKS, OCCURS, REASONS, SUPPRESSED_BY, TRIGGERS, Checks, Clock
from pipelines.activation.monitor import Monitor, MonitorReplay
from pipelines.activation.states import Numbers, QueueEvents, Totals
from pipelines.activation.timeline import COLUMNS, ORDER
from pipelines.engine.ordered import sort_within_keys, split_by_key
from pipelines.engine.python_workers import Work
from schemas.keys import QUEUE

if TYPE_CHECKING:
    import pyarrow as pa


TYPES = {int: "bigint", bool: "boolean"}
NAMES = {"trigger": TRIGGERS, "reason": REASONS, "suppressed_by": SUPPRESSED_BY}
"""The texts of columns that are numbers in a worker."""
RUN = {
    **dict.fromkeys(("first_check", "last_check", "until", "checks"), "bigint"),
    **dict.fromkeys(("trigger", "reason"), "string"),
    **dict.fromkeys(("ready_messages", "running_tasks"), "bigint"),
    "occurs": "boolean",
    "suppressed_by": "string",
}
TOTALS = {
    name: TYPES[next(kind for kind in (get_args(hint) or (hint,)) if kind is not NoneType)]
    for name, hint in get_type_hints(Totals).items()
}


def _ddl(fields: dict[str, str]) -> str:
    return ", ".join(f"{name} {type}" for name, type in fields.items())


REPLAYED = f"queue_number int, ordinal bigint, run struct<{_ddl(RUN)}>, totals struct<{_ddl(TOTALS)}>"
OUTPUT_ROWS = 4096


def replay_monitors(timeline: DataFrame, monitors: Sequence[Monitor], clock: Clock) -> DataFrame:
    """MonitorReplay the queues, each in one task, with memory for a batch and not for a queue.

    Args:
        timeline: queue_number, `position`, event_id, `kind` and `number`; see
            `pipelines.activation.timeline`.
        monitors: the monitors by number: `monitors[n].number` is n.
        clock: the window.

    Returns:
        Per queue with any event: a row per run, with `ordinal` from 1 and `run`, and one with
        ordinal 0 and `totals`. Times are microseconds. No order.
    """
    ordered = sort_within_keys(timeline.select(*COLUMNS), "queue_number", ORDER)
    return ordered.drop("event_id").mapInArrow(_play(list(monitors), clock), REPLAYED)


def _play(monitors: list[Monitor], clock: Clock) -> Work:
    def play(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        output = _Output()
        queue: _Queue | None = None
        for number, batch, is_last in split_by_key(batches):
            queue = queue or _Queue(number, MonitorReplay(monitors[number], clock))
            queue.play(batch, output, is_last=is_last)
            queue = None if is_last else queue
            if output.rows >= OUTPUT_ROWS:
                yield from output.take_batches()
        yield from output.take_batches()

    return play


class _Queue:
    """The queue that is being replayed."""

    def __init__(self, number: int, replay: MonitorReplay) -> None:
        self._number, self._replay, self._runs = number, replay, 0
        self._last_position: int | None = None

    def play(self, batch: "pa.RecordBatch", output: "_Output", *, is_last: bool) -> None:
        """Play one batch of the queue.

        Raises:
            RuntimeError: the engine did not keep the order.
        """
        positions, kinds, numbers = (column.to_numpy(zero_copy_only=False) for column in batch.columns[1:4])
        first = positions[0] if self._last_position is None else self._last_position
        if positions[0] < first or np.any(positions[1:] < positions[:-1]):
            raise RuntimeError("the engine did not keep the order of what happened on a queue")
        self._last_position = positions[-1]
        played = QueueEvents(positions // codes.RANKS, kinds, numbers)
        if is_last:
            runs, totals = self._replay.finish(played)
            output.add_totals(self._number, totals)
        else:
            runs = self._replay.play(played)
        output.add_runs(self._number, self._runs, runs)
        self._runs += len(runs)


class _Output:
    """Result rows until they are a batch.

    Attributes:
        rows: the number of rows.
    """

    def __init__(self) -> None:
        import pyarrow as pa

        types = {"bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}
        self._run, self._total = (
            pa.struct([(name, types[type]) for name, type in fields.items()]) for fields in (RUN, TOTALS)
        )
        self._clear()

    def _clear(self) -> None:
        self.rows = 0
        self._numbers: list[Numbers] = []
        self._ordinals: list[Numbers] = []
        self._runs: list[Checks] = []
        self._totals: dict[int, Totals] = {}

    def add_runs(self, number: int, before: int, runs: Checks) -> None:
        """Add runs of a queue, after the number of its runs before."""
        self._numbers.append(np.full(len(runs), number))
        self._ordinals.append(np.arange(before + 1, before + 1 + len(runs)))
        self._runs.append(runs)
        self.rows += len(runs)

    def add_totals(self, number: int, totals: Totals) -> None:
        """Add the totals of a queue."""
        self._totals[number] = totals
        self.rows += 1

    def take_batches(self) -> Iterator["pa.RecordBatch"]:
        """Take all rows as batches."""
        import pyarrow as pa

        if self._runs:
            runs = np.concatenate(self._runs)
            columns = {name: pa.array(runs[name]) for name in CHECKS.names or ()}
            columns |= {name: pa.array(names).take(columns[name]) for name, names in NAMES.items()}
            columns["occurs"] = pa.array(runs["suppressed_by"] == OCCURS)
            run = pa.StructArray.from_arrays([columns[name] for name in RUN], fields=list(self._run))
            numbers, ordinals = np.concatenate(self._numbers), np.concatenate(self._ordinals)
            yield self._batch(numbers, ordinals, run, pa.nulls(len(runs), self._total))
        if self._totals:
            totals = pa.array([asdict(each) for each in self._totals.values()], self._total)
            yield self._batch(list(self._totals), [0] * len(totals), pa.nulls(len(totals), self._run), totals)
        self._clear()

    def _batch(
        self,
        numbers: Sequence[int] | Numbers,
        ordinals: Sequence[int] | Numbers,
        run: "pa.Array",
        totals: "pa.Array",
    ) -> "pa.RecordBatch":
        import pyarrow as pa

        columns = [pa.array(numbers, pa.int32()), pa.array(ordinals, pa.int64()), run, totals]
        return pa.RecordBatch.from_arrays(columns, names=["queue_number", "ordinal", "run", "totals"])


MOMENTS = ("first_check", "last_check", "until")


def activation(replay: DataFrame, monitors: DataFrame) -> DataFrame:
    """The table `activation` without as_of: runs with the names of their queues.

    Args:
        replay: `replay_monitors`.
        monitors: (queue_number, instance, database, queue, mode, ...), unique by the first.

    """
    runs = replay.where("ordinal > 0").select("queue_number", "ordinal", "run.*")
    named = runs.join(F.broadcast(monitors.select("queue_number", *QUEUE, "mode")), "queue_number", "inner")
    return named.withColumns({name: F.timestamp_micros(name) for name in MOMENTS}).drop("queue_number")
