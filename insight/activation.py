"""What the queue monitor of one queue found."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from config.catalog import Catalog
from config.errors import ConfigError, PipelineError
from config.instants import format_instant
from config.load import Settings
from config.nearest import instead
from insight.queues_off import queues_off_at
from schemas.keys import QUEUE
from schemas.outputs import ACTIVATION, ACTIVATION_SUMMARY
from storage.collected import collected
from storage.monitors import latest_monitors
from storage.warehouse import Warehouse

QueueName = tuple[str, str, str]


def find_queue(settings: Settings, name: str) -> QueueName:
    """The monitored queue that a name means, alone or as INSTANCE.DATABASE.QUEUE.

    Raises:
        ConfigError: no queue with a monitor has the name, or several have.
    """
    queues = {row[:3]: ".".join(row[:3]) for row in settings.catalog.monitor_rows()}
    found = [queue for queue, full in queues.items() if name in (full, queue[2])]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(queues[queue] for queue in found)
        raise ConfigError(f"command line: --queue {name!r} is one of {names}; write one of these")
    hint = instead(name, dict.fromkeys(queue[2] for queue in queues))
    raise ConfigError(f"command line: --queue {name!r} has no monitor in {settings.catalog_path}; {hint}")


def activation_of_queue(
    warehouse: Warehouse, as_of: datetime, queue: QueueName, catalog: Catalog | None = None
) -> dict[str, Any]:
    """The summary of a queue's window, with its runs of checks in order as `runs`; nothing is replayed.

    `monitor` is the queue's monitor as the newest snapshot shows it (`queue_monitors`), `queue_off` what
    waits if the queue is off (`queues_off_at`, by the catalog); null else.

    Raises:
        PipelineError: the window of this as_of was not replayed.
    """

    def of_queue(rows: DataFrame) -> DataFrame:
        for column, value in zip(QUEUE, queue, strict=True):
            rows = rows.where(F.col(column) == F.lit(value))
        return rows.drop("as_of_key")

    summary = collected(of_queue(warehouse.read_as_of(ACTIVATION_SUMMARY, as_of)))
    if not summary:
        raise PipelineError(
            f"--as-of {format_instant(as_of)}: its window was not replayed yet; run jobs/nightly.py for it, "
            "or jobs/activation.py without --queue"
        )
    # The runs of one queue in one window: a few, and at most one per check.
    runs = collected(of_queue(warehouse.read_as_of(ACTIVATION, as_of)).orderBy("ordinal"))
    [told] = summary
    place = dict(zip(QUEUE, queue, strict=True))
    return {
        **told,
        "monitor": _at(latest_monitors(warehouse, as_of), place, without="batch"),
        "queue_off": _at(queues_off_at(warehouse, catalog or Catalog(), as_of), place),
        "runs": list(_own(runs, told)),
    }


def _at(
    rows: Sequence[Mapping[str, Any]], queue: Mapping[str, str], *, without: str = ""
) -> dict[str, Any] | None:
    """The row of a queue, without the queue's own columns; None if it has none."""
    for row in rows:
        if all(row[name] == value for name, value in queue.items()):
            return {name: value for name, value in row.items() if name not in (*QUEUE, without)}
    return None


def _own(runs: list[dict[str, Any]], summary: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The runs without what the summary says already."""
    for run in runs:
        yield {name: value for name, value in run.items() if name not in summary}
