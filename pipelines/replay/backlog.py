"""The ready messages of one queue: which group is next, and what a RECEIVE takes of it."""

from heapq import heapify, heappop, heappush

from pipelines.queue_machine.backlog import Backlog
from pipelines.queue_machine.groups import SPARE, Arrival, Conversation, Group, Message
from pipelines.queue_machine.turns import Turns


class PlayedMessage(Message["PlayedGroup"]):
    """A message to be received.

    Attributes:
        service: the work on it in microseconds.
        estimated: whether that is no more than a guess.
    """

    __slots__ = ("estimated", "service")

    def __init__(
        self, arrival: Arrival, rank: int, sequence: int | None, service: int, *, estimated: bool
    ) -> None:
        super().__init__(arrival, rank, sequence)
        self.service, self.estimated = service, estimated


Place = tuple[int, Arrival, Conversation[PlayedMessage, "PlayedGroup"]]
"""A conversation among those of its group: its level, negated, and what `since` was as it took the place."""


class PlayedGroup(Group):
    """A group with ready messages, or locked."""

    __slots__ = ("_conversations",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._conversations: list[Place] = []

    def forget(self) -> None:
        """Nothing is known of it any more."""
        super().forget()
        self._conversations.clear()

    def stand_among(self, conversation: Conversation[PlayedMessage, "PlayedGroup"]) -> None:
        """A conversation with ready messages stands among the others.

        Conversations go by level, then by the oldest arrival since they last had no ready message. Source:
        the semantics page, "Orders"; the ties are our choice.
        """
        heap = self._conversations
        if len(heap) > 2 * self.ready + SPARE:
            heap[:] = {each[2]: each for each in heap if self._stands(each)}.values()
            heapify(heap)
        heappush(heap, (-conversation.level, conversation.since, conversation))

    def first_conversation(self) -> Conversation[PlayedMessage, "PlayedGroup"]:
        """The conversation whose messages are taken first; there is one."""
        heap = self._conversations
        while not self._stands(heap[0]):
            heappop(heap)
        return heap[0][2]

    def _stands(self, entry: Place) -> bool:
        _, since, conversation = entry
        return bool(conversation.messages) and conversation.group is self and conversation.since is since


class PlayedBacklog(Backlog[PlayedMessage, PlayedGroup]):
    """The ready messages of a queue, and whose turn it is.

    Attributes:
        free: groups with ready messages that nobody holds, as they were when last counted.
    """

    def __init__(self) -> None:
        """Begin without messages."""
        super().__init__(PlayedGroup)
        self.free = Turns()

    def arrive(
        self, message: PlayedMessage, side: str, first_group: str, level: int
    ) -> Conversation[PlayedMessage, PlayedGroup]:
        """A message becomes ready, in a conversation whose group is the first one unless it has moved."""
        conversation = super().arrive(message, side, first_group, level)
        if conversation.since is message.arrival:
            conversation.group.stand_among(conversation)
        return conversation

    def find(self, side: str, message_id: str) -> PlayedMessage | None:
        """The ready message of the endpoint that has the id."""
        conversation = self._conversations.get(side)
        if conversation is None:
            return None
        return next((each for each in conversation.messages if each.arrival[2] == message_id), None)

    def lock(self, name: str) -> PlayedGroup:
        """Somebody holds the group, perhaps as one of several."""
        group = self._groups.get(name) or self._begin(name)
        self._hold(group, None)
        return group

    def unlock(self, group: PlayedGroup) -> None:
        """One who held the group does so no more."""
        self._release(group, None)

    def count(self) -> None:
        """See which of the groups that have changed are free."""
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

    def take(self, top: int | None) -> tuple[PlayedGroup, list[PlayedMessage]]:
        """The group whose turn it is, now locked, and what a RECEIVE of TOP(top) takes of it, in order.

        All groups are counted, and one is free.
        """
        first = self.free.oldest(self.free.highest())
        assert first
        group: PlayedGroup = first[2].conversation.group
        self.free.leave(group)
        group.holders[None] = 1
        taken: list[PlayedMessage] = []
        left = group.ready if top is None else min(top, group.ready)
        while left:
            line = group.first_conversation().in_line()
            while left and line:
                message = heappop(line)[1]
                if message.ready:
                    taken.append(message)
                    self.remove(message)
                    left -= 1
        self.touched.clear()
        return group, taken

    def left(self) -> list[PlayedMessage]:
        """All that is ready, in no order."""
        return [message for each in self._conversations.values() for message in each.messages]

    def _join(self, conversation: Conversation[PlayedMessage, PlayedGroup], group: PlayedGroup) -> None:
        """A conversation comes to another group, and stands among those there."""
        super()._join(conversation, group)
        group.stand_among(conversation)
