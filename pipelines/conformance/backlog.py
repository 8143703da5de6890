"""The ready messages and those in flight of a queue of the log, and the transactions that hold groups."""

from collections.abc import Sequence
from heapq import heappop, heappush

from pipelines.conformance.groups import ConformanceGroup, ConformanceMessage, GroupsByLevel
from pipelines.queue_machine.backlog import Backlog
from pipelines.queue_machine.groups import LAST, Conversation

Outcomes = tuple[int | None, int | None]
"""The first COMMIT and the first ROLLBACK of a transaction."""
NO_OUTCOME: Outcomes = (None, None)
Dropped = tuple[str, str, str]
"""A message whose endpoint has ended: its id, its endpoint, and the endpoint's first group."""


class _Transaction:
    """A transaction before its last outcome: its messages, the groups it named, and groups it can hold."""

    __slots__ = ("groups", "messages", "named")

    def __init__(self) -> None:
        self.messages: list[ConformanceMessage] = []
        self.groups: dict[ConformanceGroup, None] = {}
        self.named: set[str] = set()


class ConformanceBacklog(Backlog[ConformanceMessage, ConformanceGroup]):
    """The messages of a queue, as the log shows them.

    Memory grows with the messages that are ready or in flight, and with the ids in `dropped`.

    Attributes:
        messages: the messages in the queue, by id.
        dropped: ids of messages that left the queue because their endpoint ended. A transaction that
            receives one later still locks its group.
        groups_by_level: the groups by level, as of the last count.
        next_outcome: the next outcome of an open transaction; `LAST` if there is none.
    """

    def __init__(self, tolerance: int, *, has_queue_events: bool) -> None:
        """Begin without messages.

        Args:
            tolerance: in microseconds.
            has_queue_events: see `pipelines.state.ledger.Ledger`.
        """
        super().__init__(ConformanceGroup)
        self.groups_by_level = GroupsByLevel(tolerance)
        self.next_outcome = LAST
        self._has_queue_events = has_queue_events
        self.messages: dict[str, ConformanceMessage] = {}
        self.dropped: set[str] = set()
        self._open: dict[str, _Transaction] = {}
        self._outcomes: list[tuple[int, bool, str, bool]] = []
        """A heap: moment, whether it is a ROLLBACK, transaction, and whether it is its last outcome."""
        self._early: dict[str, list[tuple[str | None, Outcomes]]] = {}
        """Transactions that received messages before their endpoint existed, by message."""

    def add(self, now: int, message: ConformanceMessage, endpoint: str, first_group: str, level: int) -> None:
        """Add a message that becomes ready; see `arrive`."""
        message_id = message.arrival[2]
        self.messages[message_id] = message
        self.arrive(message, endpoint, first_group, level)
        if message_id in self._early:
            for transaction, outcomes in self._early.pop(message_id):
                self.receive(now, (message,), transaction, outcomes)

    def add_ended(self, now: int, message_id: str, endpoint: str, first_group: str) -> None:
        """Note a message that arrives for an endpoint that has ended."""
        self.dropped.add(message_id)
        for transaction, outcomes in self._early.pop(message_id, ()):
            self.receive_dropped(now, (message_id, endpoint, first_group), transaction, outcomes)

    def end(self, endpoint: str) -> list[ConformanceMessage]:
        """End an endpoint: remove its messages; those in flight stay and are never ready again."""
        conversation = self._conversations.get(endpoint)
        if conversation is None:
            return []
        removed = [message for message in conversation.messages if not message.holders]
        for message in conversation.messages:
            message.has_ended = True
        for message in removed:
            self._drop(message)
        return removed

    def receive_early(self, message_id: str, transaction: str | None, outcomes: Outcomes) -> None:
        """Note a message that is received before its endpoint exists."""
        self._early.setdefault(message_id, []).append((transaction, outcomes))

    def receive(
        self, now: int, messages: Sequence[ConformanceMessage], transaction: str | None, outcomes: Outcomes
    ) -> None:
        """Receive messages that can be in the queue."""
        committed, rolled_back = outcomes
        if not self._has_queue_events or transaction is None or (committed is not None and committed <= now):
            for message in messages:
                if message.is_in_queue:
                    self.remove(message)
                elif message.has_ended:
                    self._receive_dropped(message.arrival[2])
            return
        is_over = rolled_back is not None and rolled_back <= now
        if is_over and committed is None:
            return
        for message in messages:
            if not message.is_in_queue:
                if message.has_ended:
                    conversation = message.conversation
                    again = (message.arrival[2], conversation.endpoint, conversation.group.name)
                    self.receive_dropped(now, again, transaction, outcomes)
                continue
            opened = self._open_transaction(now, transaction, outcomes)
            opened.messages.append(message)
            if not is_over and transaction not in message.holders:
                message.holders = (*message.holders, transaction)
                if message.ready:
                    self._unset_ready(message)
                self._hold_for(message.conversation.group, opened, transaction)

    def receive_dropped(
        self, now: int, dropped: Dropped, transaction: str | None, outcomes: Outcomes
    ) -> None:
        """Receive a message whose endpoint has ended: an open transaction locks its group."""
        message_id, endpoint, first_group = dropped
        message = self.messages.get(message_id)
        if message is None:
            if message_id not in self.dropped:
                return
            self.dropped.remove(message_id)
            message = ConformanceMessage((0, 0, message_id), 0, None, 0, has_ended=True)
            self.messages[message_id] = message
            conversation = self._conversations.get(endpoint)
            if conversation is None:
                group = self.group_of_name(self.moved.get(endpoint, first_group))
                conversation = Conversation(endpoint, 0, group, message.arrival)
                self._conversations[endpoint] = conversation
            message.conversation = conversation
            conversation.messages[message] = None
        self.receive(now, (message,), transaction, outcomes)
        if message.is_in_queue and not message.holders:
            self._drop(message)

    def lock_named(self, now: int, transaction: str | None, name: str | None, outcomes: Outcomes) -> None:
        """Lock a group that a statement names, while its transaction is open."""
        if transaction is None or name is None or not self._has_queue_events:
            return
        committed, rolled_back = outcomes
        if (committed is not None and committed <= now) or (rolled_back is not None and rolled_back <= now):
            return
        opened = self._open_transaction(now, transaction, outcomes)
        if name not in opened.named:
            opened.named.add(name)
            self._hold_for(self.group_of_name(name), opened, transaction)

    def end_transactions(self, now: int) -> None:
        """Play the outcomes up to a moment."""
        outcomes = self._outcomes
        while outcomes and outcomes[0][0] <= now:
            _, is_rolled_back, transaction, is_last = heappop(outcomes)
            self._end(transaction, is_committed=not is_rolled_back)
            if is_last:
                del self._open[transaction]
        self.next_outcome = outcomes[0][0] if outcomes else LAST

    def count(self, now: int) -> None:
        """Count the groups that have changed."""
        touched, count = self.touched, self.groups_by_level.count
        for group in touched:
            if group.ready:
                count(group, now)
            else:
                if group.level:
                    count(group, now)
                if not group.holders:
                    self._forget(group)
        touched.clear()

    def remove(self, message: ConformanceMessage) -> None:
        """Remove a message from the queue, and release its holders."""
        group = message.conversation.group
        for transaction in message.holders:
            self._release(group, transaction)
        message.holders = ()
        message.is_in_queue = False
        self.touched[group] = None
        del self.messages[message.arrival[2]]
        super().remove(message)

    def _drop(self, message: ConformanceMessage) -> None:
        """Remove a message without holders whose endpoint has ended."""
        self.remove(message)
        self.dropped.add(message.arrival[2])

    def _join(
        self, conversation: Conversation[ConformanceMessage, ConformanceGroup], group: ConformanceGroup
    ) -> None:
        """Put a conversation into another group; the holders of its messages hold that group from now on."""
        for message in conversation.messages:
            for transaction in message.holders:
                self._release(conversation.group, transaction)
                self._hold_for(group, self._open[transaction], transaction)
        super()._join(conversation, group)

    def _set_ready(self, message: ConformanceMessage) -> None:
        super()._set_ready(message)
        logs, logged = message.conversation.group.logs, message.logged
        logs[logged] = logs.get(logged, 0) + 1

    def _unset_ready(self, message: ConformanceMessage) -> None:
        super()._unset_ready(message)
        logs, logged = message.conversation.group.logs, message.logged
        if logs[logged] == 1:
            del logs[logged]
        else:
            logs[logged] -= 1

    def _open_transaction(self, now: int, transaction: str, outcomes: Outcomes) -> _Transaction:
        """The open transaction; a transaction without any outcome stays open."""
        opened = self._open.get(transaction)
        if opened is not None:
            return opened
        opened = self._open[transaction] = _Transaction()
        committed, rolled_back = outcomes
        if committed is not None:
            heappush(self._outcomes, (committed, False, transaction, True))
        if rolled_back is not None and rolled_back > now and (committed is None or rolled_back < committed):
            heappush(self._outcomes, (rolled_back, True, transaction, committed is None))
        if self._outcomes:
            self.next_outcome = self._outcomes[0][0]
        return opened

    def _end(self, transaction: str, *, is_committed: bool) -> None:
        """Play an outcome of a transaction: it holds nothing any more."""
        ended = self._open[transaction]
        for group in ended.groups:
            if group.holders.pop(transaction, None):
                self.touched[group] = None
        ended.groups.clear()
        ended.named.clear()
        for message in ended.messages:
            if not message.is_in_queue:
                if is_committed and message.has_ended:
                    self._receive_dropped(message.arrival[2])
                continue
            is_holder = transaction in message.holders
            if is_holder:
                message.holders = tuple([each for each in message.holders if each != transaction])
            if is_committed:
                self.remove(message)
            elif is_holder and not message.holders:
                if message.has_ended:
                    self._drop(message)
                else:
                    self._set_ready(message)

    def _receive_dropped(self, message_id: str) -> None:
        """Remove a message that was dropped while it was in flight and is now committed."""
        self.dropped.discard(message_id)
        again = self.messages.get(message_id)
        if again is not None:
            self.remove(again)

    def _hold_for(self, group: ConformanceGroup, opened: _Transaction, transaction: str) -> None:
        """Count a hold of an open transaction on the group."""
        self._hold(group, transaction)
        opened.groups[group] = None
