"""The world of a log: the kinds of conversations, the queues with their readers, and a rush."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple, get_args, get_type_hints

import numpy as np

from dev.generator.frame import NEVER, Array, Frame
from dev.generator.names import Names

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
        backlog: factor on the share of conversations whose messages are not received.
        group_block: how many consecutive conversations of the kind may share the initiator's group.
        relay: the instance that only passes the messages on; null sends directly.
        waits: the target's reader waits in RECEIVE between messages and logs it.
        off_from, off_until: the target queue is off; messages wait and are delivered afterwards.
        blocked_from: from then on no reader receives from the target queue.
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
        busy_from: from then on tasks find messages all the time and never exit; null is never.
        waits_from: from then on the last session waits in RECEIVE and gets nothing; null is never.
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


class Line(NamedTuple):
    """A contract of a rush.

    Attributes:
        share: of the rush's conversations.
        levels: the level of the target's endpoint, with the moment from which the server gives it.
    """

    contract: str
    share: float
    levels: tuple[tuple[int, int], ...]


class Rush(NamedTuple):
    """Some hours at one queue whose readers choose as the engine does. Times are microseconds.

    Both services are on one instance; its clock is right.

    Attributes:
        initiator_level: what the rules give the initiators, for logged_priority.
        session: number of the first session at the queue; the one before it reads the answers.
        readers: activated tasks that read it.
        begin: when the first conversations begin.
        per_half_hour: how many conversations begin in each half hour.
        ended_from: from then on the conversations end.
        late: moments after which a message of the second line comes just too late for a decision.
        sending: moments after which a SEND holds a group of the second line that is next.
        going_on: moments after which a transaction goes on with its group, though better ones wait.
        by_hand: moments after which an operator receives a message with WHERE.
        stray_from, stray_until: between these, another program receives too, and ignores levels.
    """

    instance: str
    initiator: tuple[str, str, str]
    target: tuple[str, str, str]
    initiator_level: int
    lines: tuple[Line, ...]
    session: int
    readers: int
    begin: int
    per_half_hour: tuple[int, ...]
    ended_from: int
    late: tuple[int, ...]
    sending: tuple[int, ...]
    going_on: tuple[int, ...]
    by_hand: tuple[int, ...]
    stray_from: int
    stray_until: int


@dataclass(frozen=True)
class World:
    """The source of conversations.

    Attributes:
        kinds: by popularity where `weights` is empty, else in any order.
        weights: how often each kind occurs, as whole numbers.
        scenes: scripted conversations, one each, over and above the drawn ones.
        readers: the queues with readers.
        catalog, rules: texts of the YAML files that go with the log.
        rush: what is played at one more queue; null is nothing.
    """

    kinds: tuple[Kind, ...]
    readers: tuple[Reader, ...]
    catalog: str
    rules: str
    weights: tuple[int, ...] = ()
    scenes: tuple[Kind, ...] = ()
    rush: Rush | None = None

    @cached_property
    def names(self) -> Names:
        """The names in the log."""
        return Names()

    @cached_property
    def kind_table(self) -> Frame:
        """The kinds, then the scenes."""
        return table_of((*self.kinds, *self.scenes), self.names)

    @cached_property
    def reader_table(self) -> Frame:
        """The queues with readers."""
        return table_of(self.readers, self.names)

    @cached_property
    def slots(self) -> Array:
        """The rows of `kind_table`, those of kinds repeated by weight: what a draw points into."""
        weights = self.weights or (1,) * len(self.kinds)
        return np.repeat(np.arange(len(self.kinds) + len(self.scenes)), (*weights, *(1 for _ in self.scenes)))


def micros(moment: datetime) -> int:
    """Microseconds since the epoch."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def table_of(rows: Sequence[Kind] | Sequence[Reader], names: Names) -> Frame:
    """The fields of rows as columns: names by their codes, NEVER for a number that is None."""
    columns = {}
    for field, hint in get_type_hints(type(rows[0])).items():
        values = [getattr(row, field) for row in rows]
        if str in (hint, *get_args(hint)):
            columns[field] = names.codes(values)
        else:
            columns[field] = np.array([NEVER if value is None else value for value in values])
    return Frame(columns)
