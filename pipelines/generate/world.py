"""What a log is about: the kinds of conversations, and the queues with their readers."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import UnionType
from typing import NamedTuple, Union, get_args, get_origin, get_type_hints

from pyspark.sql import types as T

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class Kind(NamedTuple):
    """A kind of conversation: who talks to whom, about what, how fast. Times are microseconds.

    Attributes:
        kind: its number; kinds with the same number share conversation groups.
        initiator_level, target_level: what the rules give the two endpoints, for logged_priority.
        initiator_skew, target_skew, relay_skew: how far the instance's clock is off.
        initiator_session, target_session: number of the first session that reads the queue.
        initiator_readers, target_readers: how many sessions read it.
        shape: dialog (turn by turn), stream (many requests, one EndDialog), oneway (requests only).
        gap: between turns, on average.
        lag: from arrival to RECEIVE where no reply decides it.
        poll: the reader only looks every `poll`; 0 is at once. Not for dialogs.
        size: bytes of a message, about.
        messages: of one conversation; null follows LENGTHS.
        backlog: factor on the share of conversations whose messages nobody has received.
        group_block: conversations of the kind within so many consecutive ones share the initiator's group.
        relay: the instance that only passes the messages on; null sends directly.
        waits: the target's reader waits in RECEIVE between messages and logs it.
        off_from, off_until: the target queue is off; messages wait and are delivered afterwards.
        blocked_from: nobody receives from the target queue any more.
        blocked_off: it is off as well, so that nothing is delivered.
        begin_at: the moment of a scripted conversation; null draws one.
        stall: a scripted conversation is left with its last messages not received.
        poison: its first message is received and rolled back five times.
    """

    kind: int
    contract: str
    request_type: str
    reply_type: str
    initiator_service: str
    initiator_instance: str
    initiator_database: str
    initiator_queue: str
    target_service: str
    target_instance: str
    target_database: str
    target_queue: str
    initiator_level: int
    target_level: int
    initiator_skew: int = 0
    target_skew: int = 0
    relay_skew: int = 0
    initiator_session: int = 51
    initiator_readers: int = 2
    target_session: int = 51
    target_readers: int = 2
    shape: str = "dialog"
    gap: int = 20 * SECOND
    lag: int = 2 * SECOND
    poll: int = 0
    size: int = 2_000
    messages: int | None = None
    backlog: float = 1.0
    group_block: int = 0
    relay: str | None = None
    waits: bool = False
    off_from: int | None = None
    off_until: int | None = None
    blocked_from: int | None = None
    blocked_off: bool = False
    begin_at: int | None = None
    stall: bool = False
    poison: bool = False


class Reader(NamedTuple):
    """A queue as its queue monitor and its readers see it. Times are microseconds.

    Attributes:
        ordinal: the queue's number.
        skew: how far the instance's clock is off.
        session: number of the first session that reads the queue.
        tasks: activated tasks that read it; 0 has no task events.
        period: from the start of a task to the start of the next one in its place.
        busy_from: from here on tasks find messages all the time and never exit; null is never.
        waits_from: from here on the last session waits in RECEIVE and gets nothing; null is never.
        off_from, off_until: when it was switched off and on again; null is never.
        altered_at: an ALTER QUEUE that left the status alone; null is none.
    """

    ordinal: int
    instance: str
    database: str
    queue: str
    skew: int = 0
    session: int = 51
    tasks: int = 1
    period: int = 4 * HOUR
    busy_from: int | None = None
    waits_from: int | None = None
    off_from: int | None = None
    off_until: int | None = None
    altered_at: int | None = None


@dataclass(frozen=True)
class World:
    """What the conversations are drawn from.

    Attributes:
        kinds: by popularity where `weights` is empty, else in any order.
        weights: how often each kind occurs, as whole numbers.
        scenes: scripted conversations, one each, over and above the drawn ones.
        readers: the queues with readers.
        catalog, rules: texts of the YAML files that go with the log.
    """

    kinds: tuple[Kind, ...]
    readers: tuple[Reader, ...]
    catalog: str
    rules: str
    weights: tuple[int, ...] = ()
    scenes: tuple[Kind, ...] = ()

    @property
    def slots(self) -> tuple[Kind, ...]:
        """The kinds, repeated by weight, then the scenes: the table that a draw points into."""
        if not self.weights:
            return self.kinds + self.scenes
        drawn = (kind for kind, weight in zip(self.kinds, self.weights, strict=True) for _ in range(weight))
        return (*drawn, *self.scenes)


def micros(moment: datetime) -> int:
    """Microseconds since the epoch."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def struct_of(row: type[Kind] | type[Reader], *first: T.StructField) -> T.StructType:
    """The Spark schema of a NamedTuple, after the fields of `first`."""
    types = {str: T.StringType(), int: T.LongType(), float: T.DoubleType(), bool: T.BooleanType()}
    fields = []
    for name, hint in get_type_hints(row).items():
        nullable = get_origin(hint) in (Union, UnionType)
        bare = next(arg for arg in get_args(hint) if arg is not type(None)) if nullable else hint
        fields.append(T.StructField(name, types[bare], nullable))
    return T.StructType([*first, *fields])


def slot_rows(world: World) -> list[tuple[object, ...]]:
    """The table of kinds that a draw points into: slot, then the fields of the kind."""
    return [(slot, *kind) for slot, kind in enumerate(world.slots)]


SLOT_STRUCT = struct_of(Kind, T.StructField("slot", T.LongType(), False))
READER_STRUCT = struct_of(Reader)
