"""Queue monitors in Python workers: the events of each queue stream in, and runs of checks come out."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from types import NoneType
from typing import get_args, get_type_hints

from pyspark.sql import DataFrame, functions as F

from pipelines.activation.checks import CHECKS, OCCURS, REASONS, SUPPRESSED_BY, TRIGGERS, Checks, Clock
from pipelines.activation.monitor import Monitor, MonitorReplay
from pipelines.activation.states import Numbers, QueueEvents, Totals
from pipelines.activation.timeline import ORDER, PLAYED
from pipelines.queue_machine.workers import BITS, Columns, run_queues
from schemas.keys import QUEUE

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
RESULTS = {"ordinal": "bigint", **RUN, **TOTALS}
"""The results of a queue: a row per run of checks, with `ordinal` from 1; and one with ordinal 0 and its
totals. Times are microseconds."""
MOMENTS = ("first_check", "last_check", "until")


def replay_monitors(timeline: DataFrame, monitors: Sequence[Monitor], clock: Clock) -> DataFrame:
    """Replay the queues, each in one task, with memory for a batch and not for a queue.

    Args:
        timeline: see `pipelines.activation.timeline`.
        monitors: the monitors by number: `monitors[n].number` is n.
        clock: the window.

    Returns:
        queue_number and `RESULTS`, of queues with any event. No order.
    """
    by_number = list(monitors)

    def begin(number: int) -> _Player:
        return _Player(MonitorReplay(by_number[number], clock))

    return run_queues(timeline, PLAYED, ORDER, begin, RESULTS, in_numpy=True)


class _Player:
    """The replay of a monitor, batch by batch."""

    def __init__(self, replay: MonitorReplay) -> None:
        self._replay, self._runs = replay, 0
        self._ended: list[Checks] = []

    def play(self, columns: Sequence[Numbers]) -> None:
        """Play the next events: the columns of `timeline.PLAYED` from position on."""
        positions, kinds, numbers = columns
        self._ended.append(self._replay.play(QueueEvents(positions >> BITS, kinds, numbers)))

    def take_results(self, *, is_last: bool) -> Iterator[Columns]:
        """The runs that have ended since the last call; at the end all others, and the totals."""
        totals: Totals | None = None
        if is_last:
            runs, totals = self._replay.finish()
            self._ended.append(runs)
        for runs in self._ended:
            if len(runs):
                yield self._columns_of(runs)
        self._ended.clear()
        if totals:
            yield {"ordinal": [0], **{name: [value] for name, value in asdict(totals).items()}}

    def _columns_of(self, runs: Checks) -> Columns:
        columns = {name: runs[name].tolist() for name in CHECKS.names or () if name in RUN}
        columns["occurs"] = (runs["suppressed_by"] == OCCURS).tolist()
        for name, texts in NAMES.items():
            columns[name] = [texts[number] for number in columns[name]]
        before, self._runs = self._runs, self._runs + len(runs)
        return {"ordinal": range(before + 1, self._runs + 1), **columns}


def activation(replay: DataFrame, monitors: DataFrame) -> DataFrame:
    """The table `activation` without as_of: runs with the names of their queues.

    Args:
        replay: `replay_monitors`.
        monitors: (queue_number, instance, database, queue, mode, ...), unique by the first.

    """
    runs = replay.where("ordinal > 0").select("queue_number", "ordinal", *RUN)
    named = runs.join(F.broadcast(monitors.select("queue_number", *QUEUE, "mode")), "queue_number", "inner")
    return named.withColumns({name: F.timestamp_micros(name) for name in MOMENTS}).drop("queue_number")
