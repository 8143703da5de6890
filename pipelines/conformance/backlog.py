"""The messages of a queue that are ready or in flight, and who holds their groups."""

from dataclasses import dataclass, field
from heapq import heappop, heappush

from pipelines.conformance.groups import LAST, Conversation, Group, Message
from pipelines.conformance.standing import Standing

Outcomes = tuple[int | None, int | None]
"""When a transaction was first committed, and first rolled back."""
NO_OUTCOME: Outcomes = (None, None)


@dataclass(slots=True)
class _Transaction:
    """What a transaction without its last outcome has received, and the groups it may hold."""

    messages: list[Message] = field(default_factory=list)
    groups: dict[Group, None] = field(default_factory=dict)
    named: dict[str, None] = field(default_factory=dict)


class Backlog:
    """What a queue holds; memory is that of the ready messages and of what is in flight.

    Attributes:
        standing: the groups by level, as they were when last counted.
        touched: groups that have changed since then.
        moved: the groups of conversations that are not in their first one.
        next_outcome: when the next open transaction ends; `LAST` if none does.
    """

    def __init__(self, tolerance: int, *, every_receive_counts: bool) -> None:
        """Begin without messages.

        Args:
            tolerance: in microseconds.
            every_receive_counts: without any queue events a RECEIVED counts as committed.
        """
        self.standing = Standing(tolerance)
        self.next_outcome = LAST
        self._all_count = every_receive_counts
        self._conversations: dict[str, Conversation] = {}
        self._messages: dict[str, Message] = {}
        self._groups: dict[str, Group] = {}
        self.moved: dict[str, str] = {}
        self._open: dict[str, _Transaction] = {}
        self._outcomes: list[tuple[int, bool, str, bool]] = []
        """When, whether rolled back, which transaction, whether it is its last one."""
        self._early: dict[str, list[tuple[str | None, Outcomes]]] = {}
        """Who received messages before their endpoint was there."""
        self.touched: dict[Group, None] = {}

    def message(self, message_id: str) -> Message | None:
        """A message that is there."""
        return self._messages.get(message_id)

    def group(self, name: str) -> Group | None:
        """A group, if anything is known of it."""
        return self._groups.get(name)

    def arrive(
        self,
        now: int,
        side: str,
        first: str,
        arrival: tuple[int, int, str],
        rank: int,
        sequence: int,
        level: int,
        logged: int,
    ) -> None:
        """A message becomes ready; `first` is the first group of its conversation."""
        conversation = self._conversations.get(side)
        if conversation is None:
            name = self.moved.get(side, first)
            group = self._groups.get(name) or self._new_group(name)
            conversation = self._conversations[side] = Conversation(side, level, logged, group)
        message = Message(arrival, rank, sequence, conversation)
        message_id = arrival[2]
        self._messages[message_id] = message
        conversation.messages[message] = None
        group = conversation.group
        group.set_ready(message)
        self.touched[group] = None
        if message_id in self._early:
            for transaction, outcomes in self._early.pop(message_id):
                self.take(now, message, transaction, outcomes)

    def take_early(self, message_id: str, transaction: str | None, outcomes: Outcomes) -> None:
        """A message was received before its endpoint is there."""
        self._early.setdefault(message_id, []).append((transaction, outcomes))

    def take(self, now: int, message: Message, transaction: str | None, outcomes: Outcomes) -> None:
        """A message that may be there is received."""
        if not message.is_there:
            return
        committed, rolled_back = outcomes
        if self._all_count or transaction is None or (committed is not None and committed <= now):
            self._gone(message)
            return
        is_over = rolled_back is not None and rolled_back <= now
        if is_over and committed is None:
            return
        self._opened(now, transaction, outcomes).messages.append(message)
        if not is_over and transaction not in message.takers:
            message.takers = (*message.takers, transaction)
            group = message.conversation.group
            if message.ready:
                group.unset_ready(message)
            self._hold(group, transaction)

    def name(self, now: int, transaction: str | None, name: str | None, outcomes: Outcomes) -> None:
        """A statement of a transaction names a group, which locks it while the transaction is open."""
        if transaction is None or name is None or self._all_count:
            return
        for moment in outcomes:
            if moment is not None and moment <= now:
                return
        named = self._opened(now, transaction, outcomes).named
        if name not in named:
            named[name] = None
            self._hold(self._groups.get(name) or self._new_group(name), transaction)

    def end(self, side: str) -> None:
        """The endpoint ends, and its messages are gone."""
        conversation = self._conversations.get(side)
        if conversation is not None:
            for message in list(conversation.messages):
                self._gone(message)

    def move(self, side: str, name: str) -> None:
        """The conversation goes to another group."""
        self.moved[side] = name
        conversation = self._conversations.get(side)
        if conversation is None or conversation.group.name == name:
            return
        old, new = conversation.group, self._groups.get(name) or self._new_group(name)
        new.join(conversation)
        for message in conversation.messages:
            for transaction in message.takers:
                self._release(old, transaction)
                self._hold(new, transaction)
        self.touched[old] = self.touched[new] = None

    def end_transactions(self, now: int) -> None:
        """Play the outcomes of the moment."""
        outcomes = self._outcomes
        while outcomes and outcomes[0][0] <= now:
            _, is_rolled_back, transaction, is_last = heappop(outcomes)
            known = self._open[transaction]
            self._over(known, transaction, is_committed=not is_rolled_back)
            if is_last:
                del self._open[transaction]
        self.next_outcome = outcomes[0][0] if outcomes else LAST

    def count(self, now: int) -> None:
        """Count the groups that have changed."""
        touched, count = self.touched, self.standing.count
        for group in touched:
            if group.ready:
                count(group, now)
            else:
                if group.level:
                    count(group, now)
                if not group.holders:
                    del self._groups[group.name]
                    group.forget()
        touched.clear()

    def _gone(self, message: Message) -> None:
        """The message is in the queue no more, whoever holds it."""
        conversation = message.conversation
        group = conversation.group
        if message.ready:
            group.unset_ready(message)
        for transaction in message.takers:
            self._release(group, transaction)
        message.takers = ()
        message.is_there = False
        self.touched[group] = None
        del self._messages[message.arrival[2]]
        del conversation.messages[message]
        if not conversation.messages:
            del self._conversations[conversation.side]
            conversation.forget()

    def _opened(self, now: int, transaction: str, outcomes: Outcomes) -> _Transaction:
        """A transaction that has an outcome to come, or none at all."""
        known = self._open.get(transaction)
        if known is None:
            known = self._open[transaction] = _Transaction()
            committed, rolled_back = outcomes
            if committed is not None:
                heappush(self._outcomes, (committed, False, transaction, True))
            if (
                rolled_back is not None
                and rolled_back > now
                and (committed is None or rolled_back < committed)
            ):
                heappush(self._outcomes, (rolled_back, True, transaction, committed is None))
            if self._outcomes:
                self.next_outcome = self._outcomes[0][0]
        return known

    def _over(self, known: _Transaction, transaction: str, *, is_committed: bool) -> None:
        """A transaction has an outcome, and holds nothing any more."""
        for group in known.groups:
            if group.holders.pop(transaction, None):
                self.touched[group] = None
        known.groups.clear()
        known.named.clear()
        for message in known.messages:
            if not message.is_there:
                continue
            takers = message.takers
            is_taker = transaction in takers
            if is_taker:
                others = len(takers) > 1
                message.takers = tuple(each for each in takers if each != transaction) if others else ()
            if is_committed:
                self._gone(message)
            elif is_taker and not message.takers:
                group = message.conversation.group
                group.set_ready(message)
                self.touched[group] = None

    def _hold(self, group: Group, transaction: str) -> None:
        holders = group.holders
        holders[transaction] = holders.get(transaction, 0) + 1
        self._open[transaction].groups[group] = None
        self.touched[group] = None

    def _release(self, group: Group, transaction: str) -> None:
        holders = group.holders
        holders[transaction] -= 1
        if not holders[transaction]:
            del holders[transaction]
        self.touched[group] = None

    def _new_group(self, name: str) -> Group:
        group = self._groups[name] = Group(name)
        return group
