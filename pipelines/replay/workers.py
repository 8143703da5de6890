"""The machines: what happens on a queue streams through a Python worker, batch by batch."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from engine.ordered import in_order, stretches
from engine.python_workers import Work, in_python
from pipelines.replay.player import Machine, Player
from pipelines.replay.timeline import COLUMNS, ORDER

if TYPE_CHECKING:
    import pyarrow as pa

MESSAGE = {
    "message_id": "string",
    "arrived": "bigint",
    "started": "bigint",
    "finished": "bigint",
    "receive_number": "bigint",
    "level": "int",
    "estimated": "boolean",
    "gone": "bigint",
}
"""A message that was played. `gone` is when its endpoint ended and took it away."""
TOTALS = {
    "readers": "bigint",
    "busy": "bigint",
    "available": "bigint",
    "idle_locked": "bigint",
    "most_ready": "bigint",
    "empty_at": "bigint",
}
"""What one machine says of its queue, in a row without message_id."""
PLAYED = {"machine": "int", **MESSAGE, **TOTALS}
OUTPUT_ROWS = 8192
GARBAGE = 1_000_000
"""So many objects more than before are worth a look for garbage: a backlog is none, and has as many."""


def played(timeline: DataFrame, machines: Sequence[Machine]) -> DataFrame:
    """Play each machine in one task, with memory for its backlog and not for its queue.

    Args:
        timeline: see `pipelines.replay.timeline`.
        machines: the machines by number.

    Returns:
        `PLAYED`: per machine a row per message and one with its totals. Times are microseconds. No order.
    """
    ordered = in_order(timeline.select(*COLUMNS), "machine", ORDER)
    ddl = ", ".join(f"{name} {type}" for name, type in PLAYED.items())
    return in_python(ordered.drop("tie"), _play(list(machines)), ddl)


def _play(machines: list[Machine]) -> Work:
    def play(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        gc.set_threshold(GARBAGE)
        output = _Output()
        player: Player | None = None
        for number, stretch, is_last in stretches(batches):
            player = player or Player(machines[number])
            player.feed(*[column.to_pylist() for column in stretch.columns[1 : len(COLUMNS) - 1]])
            if is_last:
                yield from output.last(number, player)
                player = None
            elif len(player.finished) >= OUTPUT_ROWS:
                yield output.messages(number, player)

    return play


class _Output:
    """Batches of what players have finished."""

    def __init__(self) -> None:
        import pyarrow as pa

        types = {"bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_(), "int": pa.int32()}
        self._pa = pa
        self._types = {name: types[type] for name, type in PLAYED.items()}

    def last(self, number: int, player: Player) -> Iterator["pa.RecordBatch"]:
        """Play the rest: what is left, and the totals."""
        totals = player.finish()
        yield self.messages(number, player)
        yield self._batch(1, {"machine": [number], **{name: [totals[name]] for name in TOTALS}})

    def messages(self, number: int, player: Player) -> "pa.RecordBatch":
        """What is finished so far."""
        rows = player.finished
        columns = dict(zip(MESSAGE, map(list, zip(*rows, strict=True)), strict=True)) if rows else {}
        batch = self._batch(len(rows), {"machine": [number] * len(rows), **columns})
        rows.clear()
        return batch

    def _batch(self, rows: int, columns: Mapping[str, list[Any]]) -> "pa.RecordBatch":
        arrays = [
            self._pa.array(columns[name], type) if name in columns else self._pa.nulls(rows, type)
            for name, type in self._types.items()
        ]
        return self._pa.RecordBatch.from_arrays(arrays, names=list(PLAYED))
