"""Groups that are there for the same readers, level by level: whose turn it is."""

from heapq import heapify, heappop, heappush

from pipelines.queue_machine.groups import LEVELS, SPARE, Entry, Group


class Turns:
    """Groups with ready messages. The highest level goes first, then the oldest message at that level.

    Source: the semantics page, "Orders".

    Attributes:
        size: how many there are.
        counts: how many there are, by level.
    """

    def __init__(self) -> None:
        """Begin without groups."""
        self.size = 0
        self.counts = [0] * LEVELS
        self._turns: list[list[Entry]] = [[] for _ in range(LEVELS)]
        """Lazy heaps by the oldest message."""

    def enter(self, group: Group, first: Entry) -> None:
        """A group comes to its `level`; `first` is its first message."""
        self.size += 1
        self.counts[group.level] += 1
        group.turns = self
        self.turn(group, first)

    def leave(self, group: Group) -> None:
        """A group leaves."""
        self.size -= 1
        self.counts[group.level] -= 1
        group.turns = group.turn = None

    def turn(self, group: Group, first: Entry) -> None:
        """Another message is the first one of a group that is there."""
        group.turn = first
        level = group.level
        turns = self._turns[level]
        if len(turns) > 2 * self.counts[level] + SPARE:
            # A group that was there before may be there several times.
            groups = ((entry[2].conversation.group, entry) for entry in turns)
            turns[:] = {
                group: entry for group, entry in groups if group.turn is entry and group.turns is self
            }.values()
            heapify(turns)
        heappush(turns, first)

    def highest(self) -> int:
        """The highest level at which there is a group; 0 without any."""
        counts, level = self.counts, LEVELS - 1
        while level and not counts[level]:
            level -= 1
        return level

    def oldest(self, level: int) -> Entry | None:
        """The first message of the group at the level whose turn is first; None without groups."""
        turns = self._turns[level]
        while turns:
            entry = turns[0]
            group: Group = entry[2].conversation.group
            if group.turn is entry and group.turns is self:
                return entry
            heappop(turns)
        return None
