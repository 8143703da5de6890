"""The ready messages of one queue: the group that is next, and the messages that a RECEIVE takes of it."""

from heapq import heapify, heappop, heappush

from pipelines.queue_machine.backlog import Backlog
from pipelines.queue_machine.groups import SPARE, Arrival, Conversation, Group, Message, Turns


class ReplayMessage(Message["ReplayGroup"]):
    """A message of a replay.

    Attributes:
        service: the work on it in microseconds.
        estimated: whether the work is estimated.
    """

    __slots__ = ("estimated", "service")

    def __init__(
        self, arrival: Arrival, rank: int, sequence: int | None, service: int, *, estimated: bool
    ) -> None:
        super().__init__(arrival, rank, sequence)
        self.service, self.estimated = service, estimated


Place = tuple[int, Arrival, Conversation[ReplayMessage, "ReplayGroup"]]
"""A conversation in the heap of its group: its level, negated, and its `since` when the entry was made."""


class ReplayGroup(Group):
    """A group that has ready messages or is locked."""

    __slots__ = ("_conversations",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._conversations: list[Place] = []

    def forget(self) -> None:
        """Drop references."""
        super().forget()
        self._conversations.clear()

    def add_conversation(self, conversation: Conversation[ReplayMessage, "ReplayGroup"]) -> None:
        """Add a conversation with ready messages.

        Conversations are ordered by level, then by the oldest arrival since they last had no ready message;
        see docs/semantics.md#orders.
        """
        heap = self._conversations
        if len(heap) > 2 * self.ready + SPARE:
            heap[:] = {each[2]: each for each in heap if self._is_current(each)}.values()
            heapify(heap)
        heappush(heap, (-conversation.level, conversation.since, conversation))

    def first_conversation(self) -> Conversation[ReplayMessage, "ReplayGroup"]:
        """The conversation whose messages are received first; there is one."""
        heap = self._conversations
        while not self._is_current(heap[0]):
            heappop(heap)
        return heap[0][2]

    def _is_current(self, entry: Place) -> bool:
        _, since, conversation = entry
        return bool(conversation.messages) and conversation.group is self and conversation.since is since


class ReplayBacklog(Backlog[ReplayMessage, ReplayGroup]):
    """The ready messages of a queue, and the order of its groups.

    Attributes:
        free: groups with ready messages and without holders, as of the last count.
    """

    def __init__(self) -> None:
        """Begin without messages."""
        super().__init__(ReplayGroup)
        self.free = Turns()

    def arrive(
        self, message: ReplayMessage, endpoint: str, first_group: str, level: int
    ) -> Conversation[ReplayMessage, ReplayGroup]:
        """Add a ready message; its conversation is in its first group unless it has moved."""
        conversation = super().arrive(message, endpoint, first_group, level)
        if conversation.since is message.arrival:
            conversation.group.add_conversation(conversation)
        return conversation

    def find(self, endpoint: str, message_id: str) -> ReplayMessage | None:
        """The ready message of the endpoint that has the id."""
        conversation = self._conversations.get(endpoint)
        if conversation is None:
            return None
        return next((each for each in conversation.messages if each.arrival[2] == message_id), None)

    def lock(self, name: str) -> ReplayGroup:
        """Add a holder to the group."""
        group = self.group_of_name(name)
        self._hold(group, None)
        return group

    def unlock(self, group: ReplayGroup) -> None:
        """Remove a holder of the group."""
        self._release(group, None)

    def count(self) -> None:
        """Update `free` by the groups that have changed."""
        free = self.free
        for group in self.touched:
            first = None if group.holders else group.first()
            if first is None:
                if group.turns:
                    free.leave(group)
                if not group.ready and not group.holders:
                    self._forget(group)
            elif first is not group.turn:
                level = -first[0]
                if group.turns and level == group.level:
                    free.turn(group, first)
                    continue
                if group.turns:
                    free.leave(group)
                group.level = level
                free.enter(group, first)
        self.touched.clear()

    def take(self, top: int | None) -> tuple[ReplayGroup, list[ReplayMessage]]:
        """Lock the next group, and take the messages of a RECEIVE with TOP(top) from it, in order.

        All groups are counted, and at least one is free.
        """
        first = self.free.oldest(self.free.highest())
        assert first
        group: ReplayGroup = first[2].conversation.group
        self.free.leave(group)
        group.holders[None] = 1
        taken: list[ReplayMessage] = []
        count = group.ready if top is None else min(top, group.ready)
        while count:
            line = group.first_conversation().in_line()
            while count and line:
                message = heappop(line)[1]
                if message.ready:
                    taken.append(message)
                    self.remove(message)
                    count -= 1
        self.touched.clear()
        return group, taken

    def remaining(self) -> list[ReplayMessage]:
        """All ready messages, in no order."""
        return [message for each in self._conversations.values() for message in each.messages]

    def _join(self, conversation: Conversation[ReplayMessage, ReplayGroup], group: ReplayGroup) -> None:
        """Put a conversation into another group."""
        super()._join(conversation, group)
        group.add_conversation(conversation)
