"""One queue as the log tells it: what each receive chose from, and what it passed.

Feed it what happened in order; it says of every decision whether a group of a higher level was there. Memory
is that of the ready messages and of what is in flight. All times are whole microseconds since the epoch.
Source: our choice; docs/conformance.md has the definitions.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from pipelines.conformance import happenings as h
from pipelines.conformance.deviations import Deviation, Locks
from pipelines.conformance.groups import LEVELS, Conversation, Group, Message, Side
from pipelines.conformance.standing import Standing
from pipelines.state.carried import BITS, KIND

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
OF_AN_HOUR = ("decisions", "with_choice", "conforming", "passed", "passable")
HOUR = 3_600_000_000
Outcomes = tuple[int | None, int | None]
"""When a transaction was first committed, and first rolled back."""


@dataclass
class _Decision:
    transaction: str | None
    group: str
    outcomes: Outcomes
    messages: list[str] = field(default_factory=list)
    has_where: bool = False
    names: bool = False
    """A RECEIVE event names the group, and so locks it."""


class Queue:
    """A queue; feed it everything in order, then finish it.

    Attributes:
        counts: `COUNTS` of the decisions in the window, once it is finished.
        hours: `OF_AN_HOUR` by hours since the epoch.
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
        self.hours: dict[int, list[int]] = {}
        self.blind = 0.0
        self.deviations: list[Deviation] = []
        self._start, self._tolerance, self._all_count = start, tolerance, every_receive_counts
        self._now = -1
        self._place = -1
        self._conversations: dict[Side, Conversation] = {}
        self._messages: dict[str, Message] = {}
        self._groups: dict[str, Group] = {}
        self._moved: dict[Side, str] = {}
        self._taken: dict[str, set[str]] = {}
        """Messages by the transactions that have received them and may still give them back."""
        self._early: dict[str, list[tuple[str | None, Outcomes]]] = {}
        """Who received messages before their endpoint was there."""
        self._named: dict[str, set[str]] = {}
        """Groups by the open transactions that have named them."""
        self._held: dict[str, set[Group]] = {}
        self._standing = Standing(tolerance)
        self._touched: dict[Group, None] = {}
        self._locks = Locks(tolerance)
        self._takes: dict[tuple[str | None, str], _Decision] = {}
        self._receives: list[tuple[str | None, str | None, bool, Outcomes]] = []

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
                for deviation in self._locks.forget(time):
                    self._tell(deviation)
            transaction, name = transactions[row], groups[row]
            if kind == h.COMMIT or kind == h.ROLLBACK:
                assert transaction is not None
                self._outcome(transaction, committed=kind == h.COMMIT, may_commit=committed[row] is not None)
            elif kind == h.GET_GROUP:
                self._name(transaction, name, (committed[row], rolled_back[row]))
            elif kind == h.RECEIVE:
                outcomes = (committed[row], rolled_back[row])
                self._receives.append((transaction, name, bool(wheres[row]), outcomes))
            else:
                side = (conversation_ids[row] or "", not initiators[row])
                name = self._moved.get(side, name or "")
                message_id = message_ids[row] or ""
                if kind == h.TAKEN:
                    outcomes = (committed[row], rolled_back[row])
                    decision = self._takes.get((transaction, name))
                    if decision is None:
                        decision = self._takes[transaction, name] = _Decision(transaction, name, outcomes)
                    decision.messages.append(message_id)
                    if early[row]:
                        self._early.setdefault(message_id, []).append((transaction, outcomes))
                elif kind == h.ARRIVAL:
                    order = queuing_orders[row]
                    arrival = (arrived[row], order is None, order or 0, message_id)
                    number = sequences[row]
                    place_of_it = (ranks[row], number is None, number or 0, arrival)
                    conversation = self._conversations.get(side)
                    if conversation is None:
                        conversation = self._conversations[side] = Conversation(
                            side, levels[row] or 0, logged[row] or 0, self._group(name)
                        )
                    self._arrive(Message(message_id, arrival, place_of_it, conversation))
                elif kind == h.MOVE:
                    self._move(side, groups[row] or "")
                else:
                    self._locks.statement(name, time)
                    if kind == h.END:
                        self._end(side)

    def finish(self) -> None:
        """Nothing happens any more."""
        self._end_instant()
        for deviation in self._locks.forget(None):
            self._tell(deviation)
        for figures in self.hours.values():
            for name, by in zip(OF_AN_HOUR, figures, strict=True):
                self.counts[name] += by

    # What happens to messages, conversations and groups.

    def _arrive(self, message: Message) -> None:
        message_id = message.message_id
        message.conversation.messages[message_id] = self._messages[message_id] = message
        self._set_ready(message)
        for transaction, outcomes in self._early.pop(message_id, ()):
            if message_id in self._messages:
                self._take(message, transaction, outcomes)

    def _set_ready(self, message: Message) -> None:
        group = message.conversation.group
        group.set_ready(message)
        self._touched[group] = None

    def _unset_ready(self, message: Message) -> None:
        group = message.conversation.group
        group.unset_ready(message)
        self._touched[group] = None

    def _gone(self, message: Message) -> None:
        """The message is in the queue no more, whoever holds it."""
        if message.ready:
            self._unset_ready(message)
        conversation = message.conversation
        for transaction in message.takers:
            self._release(conversation.group, transaction)
        message.takers = ()
        del self._messages[message.message_id]
        del conversation.messages[message.message_id]
        if not conversation.messages:
            self._conversations.pop(conversation.side, None)

    def _end(self, side: Side) -> None:
        conversation = self._conversations.get(side)
        if conversation is not None:
            for message in list(conversation.messages.values()):
                self._gone(message)

    def _move(self, side: Side, group_name: str) -> None:
        self._moved[side] = group_name
        self._locks.statement(group_name, self._now)
        conversation = self._conversations.get(side)
        if conversation is None or conversation.group.name == group_name:
            return
        old, new = conversation.group, self._group(group_name)
        new.join(conversation)
        for message in conversation.messages.values():
            for transaction in message.takers:
                self._release(old, transaction)
                self._hold(new, transaction)
        self._touched[old] = self._touched[new] = None

    def _take(self, message: Message, transaction: str | None, outcomes: Outcomes) -> None:
        committed, rolled_back = outcomes
        if self._all_count or transaction is None or (committed is not None and committed <= self._now):
            self._gone(message)
            return
        if rolled_back is not None and rolled_back <= self._now:
            if committed is not None:
                self._taken.setdefault(transaction, set()).add(message.message_id)
            return
        self._taken.setdefault(transaction, set()).add(message.message_id)
        if transaction not in message.takers:
            message.takers = (*message.takers, transaction)
            if message.ready:
                self._unset_ready(message)
            self._hold(message.conversation.group, transaction)

    def _outcome(self, transaction: str, *, committed: bool, may_commit: bool) -> None:
        for name in self._named.pop(transaction, ()):
            self._release(self._group(name), transaction)
        for message_id in self._taken.get(transaction, ()):
            message = self._messages.get(message_id)
            if message is None:
                continue
            if committed:
                self._gone(message)
            elif transaction in message.takers:
                message.takers = tuple(taker for taker in message.takers if taker != transaction)
                self._release(message.conversation.group, transaction)
                if not message.takers:
                    self._set_ready(message)
        if committed or not may_commit:
            self._taken.pop(transaction, None)

    def _name(self, transaction: str | None, name: str | None, outcomes: Outcomes) -> None:
        """A statement of an open transaction names a group, which locks it."""
        if transaction is None or name is None or self._all_count:
            return
        if any(moment is not None and moment <= self._now for moment in outcomes):
            return
        named = self._named.setdefault(transaction, set())
        if name not in named:
            named.add(name)
            self._hold(self._group(name), transaction)

    def _hold(self, group: Group, transaction: str) -> None:
        group.holders[transaction] = group.holders.get(transaction, 0) + 1
        self._held.setdefault(transaction, set()).add(group)
        self._touched[group] = None

    def _release(self, group: Group, transaction: str) -> None:
        group.holders[transaction] -= 1
        if not group.holders[transaction]:
            del group.holders[transaction]
            held = self._held[transaction]
            held.discard(group)
            if not held:
                del self._held[transaction]
        self._touched[group] = None

    def _group(self, name: str) -> Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group(name)
        return group

    def _count_touched(self) -> None:
        for group in self._touched:
            self._standing.count(group, self._now)
            if not group.ready and not group.holders:
                self._groups.pop(group.name, None)
        self._touched.clear()

    # Decisions.

    def _end_instant(self) -> None:
        """Everything of the instant is known: play its decisions."""
        if self._receives:
            self._read_receives()
        if self._touched:
            self._count_touched()
        if not self._takes:
            return
        decisions = list(self._takes.values())
        if len(decisions) > 1:
            decisions.sort(
                key=lambda each: (
                    -self._level_of(each.group),
                    each.group,
                    each.transaction is not None,
                    each.transaction or "",
                )
            )
        self._takes.clear()
        for decision in decisions:
            if self._now >= self._start:
                self._decide(decision)
            for message_id in decision.messages:
                message = self._messages.get(message_id)
                if message is not None:
                    self._take(message, decision.transaction, decision.outcomes)
            if decision.names:
                self._name(decision.transaction, decision.group, decision.outcomes)
            self._count_touched()

    def _read_receives(self) -> None:
        """RECEIVE events are part of the decisions of their transaction, or lock what they name."""
        by_transaction: dict[str | None, list[_Decision]] = {}
        for decision in self._takes.values():
            by_transaction.setdefault(decision.transaction, []).append(decision)
        for transaction, name, has_where, outcomes in self._receives:
            named = self._takes.get((transaction, name)) if name is not None else None
            if name is None:
                own: Iterable[_Decision] = by_transaction.get(transaction, ())
            else:
                own = (named,) if named else ()
                if not named:
                    self._name(transaction, name, outcomes)
            for decision in own:
                decision.has_where = decision.has_where or has_where
                decision.names = decision.names or name is not None
        self._receives.clear()

    def _level_of(self, name: str) -> int:
        group = self._groups.get(name)
        return group.shown[0] if group else 0

    def _decide(self, decision: _Decision) -> None:
        """Compare what was chosen with what was there."""
        counts, transaction, standing = self.counts, decision.transaction, self._standing
        group = self._groups.get(decision.group)
        level = group.shown[0] if group else 0
        if group is None or not level:
            counts["not_ready"] += 1
            self._add(1, 0, 0, 0, 0)
            return
        # Held by this transaction alone, or chosen though it is held: there for it, and not among the free.
        held = self._held.get(transaction, ()) if transaction is not None else ()
        own = {each: None for each in held if each.shown[0] and each.is_free_to(transaction)}
        if group.shown[2]:
            own[group] = None
        there = [len(free) for free in standing.free]
        for each in own:
            there[each.shown[0]] += 1
        passed = sum(there[level + 1 :])
        if decision.has_where:
            if passed:
                self._deviate(decision, group, passed, own)
            return
        higher, blind, passable = 0, 0, 0
        for other in range(LEVELS - 1, 0, -1):
            if there[other]:
                passable = higher
                blind += there[other] * higher
                higher += there[other]
        self.blind += blind / higher
        self._add(1, passable > 0, passable > 0 and not passed, passed, passable)
        if there[level] > 1:
            counts["ties"] += 1
            counts["ties_oldest_first"] += self._is_oldest(group, level, own)
        locked = sum(standing.held[level + 1 :])
        if locked:
            locked -= sum(
                each.shown[2] and each.is_free_to(transaction) for each in own if each.shown[0] > level
            )
        counts["lock_skipped"] += locked > 0
        self._within(decision, group)
        if passed:
            self._deviate(decision, group, passed, own)

    def _add(self, *figures: int) -> None:
        """Count `OF_AN_HOUR`."""
        hour = self.hours.setdefault(self._now // HOUR, [0] * len(OF_AN_HOUR))
        for place, by in enumerate(figures):
            hour[place] += by

    def _is_oldest(self, group: Group, level: int, own: dict[Group, None]) -> bool:
        mine = _oldest_message(group).arrival
        free = self._standing.oldest(level)
        others = [each for each in own if each.shown[0] == level]
        return all(mine <= _oldest_message(each).arrival for each in (*others, *([free] if free else [])))

    def _within(self, decision: _Decision, group: Group) -> None:
        """Whether it took all, and in the order of the group."""
        taken = set()
        for message_id in decision.messages:
            message = self._messages.get(message_id)
            if message is not None and message.ready and message.conversation.group is group:
                taken.add(message_id)
        if len(taken) < group.ready:
            self.counts["partial"] += 1
            self.counts["within_group"] += group.count_before_left(taken) < len(taken)

    def _deviate(self, decision: _Decision, group: Group, passed: int, own: dict[Group, None]) -> None:
        level, transaction, standing = group.shown[0], decision.transaction, self._standing
        higher = [each for each in own if each.shown[0] > level]
        best = max(
            [each.shown[0] for each in higher]
            + [each for each in range(level + 1, LEVELS) if standing.free[each]]
        )
        free = standing.oldest(best)
        first = [_oldest_message(each) for each in higher if each.shown[0] == best]
        first += [_oldest_message(free)] if free else []
        deviation = Deviation(
            at=self._now,
            transaction_id=transaction,
            conversation_group_id=group.name,
            level=level,
            best_level=best,
            passed_groups=passed,
            witness_message_id=min(first, key=lambda message: message.arrival).message_id,
        )
        groups = chain(higher, *standing.free[level + 1 :])
        if decision.has_where:
            deviation.kind = "where_clause"
        elif transaction is not None and transaction in group.holders:
            deviation.kind = "own_group"
        elif self._conforms_as_logged(group, own):
            deviation.kind = "logged_level"
        elif all(self._now - each.free_since(transaction, level) < self._tolerance for each in groups):
            deviation.kind = "timing"
        else:
            self._locks.explain(deviation, [*higher, *chain(*standing.free[level + 1 :])])
            return
        self._tell(deviation)

    def _conforms_as_logged(self, group: Group, own: dict[Group, None]) -> bool:
        there = list(self._standing.logged)
        for each in own:
            there[each.shown[1]] += 1
        return not there[0] and not sum(there[group.shown[1] + 1 :])

    def _tell(self, deviation: Deviation) -> None:
        self.counts[deviation.kind] += 1
        self.deviations.append(deviation)


def _oldest_message(group: Group) -> Message:
    """The oldest ready message at the group's level; there is one."""
    conversation = group.first()
    assert conversation is not None
    return conversation.first_arrived()
