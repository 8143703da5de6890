"""Messages and groups of a queue, and the number of groups at each level."""

from collections.abc import Iterator
from heapq import heappop, heappush

from pipelines.queue_machine.groups import LEVELS, SPARE, Arrival, Conversation, Entry, Group, Message, Turns


class ConformanceMessage(Message["ConformanceGroup"]):
    """A message that is ready or in flight.

    Attributes:
        logged: the level that the server logged for its endpoint; 0 if unknown.
        is_in_queue: whether it is ready or in flight.
        has_ended: whether its endpoint has ended. In flight it locks its group; it is never ready again.
        holders: open transactions that have received it.
    """

    __slots__ = ("has_ended", "holders", "is_in_queue", "logged")

    def __init__(
        self, arrival: Arrival, rank: int, sequence: int | None, logged: int, *, has_ended: bool = False
    ) -> None:
        super().__init__(arrival, rank, sequence)
        self.logged, self.is_in_queue, self.has_ended = logged, True, has_ended
        self.holders: tuple[str, ...] = ()


class ConformanceGroup(Group):
    """A group, with the levels that the server logged and its recent changes.

    Attributes:
        logged: the highest level that the server logged of its ready messages, as of the last count; 0 if
            the level of one is unknown.
        changes: (since, level, only holder or None), the latest last: its states at the ends of instants
            within the tolerance. At level 0 no reader could receive it.
        stay: its current `Stay` in a pool.
        logs: the number of ready messages by the level that the server logged.
    """

    __slots__ = ("changes", "logged", "logs", "stay")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.logged = 0
        self.changes: list[tuple[int, int, str | None]] = []
        self.stay: Stay | None = None
        self.logs: dict[int, int] = {}

    def forget(self) -> None:
        """Drop references."""
        super().forget()
        self.stay = None

    def logged_level(self) -> int:
        """The highest level that the server logged of a ready message; 0 if one is unknown."""
        return 0 if 0 in self.logs else max(self.logs)

    def note(self, now: int, level: int, holder: str | None, tolerance: int) -> None:
        """Add the state from now on to `changes`."""
        changes = self.changes
        if changes:
            if changes[-1][0] == now:
                changes.pop()
            elif not changes[-1][1]:
                changes.clear()
        if not changes:
            if level:
                changes.append((now, level, holder))
        elif changes[-1][1] != level or changes[-1][2] != holder:
            changes.append((now, level, holder))
            while len(changes) > 1 and changes[1][0] <= now - tolerance:
                del changes[0]

    def free_since(self, transaction: str | None, level: int) -> int:
        """The moment since when the transaction could always receive it above the level."""
        since = self.changes[-1][0]
        for begun, level_then, holder in reversed(self.changes):
            if level_then <= level or (holder is not None and holder != transaction):
                break
            since = begun
        return since

    def count_in_order(self, received: set[ConformanceMessage]) -> int:
        """Count the received ready messages that precede every ready message that is not received."""
        before: dict[ConformanceMessage, None] = {}
        passed: list[Entry] = []
        emptied: set[Conversation[ConformanceMessage, ConformanceGroup]] = set()
        while True:
            first = self.first()
            assert first is not None
            conversation = first[2].conversation
            if conversation in emptied:
                passed.append(heappop(self.oldest))
                continue
            line = conversation.in_line()
            while line and (not line[0][1].ready or line[0][1] in received):
                message = heappop(line)[1]
                if message.ready:
                    before[message] = None
            if line:
                break
            emptied.add(conversation)
        for entry in passed:
            heappush(self.oldest, entry)
        for message in before:
            heappush(message.conversation.in_line(), (message.order, message))
        return len(before)


class Stay:
    """The stay of a group at one level of a pool.

    Attributes:
        since: its begin.
        left: the number of snapshots at its end; None if it has not ended.
    """

    __slots__ = ("group", "left", "since")

    def __init__(self, group: ConformanceGroup, since: int) -> None:
        self.group, self.since = group, since
        self.left: int | None = None


class Pool(Turns):
    """Groups with ready messages that either all transactions or one transaction can receive.

    Attributes:
        owner: the transaction that is the only holder of the groups; None for groups without holders.
        logged: the number of groups by the level that the server logged; 0 if not all are known.
        changed: groups that were available before they came to their level.
    """

    def __init__(self, owner: str | None) -> None:
        super().__init__()
        self.owner = owner
        self.logged = [0] * LEVELS
        self.changed: dict[ConformanceGroup, None] = {}
        self._stays: list[list[Stay]] = [[] for _ in range(LEVELS)]
        """Stays by level, in order; ended stays are removed once they are most."""
        self._begins = [0] * LEVELS
        """By level: all stays before this index have ended."""
        self._snapshots = 0

    def add(self, group: ConformanceGroup, first: Entry, now: int) -> None:
        """Add a group at its `level` and `logged` level; `first` is its first message."""
        level = group.level
        self.enter(group, first)
        self.logged[group.logged] += 1
        stays = self._stays[level]
        if len(stays) > 2 * self.counts[level] + SPARE:
            # An unfinished snapshot still reads the old list.
            stays = self._stays[level] = [each for each in stays if each.left is None]
            self._begins[level] = 0
        group.stay = stay = Stay(group, now)
        stays.append(stay)
        if group.changes[0][0] != now:
            self.changed[group] = None

    def drop(self, group: ConformanceGroup) -> None:
        """Remove a group."""
        self.leave(group)
        self.logged[group.logged] -= 1
        if group.stay is not None:
            group.stay.left = self._snapshots
            group.stay = None
        if self.changed:
            self.changed.pop(group, None)

    def since(self, level: int) -> int:
        """The earliest begin of a current stay at the level; there is one."""
        return self._stays[level][self._begin(level)].since

    def snapshot(self, above: int) -> Iterator[ConformanceGroup]:
        """The groups above the level as of now, even if the iterator is read later."""
        self._snapshots += 1
        levels = [level for level in range(above + 1, LEVELS) if self.counts[level]]
        ranges = [(self._stays[level], self._begin(level), len(self._stays[level])) for level in levels]
        return _groups_at(self._snapshots, ranges)

    def _begin(self, level: int) -> int:
        """The index of the first current stay at the level; there is one."""
        stays, begin = self._stays[level], self._begins[level]
        while stays[begin].left is not None:
            begin += 1
        self._begins[level] = begin
        return begin


def _groups_at(snapshot: int, ranges: list[tuple[list[Stay], int, int]]) -> Iterator[ConformanceGroup]:
    for stays, begin, end in ranges:
        for position in range(begin, end):
            stay = stays[position]
            if stay.left is None or stay.left >= snapshot:
                yield stay.group


class GroupsByLevel:
    """The groups of a queue by level, and by the transactions that can receive them.

    Attributes:
        free: groups with ready messages and without holders.
        own: groups with one transaction as the only holder, by transaction.
        held: the number of held groups with ready messages, by level.
        all_held: their sum.
    """

    def __init__(self, tolerance: int) -> None:
        """Begin without groups; `tolerance` is in microseconds."""
        self.free = Pool(None)
        self.own: dict[str, Pool] = {}
        self.held = [0] * LEVELS
        self.all_held = 0
        self._tolerance = tolerance

    def count(self, group: ConformanceGroup, now: int) -> None:
        """Update the counts by a group that has changed."""
        first = group.first()
        if first is None:
            if group.level:
                self._leave(group, None)
                group.level = 0
                group.note(now, 0, None, self._tolerance)
            return
        level, logged, holders = -first[0], group.logged_level(), group.holders
        holder = None
        pool: Pool | None = self.free
        if holders:
            if len(holders) == 1:
                (holder,) = holders
                assert holder is not None
                pool = self.own.get(holder) or self._pool_of(holder)
            else:
                pool = None
        if pool is not group.turns or level != group.level or logged != group.logged:
            if group.level:
                self._leave(group, pool)
            group.level, group.logged = level, logged
            if pool is not self.free:
                self.held[level] += 1
                self.all_held += 1
            if pool is None:
                group.note(now, 0, None, self._tolerance)
                return
            group.note(now, level, holder, self._tolerance)
            pool.add(group, first, now)
        elif first is not group.turn and pool is not None:
            pool.turn(group, first)

    def _leave(self, group: ConformanceGroup, to: Pool | None) -> None:
        pool = group.turns
        if pool is not self.free:
            self.held[group.level] -= 1
            self.all_held -= 1
        if pool is not None:
            assert isinstance(pool, Pool)
            pool.drop(group)
            if not pool.size and pool.owner is not None and pool is not to:
                del self.own[pool.owner]

    def _pool_of(self, transaction: str) -> Pool:
        pool = self.own[transaction] = Pool(transaction)
        return pool
