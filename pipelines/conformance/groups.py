"""Conversation groups with their messages, each in its order.

Heaps are lazy: what is no longer true is put right when it comes up.
"""

from heapq import heappop, heappush, heapreplace
from typing import Any

Side = tuple[str, bool]
"""An endpoint as it is ordered: conversation_id, and whether it is the target's."""
LEVELS = 11
"""Levels count from 1 to 10; 0 stands for none, or for one that is not known."""


class Message:
    """A message that is ready or in flight.

    Attributes:
        arrival: its place in the order of arrival.
        order: its place in its conversation.
        takers: open transactions that have received it.
    """

    __slots__ = ("arrival", "conversation", "message_id", "order", "ready", "takers")

    def __init__(
        self, message_id: str, arrival: tuple[Any, ...], order: tuple[Any, ...], conversation: "Conversation"
    ) -> None:
        self.message_id, self.arrival, self.order = message_id, arrival, order
        self.conversation = conversation
        self.ready = False
        self.takers: tuple[str, ...] = ()


class Conversation:
    """A conversation with messages on its receiving side.

    Attributes:
        level, logged: what our rules give and what the server logged.
        messages: those that are ready or in flight, by id.
        ready: how many are ready.
        arrivals, order: lazy heaps of the ready ones.
        key: what stands for it in its group's heap; it is never later than its true place.
    """

    __slots__ = ("arrivals", "group", "key", "level", "logged", "messages", "order", "ready", "side")

    def __init__(self, side: Side, level: int, logged: int, group: "Group") -> None:
        self.side, self.level, self.logged, self.group = side, level, logged, group
        self.messages: dict[str, Message] = {}
        self.ready = 0
        self.arrivals: list[tuple[tuple[Any, ...], Message]] = []
        self.order: list[tuple[tuple[Any, ...], Message]] = []
        self.key: tuple[Any, ...] | None = None

    def first_arrived(self) -> Message:
        """The ready message that arrived first; there is one."""
        arrivals = self.arrivals
        while not arrivals[0][1].ready:
            heappop(arrivals)
        return arrivals[0][1]

    def key_since(self, arrival: tuple[Any, ...]) -> tuple[Any, ...]:
        """Stand in the group's order by this oldest arrival."""
        self.key = (-self.level, arrival, *self.side)
        return self.key


class Group:
    """A conversation group that has ready messages, or that a transaction holds.

    Conversations stand by level, then by the oldest arrival, then by id, the initiator's first. Source: the
    semantics page, "Orders".

    Attributes:
        ready: how many messages are ready.
        holders: open transactions that hold it, each with how many times.
        changes: (since, level, holders), the latest last, as far as the tolerance looks back.
        shown: what the queue counts of it: level, logged level, whether it is held.
        turn: what stands for it among the groups of its level.
    """

    __slots__ = (
        "_conversations",
        "_logged",
        "_logged_levels",
        "changes",
        "holders",
        "name",
        "ready",
        "shown",
        "turn",
    )

    def __init__(self, name: str) -> None:
        self.name, self.ready = name, 0
        self._conversations: list[tuple[tuple[Any, ...], Conversation]] = []
        self._logged: dict[int, int] = {}
        self._logged_levels = 0
        """A bit per logged level of a ready message."""
        self.holders: dict[str, int] = {}
        self.changes: list[tuple[int, int, tuple[str, ...]]] = []
        self.shown: tuple[int, int, bool] = (0, 0, False)
        self.turn: tuple[Any, ...] | None = None

    def first(self) -> Conversation | None:
        """The first conversation with a ready message: its level is the group's."""
        heap = self._conversations
        while heap:
            key, conversation = heap[0]
            if conversation.key is not key:
                heappop(heap)
            elif not conversation.ready:
                heappop(heap)
                conversation.key = None
            else:
                arrival = conversation.first_arrived().arrival
                if arrival is key[1]:
                    return conversation
                heapreplace(heap, (conversation.key_since(arrival), conversation))
        return None

    def logged_level(self) -> int:
        """The highest level that the server logged of a ready message; 0 where one is not known."""
        levels = self._logged_levels
        return 0 if levels & 1 else levels.bit_length() - 1

    def set_ready(self, message: Message) -> None:
        """A message of the group becomes ready."""
        conversation = message.conversation
        message.ready = True
        heappush(conversation.arrivals, (message.arrival, message))
        heappush(conversation.order, (message.order, message))
        conversation.ready += 1
        self._count(conversation.logged, 1)
        key = conversation.key
        if key is None or message.arrival < key[1]:
            heappush(self._conversations, (conversation.key_since(message.arrival), conversation))

    def unset_ready(self, message: Message) -> None:
        """A ready message of the group is ready no more."""
        message.ready = False
        message.conversation.ready -= 1
        self._count(message.conversation.logged, -1)

    def join(self, conversation: Conversation) -> None:
        """The conversation comes from another group, with its ready messages."""
        conversation.group._count(conversation.logged, -conversation.ready)
        conversation.group, conversation.key = self, None
        if conversation.ready:
            self._count(conversation.logged, conversation.ready)
            key = conversation.key_since(conversation.first_arrived().arrival)
            heappush(self._conversations, (key, conversation))

    def _count(self, logged: int, by: int) -> None:
        self.ready += by
        left = self._logged.get(logged, 0) + by
        self._logged[logged] = left
        if left:
            self._logged_levels |= 1 << logged
        else:
            self._logged_levels &= ~(1 << logged)

    def count_before_left(self, taken: set[str]) -> int:
        """Of the ready messages taken, those that stand before all ready ones that are left; some are."""
        before: dict[str, Message] = {}
        passed = []
        while True:
            conversation = self.first()
            assert conversation is not None
            order = conversation.order
            while order and (not order[0][1].ready or order[0][1].message_id in taken):
                message = heappop(order)[1]
                if message.ready:
                    before[message.message_id] = message
            if order:
                break
            passed.append(heappop(self._conversations))
        for entry in passed:
            heappush(self._conversations, entry)
        for message in before.values():
            heappush(message.conversation.order, (message.order, message))
        return len(before)

    def is_free_to(self, transaction: str | None) -> bool:
        """Whether nobody else holds it."""
        return not self.holders or (len(self.holders) == 1 and transaction in self.holders)

    def note(self, now: int, level: int, tolerance: int) -> None:
        """Remember how it is from now on, and how it was for as long as the tolerance looks back."""
        changes = self.changes
        if changes and changes[-1][0] == now:
            changes.pop()
        holders = tuple(sorted(self.holders)) if self.holders else ()
        if not changes or changes[-1][1] != level or changes[-1][2] != holders:
            changes.append((now, level, holders))
        while len(changes) > 1 and changes[1][0] <= now - tolerance:
            del changes[0]

    def free_since(self, transaction: str | None, level: int) -> int:
        """Since when it has been there for the transaction, above the level, without a break."""
        since = self.changes[-1][0]
        for begun, then, holders in reversed(self.changes):
            if then <= level or any(holder != transaction for holder in holders):
                break
            since = begun
        return since
