"""What a queue counts of its groups, level by level."""

from heapq import heappop, heappush
from typing import Any

from pipelines.conformance.groups import LEVELS, Group


class Standing:
    """The groups of a queue by their level.

    Attributes:
        free: groups with ready messages that nobody holds, those first that have been free for longest.
        held: how many groups with ready messages are held.
        logged: free groups by the level that the server logged; 0: not all are known.
    """

    def __init__(self, tolerance: int) -> None:
        """Begin without groups; `tolerance` is in microseconds."""
        self.free: list[dict[Group, None]] = [{} for _ in range(LEVELS)]
        self.held = [0] * LEVELS
        self.logged = [0] * LEVELS
        self._tolerance = tolerance
        self._turns: list[list[tuple[Any, ...]]] = [[] for _ in range(LEVELS)]
        self._turns_taken = 0

    def count(self, group: Group, now: int) -> None:
        """Count a group that has changed as it is now."""
        first = group.first()
        level = first.level if first else 0
        now_shown = (level, group.logged_level() if level else 0, bool(group.holders))
        if now_shown != group.shown:
            if group.shown[0]:
                self._uncount(group)
            group.shown = now_shown
            if level:
                if now_shown[2]:
                    self.held[level] += 1
                else:
                    self.logged[now_shown[1]] += 1
                    self.free[level][group] = None
        group.note(now, level, self._tolerance)
        if first is not None:
            arrival = first.key[1] if first.key else None
            turn = group.turn
            if turn is None or turn[0] != level or turn[1] is not arrival:
                self._turns_taken += 1
                group.turn = (level, arrival, group)
                heappush(self._turns[level], (arrival, self._turns_taken, group.turn))

    def _uncount(self, group: Group) -> None:
        level, logged, held = group.shown
        if held:
            self.held[level] -= 1
        else:
            self.logged[logged] -= 1
            del self.free[level][group]

    def oldest(self, level: int) -> Group | None:
        """Of the groups of the level that nobody holds the one with the oldest message."""
        turns = self._turns[level]
        while turns:
            turn = turns[0][2]
            group: Group = turn[2]
            if turn is group.turn:
                if group.shown[0] == level and not group.shown[2]:
                    return group
                group.turn = None
            heappop(turns)
        return None
