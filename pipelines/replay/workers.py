"""The machines in Python workers: events of queues in, served messages and totals out."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from pipelines.queue_machine.workers import Columns, run_queues
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
"""A message that was played. `gone` is the end of its endpoint, if that removed the message."""
TOTALS = {
    "readers": "bigint",
    "busy": "bigint",
    "available": "bigint",
    "idle_locked": "bigint",
    "most_ready": "bigint",
    "empty_at": "bigint",
}
"""The totals of one machine, in a row without message_id."""


def play_machines(timeline: DataFrame, machines: Sequence[Machine]) -> DataFrame:
    """Play each machine; see `pipelines.queue_machine.workers`.

    Args:
        timeline: see `pipelines.replay.timeline`.
        machines: the machines by number.

    Returns:
        machine, `MESSAGE` and `TOTALS`: per machine a row per message and one with its totals. Times are
        microseconds. No order.
    """
    columns = [name for name in COLUMNS if name != "tie"]
    types = {**MESSAGE, **TOTALS}

    def begin(machine: int) -> Player:
        return Player(machines[machine])

    return run_queues(timeline, columns, ORDER, begin, take_results, types)


def take_results(player: Player, is_last: bool) -> Iterator[Columns]:
    """The messages that are finished since the last call; at the end the totals too."""
    totals = player.finish() if is_last else None
    if rows := player.finished:
        yield dict(zip(MESSAGE, zip(*rows, strict=True), strict=True))
        rows.clear()
    if totals:
        yield {name: [value] for name, value in totals.items()}
