"""Conversation groups with their messages, each in its order.

Heaps are lazy: what is no longer true is put right when it comes up, and thrown out once most is so.
"""

from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.conformance.standing import Pool, Stay

LEVELS = 11
"""Levels count from 1 to 10; 0 stands for none, or for one that is not known."""
LAST = 2**63
"""Stands for a number that is not given, which comes after all others."""
SPARE = 16
"""Heaps of up to so many entries are left as they are."""
Key = tuple[int, tuple[Any, ...], "Conversation"]
"""What stands for a conversation: its level, negated, and its oldest ready arrival. No two of them are equal,
so conversations themselves are never compared."""


class Message:
    """A message that is ready or in flight.

    Attributes:
        arrival: its place in the order of arrival, with its id at the end.
        order: its place in its conversation.
        is_there: whether it is in the queue, ready or in flight.
        takers: open transactions that have received it.
    """

    __slots__ = ("arrival", "conversation", "is_there", "order", "ready", "takers")

    def __init__(
        self, arrival: tuple[int, int, str], rank: int, sequence: int, conversation: "Conversation"
    ) -> None:
        self.arrival, self.order, self.conversation = arrival, (rank, sequence, arrival), conversation
        self.is_there, self.ready = True, False
        self.takers: tuple[str, ...] = ()


class Conversation:
    """A conversation with messages on its receiving side.

    Attributes:
        side: which one it is.
        level, logged: what our rules give and what the server logged.
        messages: those that are ready or in flight.
        ready: how many are ready.
        arrivals, order: lazy heaps of the ready ones; `order` is made once it is asked for.
        key: what stands for it in its group's heap; it is never later than its true place.
    """

    __slots__ = ("arrivals", "group", "key", "level", "logged", "messages", "order", "ready", "side")

    def __init__(self, side: str, level: int, logged: int, group: "Group") -> None:
        self.side, self.level, self.logged, self.group = side, level, logged, group
        self.messages: dict[Message, None] = {}
        self.ready = 0
        self.arrivals: list[tuple[tuple[Any, ...], Message]] = []
        self.order: list[tuple[tuple[Any, ...], Message]] | None = None
        self.key: Key | None = None

    def first_arrival(self) -> tuple[Any, ...]:
        """The arrival of the ready message that arrived first; there is one."""
        arrivals = self.arrivals
        while not arrivals[0][1].ready:
            heappop(arrivals)
        return arrivals[0][0]

    def forget(self) -> None:
        """It has no messages any more: what knows each other would wait for the garbage collector."""
        self.arrivals.clear()
        self.order = self.key = None

    def in_order(self) -> list[tuple[tuple[Any, ...], Message]]:
        """A heap of the ready messages by their place in the conversation."""
        if self.order is None:
            self.order = [(message.order, message) for message in self.messages if message.ready]
            heapify(self.order)
        return self.order


class Group:
    """A conversation group that has ready messages, or that a transaction holds.

    Conversations stand by level, then by the oldest arrival. Source: the semantics page, "Orders".

    Attributes:
        ready: how many messages are ready.
        holders: open transactions that hold it, each with how many times.
        level, logged, pool, stay, turn: what the queue counts of it; see `standing`.
        changes: (since, level, who alone holds it, if anybody), the latest last: how it was at the end of
            each instant, as far as the tolerance looks back and it was there for anybody. Level 0: it was
            there for nobody.
    """

    __slots__ = (
        "_conversations",
        "_logged",
        "changes",
        "holders",
        "level",
        "logged",
        "name",
        "pool",
        "ready",
        "stay",
        "turn",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = self.level = self.logged = 0
        self._conversations: list[Key] = []
        self._logged: dict[int, int] = {}
        """Ready messages by the level that the server logged."""
        self.holders: dict[str, int] = {}
        self.changes: list[tuple[int, int, str | None]] = []
        self.pool: Pool | None = None
        self.stay: Stay | None = None
        self.turn: Key | None = None

    def first(self) -> Key | None:
        """The first conversation with a ready message: its level is the group's."""
        if not self.ready:
            return None
        heap = self._conversations
        while True:
            key = heap[0]
            conversation = key[2]
            if conversation.key is not key:
                heappop(heap)
            elif not conversation.ready:
                heappop(heap)
                conversation.key = None
            else:
                first = conversation.arrivals[0]
                arrival = first[0] if first[1].ready else conversation.first_arrival()
                if arrival is key[1]:
                    return key
                conversation.key = (key[0], arrival, conversation)
                heapreplace(heap, conversation.key)

    def logged_level(self) -> int:
        """The highest level that the server logged of a ready message; 0 where one is not known."""
        counts = self._logged
        return 0 if 0 in counts else max(counts)

    def set_ready(self, message: Message) -> None:
        """A message of the group becomes ready."""
        conversation, arrival = message.conversation, message.arrival
        arrivals, order = conversation.arrivals, conversation.order
        if len(arrivals) > 2 * conversation.ready + SPARE:
            _keep_ready(arrivals)
        heappush(arrivals, (arrival, message))
        if order is not None:
            if len(order) > 2 * conversation.ready + SPARE:
                _keep_ready(order)
            heappush(order, (message.order, message))
        message.ready = True
        conversation.ready += 1
        self.ready += 1
        counts, logged = self._logged, conversation.logged
        counts[logged] = counts[logged] + 1 if logged in counts else 1
        key = conversation.key
        if key is None or arrival < key[1]:
            self._stand(conversation, arrival)

    def unset_ready(self, message: Message) -> None:
        """A ready message of the group is ready no more."""
        conversation = message.conversation
        message.ready = False
        conversation.ready -= 1
        self.ready -= 1
        counts, logged = self._logged, conversation.logged
        if counts[logged] == 1:
            del counts[logged]
        else:
            counts[logged] -= 1

    def join(self, conversation: Conversation) -> None:
        """The conversation comes from another group, with its ready messages."""
        old, ready, logged = conversation.group, conversation.ready, conversation.logged
        conversation.group, conversation.key = self, None
        if ready:
            old.ready -= ready
            old._logged[logged] -= ready
            if not old._logged[logged]:
                del old._logged[logged]
            self.ready += ready
            self._logged[logged] = self._logged.get(logged, 0) + ready
            self._stand(conversation, conversation.first_arrival())

    def forget(self) -> None:
        """It has no messages and no holders any more."""
        self._conversations.clear()
        self.turn = self.stay = None

    def count_before_left(self, taken: set[Message]) -> int:
        """Of the ready messages taken, those that stand before all ready ones that are left; some are."""
        before: dict[Message, None] = {}
        passed: list[Key] = []
        while True:
            key = self.first()
            assert key is not None
            order = key[2].in_order()
            while order and (not order[0][1].ready or order[0][1] in taken):
                message = heappop(order)[1]
                if message.ready:
                    before[message] = None
            if order:
                break
            passed.append(heappop(self._conversations))
        for key in passed:
            heappush(self._conversations, key)
        for message in before:
            heappush(message.conversation.in_order(), (message.order, message))
        return len(before)

    def note(self, now: int, level: int, holder: str | None, tolerance: int) -> None:
        """Remember how it is from now on."""
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
        """Since when it has been there for the transaction, above the level, without a break."""
        since = self.changes[-1][0]
        for begun, then, holder in reversed(self.changes):
            if then <= level or (holder is not None and holder != transaction):
                break
            since = begun
        return since

    def _stand(self, conversation: Conversation, arrival: tuple[Any, ...]) -> None:
        """Stand in the order by this oldest arrival."""
        heap = self._conversations
        conversation.key = key = (-conversation.level, arrival, conversation)
        if len(heap) > 2 * self.ready + SPARE:
            heap[:] = [each for each in heap if each[2].key is each and each[2].ready]
            heapify(heap)
        heappush(heap, key)


def _keep_ready(heap: list[tuple[tuple[Any, ...], Message]]) -> None:
    """Throw out what is ready no more; one that was ready before may be there twice."""
    heap[:] = {message: (place, message) for place, message in heap if message.ready}.values()
    heapify(heap)
