"""Messages, their conversations and groups, and the order in which groups are received.

Heaps are lazy: an entry that is out of date stays until it comes up, or until most entries are out of date.
The orders are those of docs/semantics.md#orders.
"""

from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

LEVELS = 11
"""Levels are 1 to 10; 0 stands for no level, or for an unknown one."""
LAST = 2**63
"""Stands for a missing number, which comes after all others."""
SPARE = 16
"""Heaps with at most this many entries are not tidied."""
Arrival = tuple[int, int, str]
"""A position in the order of arrival: the moment, the queuing order, and the message's id."""
Order = tuple[int, int, Arrival]
"""A position in a conversation: the type's rank, the sequence number, and the arrival."""
Entry = tuple[int, Arrival, "Message[Any]"]
"""A message in the heap of its group, by its conversation's level, negated, and its arrival. No two entries
are equal, so messages themselves are never compared."""
M = TypeVar("M", bound="Message[Any]")
G = TypeVar("G", bound="Group")


def arrival_of(arrived: int, queuing_order: int | None, message_id: str) -> Arrival:
    """A position in the order of arrival; a missing queuing order comes last."""
    return arrived, LAST if queuing_order is None else queuing_order, message_id


class Message(Generic[G]):
    """A message in the queue.

    Attributes:
        arrival: its position in the order of arrival.
        rank, sequence: the keys before the arrival in the order of its conversation.
        ready: whether a RECEIVE can take it.
        conversation: its conversation, once it has arrived.
    """

    __slots__ = ("arrival", "conversation", "rank", "ready", "sequence")
    conversation: "Conversation[Any, G]"

    def __init__(self, arrival: Arrival, rank: int, sequence: int | None) -> None:
        self.arrival, self.rank = arrival, rank
        self.sequence = LAST if sequence is None else sequence
        self.ready = False

    @property
    def order(self) -> Order:
        """Its position in its conversation."""
        return self.rank, self.sequence, self.arrival


class Conversation(Generic[M, G]):
    """A conversation with messages for its receiving endpoint.

    Attributes:
        endpoint: the receiving endpoint, as a text.
        level: the priority level of the endpoint.
        group: its group.
        messages: its messages in the queue.
        since: the oldest arrival since the conversation last had no messages.
        line: a heap of the ready messages in their order, once the order was needed.
    """

    __slots__ = ("endpoint", "group", "level", "line", "messages", "since")

    def __init__(self, endpoint: str, level: int, group: G, since: Arrival) -> None:
        self.endpoint, self.level, self.group, self.since = endpoint, level, group, since
        self.messages: dict[M, None] = {}
        self.line: list[tuple[Order, M]] | None = None

    def in_line(self) -> list[tuple[Order, M]]:
        """A heap of the ready messages in their order; entries of other messages are out of date."""
        if self.line is None:
            self.line = [(message.order, message) for message in self.messages if message.ready]
            heapify(self.line)
        return self.line

    def enter_line(self, message: M) -> None:
        """Add a message that becomes ready to the line."""
        line = self.in_line()
        if len(line) > 2 * len(self.messages) + SPARE:
            # A message that was ready before can have two entries.
            line[:] = {each: (order, each) for order, each in line if each.ready}.values()
            heapify(line)
        heappush(line, (message.order, message))


class Group:
    """A conversation group that has messages or a holder.

    Attributes:
        ready: the number of ready messages.
        holders: the holders, each with the number of its holds.
        oldest: a heap of the ready messages by level and arrival; its first entry decides the group's turn.
        level, turns, turn: as of the last count: the group's level, 0 without ready messages; the `Turns`
            that it is in, and its entry there; None if no reader can receive it.
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
        """The oldest ready message of the group's level, the highest of its messages; None without any."""
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
        """Remove entries of `oldest` that are out of date."""
        oldest = self.oldest
        current = (entry for entry in oldest if entry[2].ready and entry[2].conversation.group is self)
        # A message that was ready before, or in another group, can have two entries.
        oldest[:] = {entry[2]: entry for entry in current}.values()
        heapify(oldest)

    def forget(self) -> None:
        """Drop references: objects that refer to each other would wait for the garbage collector."""
        self.oldest.clear()
        self.turns = self.turn = None


class Turns:
    """Groups that the same readers can receive: the highest level first, then the oldest message at it.

    Attributes:
        size: the number of groups.
        counts: the number of groups by level.
    """

    def __init__(self) -> None:
        """Begin without groups."""
        self.size = 0
        self.counts = [0] * LEVELS
        self._turns: list[list[Entry]] = [[] for _ in range(LEVELS)]
        """Lazy heaps by the oldest message."""

    def enter(self, group: Group, first: Entry) -> None:
        """Add a group at its `level`; `first` is its first message."""
        self.size += 1
        self.counts[group.level] += 1
        group.turns = self
        self.turn(group, first)

    def leave(self, group: Group) -> None:
        """Remove a group."""
        self.size -= 1
        self.counts[group.level] -= 1
        group.turns = group.turn = None

    def turn(self, group: Group, first: Entry) -> None:
        """Set the first message of a group that has entered."""
        group.turn = first
        level = group.level
        turns = self._turns[level]
        if len(turns) > 2 * self.counts[level] + SPARE:
            # A group that left and came back can have several entries.
            groups = ((entry[2].conversation.group, entry) for entry in turns)
            turns[:] = {
                group: entry for group, entry in groups if group.turn is entry and group.turns is self
            }.values()
            heapify(turns)
        heappush(turns, first)

    def highest(self) -> int:
        """The highest level with a group; 0 without groups."""
        counts, level = self.counts, LEVELS - 1
        while level and not counts[level]:
            level -= 1
        return level

    def oldest(self, level: int) -> Entry | None:
        """The first message of the group that is next at the level; None without groups."""
        turns = self._turns[level]
        while turns:
            entry = turns[0]
            group: Group = entry[2].conversation.group
            if group.turn is entry and group.turns is self:
                return entry
            heappop(turns)
        return None
