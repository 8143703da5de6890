"""The ready messages of one queue: which group is next, and what a RECEIVE takes of it.

Memory is that of the ready messages. Heaps are lazy: what is no longer true is passed over when it comes up.
"""

from heapq import heappop, heappush
from typing import Any

Side = tuple[str, bool]
"""An endpoint as it is ordered: conversation_id, and whether it is the target's."""


class Message:
    """A ready message.

    Attributes:
        message_id, arrived, level, estimated: what it is.
        arrival: its place in the order of arrival.
        service: the work on it in microseconds.
        ready: whether it still stands in the queue.
        conversation: where it stands.
    """

    __slots__ = ("arrival", "arrived", "conversation", "estimated", "level", "message_id", "ready", "service")

    def __init__(
        self,
        message_id: str,
        arrived: int,
        queuing_order: int | None,
        level: int,
        service: int,
        estimated: bool,
    ) -> None:
        self.message_id, self.arrived, self.level = message_id, arrived, level
        self.service, self.estimated, self.ready = service, estimated, True
        self.arrival = (arrived, queuing_order is None, queuing_order or 0, message_id)
        self.conversation: Conversation


class Conversation:
    """A conversation with ready messages on its receiving side; `messages` is a heap in its order."""

    __slots__ = ("count", "group", "key", "level", "messages", "side", "since")

    def __init__(self, side: Side, level: int, group: "Group", since: tuple[Any, ...]) -> None:
        self.side, self.level, self.group, self.since = side, level, group, since
        self.messages: list[tuple[Any, ...]] = []
        self.count = 0
        self.key: tuple[Any, ...] = ()


class Group:
    """A conversation group with ready messages, or locked.

    Attributes:
        conversations: a lazy heap in the order in which a RECEIVE takes them.
        oldest: a lazy heap by level and arrival: the first says when the group's turn is.
        count: ready messages.
        locks: how many hold it.
        turn: what stands for it in the queue's heap; None if nothing does.
    """

    __slots__ = ("conversations", "count", "locks", "name", "oldest", "turn")

    def __init__(self, name: str) -> None:
        self.name, self.count, self.locks = name, 0, 0
        self.conversations: list[tuple[Any, ...]] = []
        self.oldest: list[tuple[Any, ...]] = []
        self.turn: tuple[Any, ...] | None = None


class Backlog:
    """The ready messages of a queue in their groups.

    Attributes:
        ready: ready messages.
        available: groups with ready messages that nobody holds.

    Groups go by the highest level of their conversations with ready messages, then by the oldest ready
    message at that level. Conversations of a group go by level, then by the oldest arrival since the
    conversation last had no ready message, then by id, the initiator's first; messages by type, sequence
    number and arrival. Source: the semantics page, "Orders"; the ties are our choice.
    """

    def __init__(self) -> None:
        """Begin without messages."""
        self.ready = self.available = 0
        self._groups: dict[str, Group] = {}
        self._conversations: dict[Side, Conversation] = {}
        self._moved: dict[Side, str] = {}
        self._turns: list[tuple[Any, ...]] = []
        self._turns_taken = 0

    def arrive(self, message: Message, side: Side, group_name: str, rank: int, sequence: int | None) -> None:
        """A message becomes ready; `group_name` is its conversation's group unless that has moved."""
        conversation = self._conversations.get(side)
        if conversation is None:
            group = self._group(self._moved.get(side, group_name))
            conversation = Conversation(side, message.level, group, message.arrival)
            self._conversations[side] = conversation
            self._stand(conversation)
        elif message.arrival < conversation.since:
            conversation.since = message.arrival
            self._stand(conversation)
        message.conversation = conversation
        conversation.count += 1
        heappush(conversation.messages, (rank, sequence is None, sequence or 0, message.arrival, message))
        group = conversation.group
        first = -message.level
        heappush(group.oldest, (first, message.arrival, message))
        self.ready += 1
        group.count += 1
        if not group.locks:
            self.available += group.count == 1
            turn = group.turn
            # What is first changes only if the new message goes before it.
            if turn is None or first < turn[0] or (first == turn[0] and message.arrival < turn[1]):
                self._turns_taken += 1
                group.turn = (first, message.arrival, self._turns_taken, group)
                heappush(self._turns, group.turn)

    def end(self, side: Side) -> list[Message]:
        """The endpoint ends: its ready messages are gone, and returned."""
        conversation = self._conversations.get(side)
        if conversation is None:
            return []
        gone = [entry[-1] for entry in conversation.messages if entry[-1].ready]
        for message in gone:
            self.remove(message)
        return gone

    def find(self, side: Side, message_id: str) -> Message | None:
        """The ready message of the endpoint that has the id."""
        conversation = self._conversations.get(side)
        if conversation is None:
            return None
        ready = (entry[-1] for entry in conversation.messages if entry[-1].ready)
        return next((message for message in ready if message.message_id == message_id), None)

    def remove(self, message: Message) -> None:
        """A ready message stands there no more."""
        message.ready = False
        conversation = message.conversation
        conversation.count -= 1
        if not conversation.count:
            del self._conversations[conversation.side]
        self.ready -= 1
        self._change(conversation.group, -1)

    def move(self, side: Side, group_name: str) -> None:
        """The conversation goes to another group, with its ready messages."""
        self._moved[side] = group_name
        conversation = self._conversations.get(side)
        if conversation is None or conversation.group.name == group_name:
            return
        old, new = conversation.group, self._group(group_name)
        conversation.group = new
        for entry in conversation.messages:
            message = entry[-1]
            if message.ready:
                heappush(new.oldest, (-message.level, message.arrival, message))
        self._stand(conversation)
        self._change(old, -conversation.count)
        self._change(new, conversation.count)

    def lock(self, group_name: str) -> None:
        """Somebody holds the group, perhaps as one of several."""
        group = self._group(group_name)
        group.locks += 1
        if group.locks == 1 and group.count:
            self.available -= 1

    def unlock(self, group_name: str) -> None:
        """One who held the group does so no more."""
        group = self._groups[group_name]
        group.locks -= 1
        if not group.locks:
            if group.count:
                self.available += 1
                self._take_turn(group)
            else:
                self._forget(group)

    def take(self, top: int | None) -> tuple[str, list[Message]] | None:
        """The group whose turn it is, now locked, and what a RECEIVE of TOP(top) takes of it, in order."""
        group = self._first()
        if group is None:
            return None
        group.locks = 1
        self.available -= 1
        left = group.count if top is None else min(top, group.count)
        group.count -= left
        self.ready -= left
        taken: list[Message] = []
        while left:
            conversation = self._first_conversation(group)
            message: Message = heappop(conversation.messages)[-1]
            if message.ready:
                message.ready = False
                taken.append(message)
                left -= 1
                conversation.count -= 1
                if not conversation.count:
                    del self._conversations[conversation.side]
        return group.name, taken

    def left(self) -> list[Message]:
        """All that is ready, in no order."""
        return [
            entry[-1]
            for conversation in self._conversations.values()
            for entry in conversation.messages
            if entry[-1].ready
        ]

    def _group(self, name: str) -> Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = Group(name)
        return group

    def _forget(self, group: Group) -> None:
        if not group.count and not group.locks:
            self._groups.pop(group.name, None)
            # Groups, conversations and messages know each other: without this they wait for the collector.
            group.conversations.clear()
            group.oldest.clear()
            group.turn = None

    def _change(self, group: Group, by: int) -> None:
        """So many more messages of the group are ready."""
        before = group.count
        group.count = before + by
        if not group.locks:
            self.available += (group.count > 0) - (before > 0)
            if group.count:
                self._take_turn(group)
            else:
                self._forget(group)

    def _take_turn(self, group: Group) -> None:
        """Stand in the queue's heap by what is first now."""
        oldest = group.oldest
        while not oldest[0][-1].ready or oldest[0][-1].conversation.group is not group:
            heappop(oldest)
        level, arrival, _ = oldest[0]
        turn = group.turn
        if turn is None or turn[0] != level or turn[1] != arrival:
            self._turns_taken += 1
            group.turn = (level, arrival, self._turns_taken, group)
            heappush(self._turns, group.turn)

    def _first(self) -> Group | None:
        turns = self._turns
        while turns:
            group: Group = turns[0][-1]
            if turns[0] is group.turn:
                if not group.locks and group.count:
                    return group
                group.turn = None
            heappop(turns)
        return None

    def _stand(self, conversation: Conversation) -> None:
        """Stand among the conversations of the group."""
        side = conversation.side
        conversation.key = (-conversation.level, conversation.since, *side)
        heappush(conversation.group.conversations, (conversation.key, conversation))

    @staticmethod
    def _first_conversation(group: Group) -> Conversation:
        heap = group.conversations
        while True:
            key, conversation = heap[0]
            if conversation.count and conversation.group is group and conversation.key is key:
                found: Conversation = conversation
                return found
            heappop(heap)
