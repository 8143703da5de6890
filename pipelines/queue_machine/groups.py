"""Messages in their conversations, and conversations in their groups.

Heaps are lazy: what is no longer true is passed over when it comes up, and thrown out once most is so.
"""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pipelines.queue_machine.turns import Turns

LEVELS = 11
"""Levels count from 1 to 10; 0 stands for none, or for one that is not known."""
LAST = 2**63
"""Stands for a number that is not given, which comes after all others."""
SPARE = 16
"""Heaps of up to so many entries are left as they are."""
Arrival = tuple[int, int, str]
"""A place in the order of arrival: the moment, the queuing order, and the message's id."""
Order = tuple[int, int, Arrival]
"""A place in a conversation: the type's rank, the sequence number, and the arrival."""
Entry = tuple[int, Arrival, "Message[Any]"]
"""A message in the heap of its group, by its conversation's level, negated, and its arrival. No two of them
are equal, so messages themselves are never compared."""
M = TypeVar("M", bound="Message[Any]")
G = TypeVar("G", bound="Group")


def arrival_of(arrived: int, queuing_order: int | None, message_id: str) -> Arrival:
    """A place in the order of arrival; a queuing order that is not given comes last."""
    return arrived, LAST if queuing_order is None else queuing_order, message_id


class Message(Generic[G]):
    """A message that is in the queue.

    Attributes:
        arrival: its place in the order of arrival.
        rank, sequence: what goes before that in the order of its conversation.
        ready: whether a RECEIVE may take it.
        conversation: where it stands, once it has arrived.
    """

    __slots__ = ("arrival", "conversation", "rank", "ready", "sequence")
    conversation: "Conversation[Any, G]"

    def __init__(self, arrival: Arrival, rank: int, sequence: int | None) -> None:
        self.arrival, self.rank = arrival, rank
        self.sequence = LAST if sequence is None else sequence
        self.ready = False

    @property
    def order(self) -> Order:
        """Its place in its conversation. Source: the semantics page, "Orders"."""
        return self.rank, self.sequence, self.arrival


class Conversation(Generic[M, G]):
    """A conversation with messages on its receiving side.

    Attributes:
        side: which one it is.
        level: its endpoint's.
        group: the one it belongs to.
        messages: those that are in the queue.
        since: the oldest arrival of those that have come since it last had none.
        line: a heap of the ready ones in their order, once somebody has asked for it.
    """

    __slots__ = ("group", "level", "line", "messages", "side", "since")

    def __init__(self, side: str, level: int, group: G, since: Arrival) -> None:
        self.side, self.level, self.group, self.since = side, level, group, since
        self.messages: dict[M, None] = {}
        self.line: list[tuple[Order, M]] | None = None

    def in_line(self) -> list[tuple[Order, M]]:
        """A heap of the ready messages in their order, and of some that are ready no more."""
        if self.line is None:
            self.line = [(message.order, message) for message in self.messages if message.ready]
            heapify(self.line)
        return self.line

    def stand_in_line(self, message: M) -> None:
        """A message becomes ready where there is a line."""
        line = self.in_line()
        if len(line) > 2 * len(self.messages) + SPARE:
            # One that was ready before may be there twice.
            line[:] = {each: (place, each) for place, each in line if each.ready}.values()
            heapify(line)
        heappush(line, (message.order, message))


class Group:
    """A conversation group that has messages, or that somebody holds.

    Attributes:
        ready: how many messages are ready.
        holders: who holds it, each with how many times.
        oldest: a heap of the ready messages by level and arrival: the first one says when it is its turn.
        level, turns, turn: as it was when last counted: its level, 0 without ready messages; among which
            groups it stands, and by which entry of `oldest`; None where it is not there for anybody.
    """

    __slots__ = ("holders", "level", "name", "oldest", "ready", "turn", "turns")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = self.level = 0
        self.holders: dict[str | None, int] = {}
        self.oldest: list[Entry] = []
        self.turns: Turns | None = None
        self.turn: Entry | None = None

    def first(self) -> Entry | None:
        """The oldest of the ready messages of the highest level, which is the group's; None without any.

        It stands in the conversation that comes first. Source: the semantics page, "Orders".
        """
        if not self.ready:
            return None
        oldest = self.oldest
        while True:
            entry = oldest[0]
            message = entry[2]
            if message.ready and message.conversation.group is self:
                return entry
            heappop(oldest)

    def tidy(self) -> None:
        """Throw out of `oldest` what is true no more."""
        oldest = self.oldest
        there = (entry for entry in oldest if entry[2].ready and entry[2].conversation.group is self)
        # One that was ready before, or away, may be there twice.
        oldest[:] = {entry[2]: entry for entry in there}.values()
        heapify(oldest)

    def forget(self) -> None:
        """Nothing is known of it any more: what knows each other would wait for the garbage collector."""
        self.oldest.clear()
        self.turns = self.turn = None
