"""The messages of a watched queue that are ready or in flight, and which transactions hold their groups."""

from collections.abc import Sequence
from heapq import heappop, heappush

from pipelines.conformance.standing import Standing
from pipelines.conformance.watched import WatchedGroup, WatchedMessage
from pipelines.queue_machine.backlog import Backlog
from pipelines.queue_machine.groups import LAST, Conversation

Outcomes = tuple[int | None, int | None]
"""When a transaction was first committed, and first rolled back."""
NO_OUTCOME: Outcomes = (None, None)
Dropped = tuple[str, str, str]
"""A message whose endpoint has ended: its id, its conversation, and the first group of that."""


class _Transaction:
    """A transaction without its last outcome: what it has received, and the groups it named and may hold."""

    __slots__ = ("groups", "messages", "named")

    def __init__(self) -> None:
        self.messages: list[WatchedMessage] = []
        self.groups: dict[WatchedGroup, None] = {}
        self.named: set[str] = set()


class WatchedBacklog(Backlog[WatchedMessage, WatchedGroup]):
    """What a queue holds.

    Memory is that of the ready messages, of what is in flight, and of the ids in `dropped`.

    Attributes:
        messages: those that are there, by id.
        dropped: messages that are not there because their endpoint has ended. A transaction that receives
            one later locks its group all the same.
        standing: the groups by level, as they were when last counted.
        next_outcome: when the next open transaction ends; `LAST` if none does.
    """

    def __init__(self, tolerance: int, *, every_receive_counts: bool) -> None:
        """Begin without messages.

        Args:
            tolerance: in microseconds.
            every_receive_counts: without any queue events a RECEIVED counts as committed.
        """
        super().__init__(WatchedGroup)
        self.standing = Standing(tolerance)
        self.next_outcome = LAST
        self._all_count = every_receive_counts
        self.messages: dict[str, WatchedMessage] = {}
        self.dropped: set[str] = set()
        self._open: dict[str, _Transaction] = {}
        self._outcomes: list[tuple[int, bool, str, bool]] = []
        """When, whether rolled back, which transaction, whether it is its last one."""
        self._early: dict[str, list[tuple[str | None, Outcomes]]] = {}
        """Who received messages before their endpoint was there."""

    def come(self, now: int, message: WatchedMessage, side: str, first_group: str, level: int) -> None:
        """A message becomes ready; see `arrive`."""
        message_id = message.arrival[2]
        self.messages[message_id] = message
        self.arrive(message, side, first_group, level)
        if message_id in self._early:
            for transaction, outcomes in self._early.pop(message_id):
                self.take(now, (message,), transaction, outcomes)

    def come_late(self, now: int, message_id: str, side: str, first_group: str) -> None:
        """A message arrives for an endpoint that has ended."""
        self.dropped.add(message_id)
        for transaction, outcomes in self._early.pop(message_id, ()):
            self.take_dropped(now, (message_id, side, first_group), transaction, outcomes)

    def end(self, side: str) -> list[WatchedMessage]:
        """The endpoint ends: its messages are gone, but for those in flight, which are never ready again."""
        conversation = self._conversations.get(side)
        if conversation is None:
            return []
        gone = [message for message in conversation.messages if not message.takers]
        for message in conversation.messages:
            message.has_ended = True
        for message in gone:
            self._drop(message)
        return gone

    def take_early(self, message_id: str, transaction: str | None, outcomes: Outcomes) -> None:
        """A message was received before its endpoint is there."""
        self._early.setdefault(message_id, []).append((transaction, outcomes))

    def take(
        self, now: int, messages: Sequence[WatchedMessage], transaction: str | None, outcomes: Outcomes
    ) -> None:
        """Messages that may be there are received."""
        committed, rolled_back = outcomes
        if self._all_count or transaction is None or (committed is not None and committed <= now):
            for message in messages:
                if message.is_there:
                    self.remove(message)
                elif message.has_ended:
                    self._receive_dropped(message.arrival[2])
            return
        is_over = rolled_back is not None and rolled_back <= now
        if is_over and committed is None:
            return
        for message in messages:
            if not message.is_there:
                if message.has_ended:
                    conversation = message.conversation
                    again = (message.arrival[2], conversation.side, conversation.group.name)
                    self.take_dropped(now, again, transaction, outcomes)
                continue
            known = self._opened(now, transaction, outcomes)
            known.messages.append(message)
            if not is_over and transaction not in message.takers:
                message.takers = (*message.takers, transaction)
                if message.ready:
                    self._unset_ready(message)
                self._hold_for(message.conversation.group, known, transaction)

    def take_dropped(self, now: int, dropped: Dropped, transaction: str | None, outcomes: Outcomes) -> None:
        """A message whose endpoint has ended is received: an open transaction locks its group."""
        message_id, side, first_group = dropped
        message = self.messages.get(message_id)
        if message is None:
            if message_id not in self.dropped:
                return
            self.dropped.remove(message_id)
            message = WatchedMessage((0, 0, message_id), 0, None, 0, has_ended=True)
            self.messages[message_id] = message
            conversation = self._conversations.get(side)
            if conversation is None:
                name = self.moved.get(side, first_group)
                group = self._groups.get(name) or self._begin(name)
                conversation = self._conversations[side] = Conversation(side, 0, group, message.arrival)
            message.conversation = conversation
            conversation.messages[message] = None
        self.take(now, (message,), transaction, outcomes)
        if message.is_there and not message.takers:
            self._drop(message)

    def name(self, now: int, transaction: str | None, name: str | None, outcomes: Outcomes) -> None:
        """A statement of a transaction names a group, which locks it while the transaction is open."""
        if transaction is None or name is None or self._all_count:
            return
        committed, rolled_back = outcomes
        if (committed is not None and committed <= now) or (rolled_back is not None and rolled_back <= now):
            return
        known = self._opened(now, transaction, outcomes)
        if name not in known.named:
            known.named.add(name)
            self._hold_for(self._groups.get(name) or self._begin(name), known, transaction)

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
                    self._forget(group)
        touched.clear()

    def remove(self, message: WatchedMessage) -> None:
        """The message is in the queue no more, whoever holds it."""
        group = message.conversation.group
        for transaction in message.takers:
            self._release(group, transaction)
        message.takers = ()
        message.is_there = False
        self.touched[group] = None
        del self.messages[message.arrival[2]]
        super().remove(message)

    def _drop(self, message: WatchedMessage) -> None:
        """The endpoint of a message that nobody holds has ended."""
        self.remove(message)
        self.dropped.add(message.arrival[2])

    def _join(self, conversation: Conversation[WatchedMessage, WatchedGroup], group: WatchedGroup) -> None:
        """A conversation comes to another group, which those who took its messages hold from now on."""
        for message in conversation.messages:
            for transaction in message.takers:
                self._release(conversation.group, transaction)
                self._hold_for(group, self._open[transaction], transaction)
        super()._join(conversation, group)

    def _set_ready(self, message: WatchedMessage) -> None:
        super()._set_ready(message)
        logs, logged = message.conversation.group.logs, message.logged
        logs[logged] = logs.get(logged, 0) + 1

    def _unset_ready(self, message: WatchedMessage) -> None:
        super()._unset_ready(message)
        logs, logged = message.conversation.group.logs, message.logged
        if logs[logged] == 1:
            del logs[logged]
        else:
            logs[logged] -= 1

    def _opened(self, now: int, transaction: str, outcomes: Outcomes) -> _Transaction:
        """A transaction that has an outcome to come, or none at all."""
        known = self._open.get(transaction)
        if known is not None:
            return known
        known = self._open[transaction] = _Transaction()
        committed, rolled_back = outcomes
        if committed is not None:
            heappush(self._outcomes, (committed, False, transaction, True))
        if rolled_back is not None and rolled_back > now and (committed is None or rolled_back < committed):
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
                if is_committed and message.has_ended:
                    self._receive_dropped(message.arrival[2])
                continue
            is_taker = transaction in message.takers
            if is_taker:
                message.takers = tuple([each for each in message.takers if each != transaction])
            if is_committed:
                self.remove(message)
            elif is_taker and not message.takers:
                if message.has_ended:
                    self._drop(message)
                else:
                    self._set_ready(message)

    def _receive_dropped(self, message_id: str) -> None:
        """A message that was dropped since it was taken is received for good."""
        self.dropped.discard(message_id)
        again = self.messages.get(message_id)
        if again is not None:
            self.remove(again)

    def _hold_for(self, group: WatchedGroup, known: _Transaction, transaction: str) -> None:
        """An open transaction holds the group, perhaps once more."""
        self._hold(group, transaction)
        known.groups[group] = None
