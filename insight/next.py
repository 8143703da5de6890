"""What comes next in one queue, or out of one instance: for the job and for notebooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame, functions as F

from config.catalog import Catalog
from config.errors import PipelineError
from config.instants import format_instant
from insight.coming import next_received, next_transmitted
from insight.queues_off import queues_off_at, with_queue_off
from insight.wording import counted
from schemas.keys import QUEUE
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, UNRESOLVED
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

    def is_of(self, row: Mapping[str, Any]) -> bool:
        """Whether a row that names a queue is at this place."""
        wanted = zip((self.instance, self.database, self.queue), QUEUE, strict=True)
        return all(value is None or row[name] == value for value, name in wanted)

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


def what_comes_next(
    warehouse: Warehouse, place: Place, *, as_of: datetime, limit: int, catalog: Catalog | None = None
) -> dict[str, Any]:
    """Read the first rows of one queue's or one instance's order.

    Args:
        warehouse: what to read.
        place: the queue, by its name or else as INSTANCE.DATABASE.QUEUE; without a queue, the instance that
            sends.
        as_of: an as_of that was published.
        limit: how many messages.
        catalog: what says which messages wait for which queue; without one, none waits for a queue that is
            off.

    Returns:
        `as_of`, the place, `next`: the messages in order, and `held_back`: of a queue, how many messages
        wait in a queue that is off or a group that is locked, by state; of an instance, how many wait for
        queues that are off (queue_off). `queue_off` has the queue if it is off, `queues_off` all queues that
        messages of the instance wait for; see `queues_off_at`.

    Raises:
        PipelineError: nothing waits at the place, or there are several queues of that name.
    """
    catalog = catalog or Catalog()
    if place.queue is None:
        return _sent_next(warehouse, place, catalog, as_of, limit)
    received = place.of(warehouse.read_as_of(RECEIVE_SCHEDULE, as_of))
    # Of the whole queue only these columns are read; of its messages, the first.
    found = collected(received.groupBy(*QUEUE, "state").count())
    # A queue's own name may have dots as well.
    if not found and (in_full := place.in_full()):
        return what_comes_next(warehouse, in_full, as_of=as_of, limit=limit, catalog=catalog)
    counts = sorted(found, key=itemgetter(*QUEUE, "state"))
    off = queues_off_at(warehouse, catalog, as_of)
    # A queue that is off may have no message in it, and some that wait for it.
    rows = counts or [row for row in off if place.is_of(row)]
    queue = _only_queue(warehouse, rows, place, as_of)
    return {
        "as_of": as_of,
        **queue,
        "next": collected(next_received(Place(**queue).of(received), limit)),
        "held_back": {row["state"]: row["count"] for row in counts if row["state"] != "ready"},
        "queue_off": next((row for row in off if Place(**queue).is_of(row)), None),
    }


def _sent_next(
    warehouse: Warehouse, place: Place, catalog: Catalog, as_of: datetime, limit: int
) -> dict[str, Any]:
    """What an instance sends next; what waits for a queue that is off is only counted."""
    off = [row for row in queues_off_at(warehouse, catalog, as_of) if place.is_of(row) and row["waiting"]]
    sent = with_queue_off(place.of(warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)), catalog, off)
    coming = collected(next_transmitted(sent, limit))
    if not coming and not off:
        raise _nothing_waits(warehouse, place, as_of)
    return {
        "as_of": as_of,
        "instance": place.instance,
        "next": coming,
        "held_back": {"queue_off": sum(row["waiting"] for row in off)} if off else {},
        "queues_off": off,
    }


def _only_queue(
    warehouse: Warehouse, counts: Sequence[dict[str, Any]], place: Place, as_of: datetime
) -> dict[str, str]:
    """The one queue that has these rows, which are in order."""
    found = list(dict.fromkeys(tuple(row[name] for name in QUEUE) for row in counts))
    if not found:
        raise _nothing_waits(warehouse, place, as_of)
    if len(found) > 1:
        shown = "; ".join(
            f"--instance {instance} --database {database}" for instance, database, _ in found[:PLACES_SHOWN]
        )
        more = " and more" if len(found) > PLACES_SHOWN else ""
        raise PipelineError(f"{place}: there are several queues of that name; add one of: {shown}{more}")
    return dict(zip(QUEUE, found[0], strict=True))


def _nothing_waits(warehouse: Warehouse, place: Place, as_of: datetime) -> PipelineError:
    unplaced = warehouse.read_as_of(UNRESOLVED, as_of).count()
    if unplaced:
        return PipelineError(
            f"{place}: no schedule has a message there at {format_instant(as_of)}, but "
            f"{counted(unplaced, 'open message')} can't be placed and may belong there; jobs/waiting.py says "
            "why, and lists what waits"
        )
    return PipelineError(
        f"{place}: nothing waits there at {format_instant(as_of)}; names are compared byte by byte, and "
        "jobs/waiting.py lists what waits"
    )
