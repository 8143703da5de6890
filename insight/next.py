"""What comes next in one queue, or out of one instance: for the job and for notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame, functions as F

from config.errors import PipelineError
from config.instants import format_instant
from insight.coming import next_received, next_transmitted
from schemas.keys import QUEUE
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from storage.collected import collected
from storage.warehouse import Warehouse

PLACES_SHOWN = 5


@dataclass(frozen=True)
class Place:
    """What is asked about: a queue by name, or an instance that sends; None is anywhere."""

    queue: str | None = None
    instance: str | None = None
    database: str | None = None

    def of(self, schedule: DataFrame) -> DataFrame:
        """The rows of the schedule at this place."""
        for name, wanted in (("instance", self.instance), ("database", self.database), ("queue", self.queue)):
            if wanted is not None:
                schedule = schedule.where(F.col(name) == F.lit(wanted))
        return schedule

    def in_full(self) -> "Place | None":
        """The same place if its queue is written INSTANCE.DATABASE.QUEUE; None if it can't be."""
        parts = (self.queue or "").rsplit(".", 2)
        if len(parts) < len(QUEUE) or self.instance is not None or self.database is not None:
            return None
        instance, database, queue = parts
        return Place(queue, instance, database)

    def __str__(self) -> str:
        named = (("--queue", self.queue), ("--instance", self.instance), ("--database", self.database))
        return " ".join(f"{option} {value}" for option, value in named if value is not None)


def what_comes_next(warehouse: Warehouse, place: Place, *, as_of: datetime, limit: int) -> dict[str, Any]:
    """Read the first rows of one queue's or one instance's order.

    Args:
        warehouse: what to read.
        place: the queue, by its name or else as INSTANCE.DATABASE.QUEUE; without a queue, the instance that
            sends.
        as_of: an as_of that was published.
        limit: how many messages.

    Returns:
        `as_of`, the place, `next`: the messages in order, and for a queue `held_back`: how many messages
        wait in a queue that is off or a group that is locked, by state.

    Raises:
        PipelineError: nothing waits at the place, or there are several queues of that name.
    """
    if place.queue is None:
        sent = place.of(warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of))
        coming = collected(next_transmitted(sent, limit))
        if not coming:
            raise _nothing_waits(place, as_of)
        return {"as_of": as_of, "instance": place.instance, "next": coming}
    received = place.of(warehouse.read_as_of(RECEIVE_SCHEDULE, as_of))
    # Of the whole queue only these columns are read; of its messages, the first.
    found = collected(received.groupBy(*QUEUE, "state").count())
    # A queue's own name may have dots as well.
    if not found and (in_full := place.in_full()):
        return what_comes_next(warehouse, in_full, as_of=as_of, limit=limit)
    counts = sorted(found, key=itemgetter(*QUEUE, "state"))
    queue = _only_queue(counts, place, as_of)
    return {
        "as_of": as_of,
        **queue,
        "next": collected(next_received(Place(**queue).of(received), limit)),
        "held_back": {row["state"]: row["count"] for row in counts if row["state"] != "ready"},
    }


def _only_queue(counts: Sequence[dict[str, Any]], place: Place, as_of: datetime) -> dict[str, str]:
    """The one queue that has these rows, which are in order."""
    found = list(dict.fromkeys(tuple(row[name] for name in QUEUE) for row in counts))
    if not found:
        raise _nothing_waits(place, as_of)
    if len(found) > 1:
        shown = "; ".join(
            f"--instance {instance} --database {database}" for instance, database, _ in found[:PLACES_SHOWN]
        )
        more = " and more" if len(found) > PLACES_SHOWN else ""
        raise PipelineError(f"{place}: there are several queues of that name; add one of: {shown}{more}")
    return dict(zip(QUEUE, found[0], strict=True))


def _nothing_waits(place: Place, as_of: datetime) -> PipelineError:
    return PipelineError(
        f"{place}: nothing waits there at {format_instant(as_of)}; names are compared byte by byte, and "
        "jobs/waiting.py lists what waits"
    )
