"""What a queue counts of its groups, level by level."""

from collections.abc import Iterator

from pipelines.conformance.watched import WatchedGroup
from pipelines.queue_machine.groups import LEVELS, SPARE, Entry
from pipelines.queue_machine.turns import Turns


class Stay:
    """A group at one level of a pool.

    Attributes:
        since: when it came there.
        left: how many snapshots there were when it left; None while it is there.
    """

    __slots__ = ("group", "left", "since")

    def __init__(self, group: WatchedGroup, since: int) -> None:
        self.group, self.since = group, since
        self.left: int | None = None


class Pool(Turns):
    """Groups with ready messages that are there for the same: for all, or for one transaction alone.

    Attributes:
        owner: the transaction that alone holds them; None if nobody does.
        logged: how many there are by the level that the server logged; 0: not all are known.
        changed: those that were there before they came to this level.
    """

    def __init__(self, owner: str | None) -> None:
        super().__init__()
        self.owner = owner
        self.logged = [0] * LEVELS
        self.changed: dict[WatchedGroup, None] = {}
        self._stays: list[list[Stay]] = [[] for _ in range(LEVELS)]
        """In the order in which they came; those that have left are thrown out when they are most."""
        self._begins = [0] * LEVELS
        """Before it all have left."""
        self._snapshots = 0

    def come(self, group: WatchedGroup, first: Entry, now: int) -> None:
        """A group comes; its `level` and `logged` say where to. `first` is its first message."""
        level = group.level
        self.enter(group, first)
        self.logged[group.logged] += 1
        stays = self._stays[level]
        if len(stays) > 2 * self.counts[level] + SPARE:
            # A snapshot may still look at the old list.
            stays = self._stays[level] = [each for each in stays if each.left is None]
            self._begins[level] = 0
        group.stay = stay = Stay(group, now)
        stays.append(stay)
        if group.changes[0][0] != now:
            self.changed[group] = None

    def go(self, group: WatchedGroup) -> None:
        """A group leaves."""
        self.leave(group)
        self.logged[group.logged] -= 1
        if group.stay is not None:
            group.stay.left = self._snapshots
            group.stay = None
        if self.changed:
            self.changed.pop(group, None)

    def since(self, level: int) -> int:
        """Since when the group at the level that came first has been there; there is one."""
        return self._stays[level][self._begin(level)].since

    def snapshot(self, above: int) -> Iterator[WatchedGroup]:
        """The groups above the level as they are now, whenever it is asked for them."""
        self._snapshots += 1
        levels = [level for level in range(above + 1, LEVELS) if self.counts[level]]
        stretches = [(self._stays[level], self._begin(level), len(self._stays[level])) for level in levels]
        return _there_at(self._snapshots, stretches)

    def _begin(self, level: int) -> int:
        """Where the first one is that is still at the level; there is one."""
        stays, begin = self._stays[level], self._begins[level]
        while stays[begin].left is not None:
            begin += 1
        self._begins[level] = begin
        return begin


def _there_at(snapshot: int, stretches: list[tuple[list[Stay], int, int]]) -> Iterator[WatchedGroup]:
    for stays, begin, end in stretches:
        for place in range(begin, end):
            stay = stays[place]
            if stay.left is None or stay.left >= snapshot:
                yield stay.group


class Standing:
    """The groups of a queue by level, and by whom they are there for.

    Attributes:
        free: groups with ready messages that nobody holds.
        own: those that one transaction alone holds, by transaction.
        held: how many groups with ready messages are held, by level.
        all_held: their sum.
    """

    def __init__(self, tolerance: int) -> None:
        """Begin without groups; `tolerance` is in microseconds."""
        self.free = Pool(None)
        self.own: dict[str, Pool] = {}
        self.held = [0] * LEVELS
        self.all_held = 0
        self._tolerance = tolerance

    def count(self, group: WatchedGroup, now: int) -> None:
        """Count a group that has changed as it is now."""
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
            pool.come(group, first, now)
        elif first is not group.turn and pool is not None:
            pool.turn(group, first)

    def _leave(self, group: WatchedGroup, to: Pool | None) -> None:
        pool = group.turns
        if pool is not self.free:
            self.held[group.level] -= 1
            self.all_held -= 1
        if pool is not None:
            assert isinstance(pool, Pool)
            pool.go(group)
            if not pool.size and pool.owner is not None and pool is not to:
                del self.own[pool.owner]

    def _pool_of(self, transaction: str) -> Pool:
        pool = self.own[transaction] = Pool(transaction)
        return pool
