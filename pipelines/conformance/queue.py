"""One queue as the log tells it: what each receive chose from, and what it passed.

Feed it what happened in order; it says of every decision whether a group of a higher level was there. Memory
is that of the ready messages and of what is in flight. All times are whole microseconds since the epoch.
Source: our choice; docs/conformance.md has the definitions.
"""

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from pipelines.conformance import happenings as h
from pipelines.state.carried import BITS, KIND

Side = tuple[str, bool]
LEVELS = 11
"""Levels count from 1 to 10; 0 stands for none."""
CLASSES = ("where_clause", "own_group", "logged_level", "timing", "other_lock", "unexplained")
COUNTS = (
    "decisions",
    "with_choice",
    "conforming",
    "passed",
    "passable",
    "ties",
    "ties_oldest_first",
    "lock_skipped",
    "partial",
    "within_group",
    "not_ready",
    *CLASSES,
)


class _Message:
    __slots__ = ("arrival", "endpoint", "message_id", "order", "ready", "takers")

    def __init__(
        self, message_id: str, arrival: tuple[Any, ...], order: tuple[Any, ...], endpoint: "_Endpoint"
    ) -> None:
        self.message_id, self.arrival, self.order, self.endpoint = message_id, arrival, order, endpoint
        self.ready = False
        self.takers: set[str] = set()


class _Endpoint:
    """An endpoint with messages that are ready or in flight."""

    __slots__ = ("group", "level", "logged", "messages", "side")

    def __init__(self, side: Side, level: int, logged: int, group: "_Group") -> None:
        self.side, self.level, self.logged, self.group = side, level, logged, group
        self.messages: dict[str, _Message] = {}


class _Group:
    """A group that has ready messages, or that a transaction holds.

    Attributes:
        ready, logged: ready messages by level of ours, and by the level that the server logged (0: unknown).
        oldest: a lazy heap of (level down, arrival, message).
        holders: open transactions that hold it, each with how many times.
        changes: (since, level, holders), the latest last; level 0 without ready messages.
        shown: what the queue counts of it: level, logged level, whether it is held.
    """

    __slots__ = ("changes", "holders", "logged", "name", "oldest", "ready", "shown", "turn")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready, self.logged = [0] * LEVELS, [0] * LEVELS
        self.oldest: list[tuple[int, tuple[Any, ...], _Message]] = []
        self.holders: dict[str, int] = {}
        self.changes: deque[tuple[int, int, tuple[str, ...]]] = deque()
        self.shown: tuple[int, int, bool] = (0, 0, False)
        self.turn: tuple[Any, ...] | None = None

    def level(self) -> int:
        """The highest level with a ready message; 0 if none is."""
        return next((level for level in range(LEVELS - 1, 0, -1) if self.ready[level]), 0)

    def logged_level(self) -> int:
        """By logged levels; 0 where one is not known."""
        if self.logged[0]:
            return 0
        return next((level for level in range(LEVELS - 1, 0, -1) if self.logged[level]), 0)

    def first(self) -> _Message:
        """The oldest ready message at the group's level; there is one."""
        heap = self.oldest
        while not heap[0][2].ready or heap[0][2].endpoint.group is not self:
            heappop(heap)
        return heap[0][2]

    def is_free_to(self, transaction: str | None) -> bool:
        """Whether nobody else holds it."""
        return not self.holders or (len(self.holders) == 1 and transaction in self.holders)

    def free_since(self, transaction: str | None, level: int) -> int:
        """Since when it has been there for the transaction, above the level, without a break."""
        since = self.changes[-1][0]
        for begun, then, holders in reversed(self.changes):
            if then <= level or any(holder != transaction for holder in holders):
                break
            since = begun
        return since


@dataclass
class Deviation:
    """A decision that passed a group of a higher level."""

    at: int
    transaction_id: str | None
    conversation_group_id: str
    level: int
    best_level: int
    passed_groups: int
    witness_message_id: str
    kind: str = ""
    waits_for: set[str] = field(default_factory=set)
    """Groups passed that no statement has locked near it so far."""


@dataclass
class _Decision:
    transaction: str | None
    group: str
    messages: list[str] = field(default_factory=list)
    has_where: bool = False
    outcomes: tuple[int | None, int | None] = (None, None)


class Queue:
    """A queue; feed it everything in order, then finish it.

    Attributes:
        counts: `COUNTS` of the decisions in the window.
        blind: groups that a choice at random would pass, summed.
        deviations: those whose class is known; whoever feeds takes them away.
    """

    def __init__(self, *, start: int, tolerance: int, every_receive_counts: bool) -> None:
        """Begin without messages.

        Args:
            start: decisions before it are played and not counted.
            tolerance: in microseconds.
            every_receive_counts: without any queue events a RECEIVED counts as committed.
        """
        self.counts = dict.fromkeys(COUNTS, 0)
        self.blind = 0.0
        self.deviations: list[Deviation] = []
        self._start, self._tolerance, self._all_count = start, tolerance, every_receive_counts
        self._now: int | None = None
        self._place = 0
        self._endpoints: dict[Side, _Endpoint] = {}
        self._messages: dict[str, _Message] = {}
        self._groups: dict[str, _Group] = {}
        self._moved: dict[Side, str] = {}
        self._taken: dict[str, set[str]] = {}
        """Messages by the transactions that have received them and may still give them back."""
        self._early: dict[str, list[tuple[str | None, tuple[int | None, int | None]]]] = {}
        """Who received messages before their endpoint was there."""
        self._named: dict[str, set[str]] = {}
        """Groups by the open transactions that have named them."""
        self._held: dict[str, set[_Group]] = {}
        self._free: list[dict[_Group, None]] = [{} for _ in range(LEVELS)]
        self._locked = [0] * LEVELS
        self._by_logged = [0] * LEVELS
        self._turns: list[list[tuple[Any, ...]]] = [[] for _ in range(LEVELS)]
        self._numbers = 0
        self._statements: deque[tuple[int, str]] = deque()
        self._pending: deque[Deviation] = deque()
        self._touched: dict[_Group, None] = {}
        self._takes: dict[tuple[str | None, str], _Decision] = {}
        self._receives: list[tuple[str | None, str | None, bool, tuple[int | None, int | None]]] = []

    def feed(
        self,
        places: list[int],
        message_ids: list[str | None],
        conversation_ids: list[str | None],
        initiators: list[bool | None],
        groups: list[str | None],
        transactions: list[str | None],
        arrived: list[int | None],
        queuing_orders: list[int | None],
        levels: list[int | None],
        logged: list[int | None],
        ranks: list[int | None],
        sequences: list[int | None],
        wheres: list[bool | None],
        committed: list[int | None],
        rolled_back: list[int | None],
        early: list[bool | None],
    ) -> None:
        """Play what happened; see `pipelines.conformance.timeline`.

        Raises:
            RuntimeError: the engine did not keep the order.
        """
        for row, place in enumerate(places):
            if place < self._place:
                raise RuntimeError("the engine did not keep the order of what happened on a queue")
            self._place = place
            time, kind = place >> BITS, place & KIND
            if time != self._now:
                self._end_instant()
                self._now = time
                self._forget_old()
            transaction, name = transactions[row], groups[row]
            outcomes = (committed[row], rolled_back[row])
            if kind == h.COMMIT or kind == h.ROLLBACK:
                assert transaction is not None
                self._outcome(transaction, committed=kind == h.COMMIT, may_commit=outcomes[0] is not None)
            elif kind == h.GET_GROUP:
                self._name(transaction, name, outcomes)
            elif kind == h.RECEIVE:
                self._receives.append((transaction, name, bool(wheres[row]), outcomes))
            else:
                side = (conversation_ids[row] or "", not initiators[row])
                name = self._moved.get(side, name or "")
                if kind == h.MOVE:
                    self._move(side, groups[row] or "")
                elif kind == h.ARRIVAL:
                    arrival = (
                        arrived[row],
                        queuing_orders[row] is None,
                        queuing_orders[row] or 0,
                        message_ids[row],
                    )
                    order = (ranks[row], sequences[row] is None, sequences[row] or 0, arrival)
                    self._arrive(
                        message_ids[row] or "", side, name, levels[row] or 0, logged[row] or 0, arrival, order
                    )
                elif kind == h.END:
                    self._statement(name)
                    self._end(side)
                elif kind == h.STATEMENT:
                    self._statement(name)
                else:
                    key = (transaction, name)
                    decision = self._takes.setdefault(key, _Decision(transaction, name, outcomes=outcomes))
                    decision.messages.append(message_ids[row] or "")
                    if early[row]:
                        self._early.setdefault(message_ids[row] or "", []).append((transaction, outcomes))

    def finish(self) -> None:
        """Nothing happens any more."""
        self._end_instant()
        while self._pending:
            self._settle(self._pending.popleft())

    # What happens to messages, endpoints and groups.

    def _arrive(
        self,
        message_id: str,
        side: Side,
        group_name: str,
        level: int,
        logged: int,
        arrival: tuple[Any, ...],
        order: tuple[Any, ...],
    ) -> None:
        endpoint = self._endpoints.get(side)
        if endpoint is None:
            endpoint = self._endpoints[side] = _Endpoint(side, level, logged, self._group(group_name))
        message = _Message(message_id, arrival, order, endpoint)
        endpoint.messages[message_id] = self._messages[message_id] = message
        self._set_ready(message, True)
        for transaction, outcomes in self._early.pop(message_id, ()):
            if message_id in self._messages:
                self._take(message, transaction, outcomes)

    def _set_ready(self, message: _Message, ready: bool) -> None:
        if message.ready == ready:
            return
        message.ready = ready
        endpoint = message.endpoint
        group, by = endpoint.group, 1 if ready else -1
        group.ready[endpoint.level] += by
        group.logged[endpoint.logged] += by
        if ready:
            heappush(group.oldest, (-endpoint.level, message.arrival, message))
        self._touch(group)

    def _gone(self, message: _Message) -> None:
        """The message is in the queue no more, whoever holds it."""
        self._set_ready(message, False)
        for transaction in message.takers:
            self._release(message.endpoint.group, transaction)
        message.takers.clear()
        del self._messages[message.message_id]
        endpoint = message.endpoint
        del endpoint.messages[message.message_id]
        if not endpoint.messages:
            self._endpoints.pop(endpoint.side, None)

    def _end(self, side: Side) -> None:
        endpoint = self._endpoints.get(side)
        if endpoint is not None:
            for message in list(endpoint.messages.values()):
                self._gone(message)

    def _move(self, side: Side, group_name: str) -> None:
        self._moved[side] = group_name
        self._statement(group_name)
        endpoint = self._endpoints.get(side)
        if endpoint is None or endpoint.group.name == group_name:
            return
        old, new = endpoint.group, self._group(group_name)
        endpoint.group = new
        for message in endpoint.messages.values():
            if message.ready:
                for counts, level in ((old.ready, endpoint.level), (old.logged, endpoint.logged)):
                    counts[level] -= 1
                for counts, level in ((new.ready, endpoint.level), (new.logged, endpoint.logged)):
                    counts[level] += 1
                heappush(new.oldest, (-endpoint.level, message.arrival, message))
            for transaction in message.takers:
                self._release(old, transaction)
                self._hold(new, transaction)
        self._touch(old)
        self._touch(new)

    def _take(
        self, message: _Message, transaction: str | None, outcomes: tuple[int | None, int | None]
    ) -> None:
        assert self._now is not None
        committed, rolled_back = outcomes
        if self._all_count or transaction is None or (committed is not None and committed <= self._now):
            self._gone(message)
            return
        self._taken.setdefault(transaction, set()).add(message.message_id)
        if rolled_back is not None and rolled_back <= self._now:
            return
        if transaction not in message.takers:
            message.takers.add(transaction)
            self._set_ready(message, False)
            self._hold(message.endpoint.group, transaction)

    def _outcome(self, transaction: str, *, committed: bool, may_commit: bool) -> None:
        for name in self._named.pop(transaction, ()):
            self._release(self._group(name), transaction)
        ids = self._taken.get(transaction, set())
        for message_id in list(ids):
            message = self._messages.get(message_id)
            if message is None:
                continue
            if committed:
                self._gone(message)
            elif transaction in message.takers:
                message.takers.discard(transaction)
                self._release(message.endpoint.group, transaction)
                if not message.takers:
                    self._set_ready(message, True)
        if committed or not may_commit:
            self._taken.pop(transaction, None)

    def _name(
        self, transaction: str | None, name: str | None, outcomes: tuple[int | None, int | None]
    ) -> None:
        """A statement of an open transaction names a group, which locks it."""
        if transaction is None or name is None or self._all_count:
            return
        assert self._now is not None
        if any(moment is not None and moment <= self._now for moment in outcomes):
            return
        named = self._named.setdefault(transaction, set())
        if name not in named:
            named.add(name)
            self._hold(self._group(name), transaction)

    def _hold(self, group: _Group, transaction: str) -> None:
        group.holders[transaction] = group.holders.get(transaction, 0) + 1
        self._held.setdefault(transaction, set()).add(group)
        self._touch(group)

    def _release(self, group: _Group, transaction: str) -> None:
        group.holders[transaction] -= 1
        if not group.holders[transaction]:
            del group.holders[transaction]
            held = self._held[transaction]
            held.discard(group)
            if not held:
                del self._held[transaction]
        self._touch(group)

    def _group(self, name: str) -> _Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group(name)
        return group

    # What the queue counts of its groups.

    def _touch(self, group: _Group) -> None:
        self._touched[group] = None

    def _refresh(self) -> None:
        """Count the groups that have changed as they are now."""
        assert self._now is not None
        for group in self._touched:
            self._count(group, -1)
            level, held = group.level(), bool(group.holders)
            group.shown = (level, group.logged_level(), held)
            self._count(group, 1)
            self._note(group, level)
            if level:
                first = group.first()
                if group.turn is None or group.turn[0] != (level, first.arrival):
                    self._numbers += 1
                    group.turn = ((level, first.arrival), group)
                    heappush(self._turns[level], (first.arrival, self._numbers, group.turn))
            elif not held:
                self._groups.pop(group.name, None)
        self._touched.clear()

    def _count(self, group: _Group, by: int) -> None:
        level, logged, held = group.shown
        if not level:
            return
        if held:
            self._locked[level] += by
            return
        self._by_logged[logged] += by
        if by > 0:
            self._free[level][group] = None
        else:
            del self._free[level][group]

    def _note(self, group: _Group, level: int) -> None:
        """Remember how the group was, for as long as the tolerance looks back."""
        assert self._now is not None
        changes = group.changes
        if changes and changes[-1][0] == self._now:
            changes.pop()
        now = (level, tuple(sorted(group.holders)))
        if not changes or changes[-1][1:] != now:
            changes.append((self._now, *now))
        while len(changes) > 1 and changes[1][0] <= self._now - self._tolerance:
            changes.popleft()

    def _oldest(self, level: int) -> _Group | None:
        """Of the groups of the level that nobody holds the one with the oldest message."""
        turns = self._turns[level]
        while turns:
            turn = turns[0][2]
            group: _Group = turn[1]
            if turn is group.turn:
                if group.shown[0] == level and not group.shown[2]:
                    return group
                group.turn = None
            heappop(turns)
        return None

    # Decisions.

    def _end_instant(self) -> None:
        """Everything of the instant is known: play its decisions."""
        if self._now is None:
            return
        for transaction, name, has_where, outcomes in self._receives:
            own = [
                decision
                for (other, group), decision in self._takes.items()
                if other == transaction and name in (None, group)
            ]
            for decision in own:
                decision.has_where = decision.has_where or has_where
            if not own:
                self._name(transaction, name, outcomes)
        self._refresh()
        levels = {name: self._level_of(name) for _, name in self._takes}
        order = sorted(
            self._takes.values(),
            key=lambda each: (
                -levels[each.group],
                each.group,
                each.transaction is not None,
                each.transaction or "",
            ),
        )
        for decision in order:
            self._decide(decision)
            for message_id in decision.messages:
                message = self._messages.get(message_id)
                if message is not None:
                    self._take(message, decision.transaction, decision.outcomes)
            for transaction, name, _, outcomes in self._receives:
                if transaction == decision.transaction and name == decision.group:
                    self._name(transaction, name, outcomes)
            self._refresh()
        self._takes.clear()
        self._receives.clear()

    def _level_of(self, name: str) -> int:
        group = self._groups.get(name)
        return group.shown[0] if group else 0

    def _decide(self, decision: _Decision) -> None:
        """Compare what was chosen with what was there."""
        assert self._now is not None
        if self._now < self._start:
            return
        counts, transaction = self.counts, decision.transaction
        group = self._groups.get(decision.group)
        level = self._level_of(decision.group)
        counts["decisions"] += not (decision.has_where and level)
        if group is None or not level:
            counts["not_ready"] += 1
            return
        # Held by this transaction alone, or chosen though it is held: there for it, and not among the free.
        held = self._held.get(transaction or "", ())
        own = {each: None for each in held if each.shown[0] and each.is_free_to(transaction)}
        if group.shown[2]:
            own[group] = None
        there = [len(free) for free in self._free]
        for each in own:
            there[each.shown[0]] += 1
        there[0] = 0
        passed = sum(there[level + 1 :])
        if decision.has_where:
            if passed:
                self._deviate(decision, group, level, passed, own)
            return
        lowest = next(other for other in range(1, LEVELS) if there[other])
        passable = sum(there[lowest + 1 :])
        higher, blind = 0, 0
        for other in range(LEVELS - 1, 0, -1):
            blind += there[other] * higher
            higher += there[other]
        self.blind += blind / higher
        counts["passed"] += passed
        counts["passable"] += passable
        counts["with_choice"] += passable > 0
        counts["conforming"] += passable > 0 and not passed
        if there[level] > 1:
            counts["ties"] += 1
            counts["ties_oldest_first"] += self._is_oldest(group, level, own)
        locked = list(self._locked)
        for each in own:
            if each.shown[2] and each.is_free_to(transaction):
                locked[each.shown[0]] -= 1
        counts["lock_skipped"] += any(locked[level + 1 :])
        self._within(decision, group)
        if passed:
            self._deviate(decision, group, level, passed, own)

    def _is_oldest(self, group: _Group, level: int, own: dict[_Group, None]) -> bool:
        arrival = group.first().arrival
        free = self._oldest(level)
        others = [each for each in own if each.shown[0] == level]
        return all(arrival <= each.first().arrival for each in (*others, *([free] if free else [])))

    def _within(self, decision: _Decision, group: _Group) -> None:
        """Whether it took all, and in the order of the group."""
        taken = set(decision.messages)
        endpoints = {message.endpoint for message in self._ready_of(group)}
        ready = [message for endpoint in endpoints for message in endpoint.messages.values() if message.ready]
        left = [message for message in ready if message.message_id not in taken]
        if not left:
            return
        self.counts["partial"] += 1
        since = {
            endpoint: min(message.arrival for message in endpoint.messages.values() if message.ready)
            for endpoint in endpoints
        }

        def place(message: _Message) -> tuple[Any, ...]:
            endpoint = message.endpoint
            return (-endpoint.level, since[endpoint], *endpoint.side, *message.order)

        first_left = min(map(place, left))
        self.counts["within_group"] += any(
            place(message) > first_left for message in ready if message.message_id in taken
        )

    def _ready_of(self, group: _Group) -> list[_Message]:
        return [entry[2] for entry in group.oldest if entry[2].ready and entry[2].endpoint.group is group]

    # Deviations.

    def _deviate(
        self, decision: _Decision, group: _Group, level: int, passed: int, own: dict[_Group, None]
    ) -> None:
        assert self._now is not None
        higher = [each for each in own if each.shown[0] > level]
        best = max(
            [each.shown[0] for each in higher]
            + [each for each in range(level + 1, LEVELS) if self._free[each]]
        )
        free = self._oldest(best)
        first = [each.first() for each in higher if each.shown[0] == best] + ([free.first()] if free else [])
        deviation = Deviation(
            at=self._now,
            transaction_id=decision.transaction,
            conversation_group_id=group.name,
            level=level,
            best_level=best,
            passed_groups=passed,
            witness_message_id=min(first, key=lambda message: message.arrival).message_id,
        )
        groups = [*higher, *[each for free in self._free[level + 1 :] for each in free]]
        if decision.has_where:
            deviation.kind = "where_clause"
        elif decision.transaction is not None and decision.transaction in group.holders:
            deviation.kind = "own_group"
        elif self._conforms_as_logged(group, own):
            deviation.kind = "logged_level"
        elif all(
            self._now - each.free_since(decision.transaction, level) < self._tolerance for each in groups
        ):
            deviation.kind = "timing"
        else:
            near = {name for time, name in self._statements if self._now - time < self._tolerance}
            deviation.waits_for = {each.name for each in groups} - near
            self._pending.append(deviation)
            return
        self._told(deviation)

    def _conforms_as_logged(self, group: _Group, own: dict[_Group, None]) -> bool:
        there = list(self._by_logged)
        for each in own:
            there[each.shown[1]] += 1
        return not there[0] and not sum(there[group.shown[1] + 1 :])

    def _settle(self, deviation: Deviation) -> None:
        deviation.kind = "unexplained" if deviation.waits_for else "other_lock"
        self._told(deviation)

    def _told(self, deviation: Deviation) -> None:
        self.counts[deviation.kind] += 1
        self.deviations.append(deviation)

    def _statement(self, name: str) -> None:
        """A statement locks the group for a moment."""
        assert self._now is not None
        self._statements.append((self._now, name))
        for deviation in self._pending:
            deviation.waits_for.discard(name)

    def _forget_old(self) -> None:
        """What is further away than the tolerance explains nothing any more."""
        assert self._now is not None
        while self._pending and self._pending[0].at + self._tolerance <= self._now:
            self._settle(self._pending.popleft())
        while self._statements and self._statements[0][0] + self._tolerance <= self._now:
            self._statements.popleft()
