"""The queues in Python workers: what happens goes in, and what becomes of the messages comes out."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from pipelines.queue_machine.workers import Columns, in_workers
from pipelines.replay.player import Machine, Player
from pipelines.replay.timeline import COLUMNS, ORDER

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


def played(timeline: DataFrame, machines: Sequence[Machine]) -> DataFrame:
    """Play each machine; see `pipelines.queue_machine.workers`.

    Args:
        timeline: see `pipelines.replay.timeline`.
        machines: the machines by number.

    Returns:
        machine, `MESSAGE` and `TOTALS`: per machine a row per message and one with its totals. Times are
        microseconds. No order.
    """
    fed = [name for name in COLUMNS if name != "tie"]
    return in_workers(
        timeline, fed, ORDER, lambda number: Player(machines[number]), found, {**MESSAGE, **TOTALS}
    )


def found(player: Player, is_last: bool) -> Iterator[Columns]:
    """The messages that are finished since it was last asked; at the end the totals as well."""
    totals = player.finish() if is_last else None
    if rows := player.finished:
        yield dict(zip(MESSAGE, zip(*rows, strict=True), strict=True))
        rows.clear()
    if totals:
        yield {name: [value] for name, value in totals.items()}
