"""What a queue holds: messages that arrive, stand in their groups, move with their conversations, and go."""

from collections.abc import Callable
from heapq import heappush
from typing import Generic

from pipelines.queue_machine.groups import SPARE, Conversation, G, M


class Backlog(Generic[M, G]):
    """The messages of a queue, and its groups. Memory is that of the messages that are there.

    It is told what happens. Whoever plays it says which groups are there for whom: `touched` has those that
    are to be looked at.

    Attributes:
        ready: how many messages are ready.
        touched: groups that have changed since they were last counted.
        moved: the groups of conversations that are not in their first one.
    """

    def __init__(self, new_group: Callable[[str], G]) -> None:
        """Begin without messages; `new_group` makes a group with a name."""
        self.ready = 0
        self.touched: dict[G, None] = {}
        self.moved: dict[str, str] = {}
        self._new_group = new_group
        self._groups: dict[str, G] = {}
        self._conversations: dict[str, Conversation[M, G]] = {}

    def group(self, name: str) -> G | None:
        """A group, if anything is known of it."""
        return self._groups.get(name)

    def arrive(self, message: M, side: str, first_group: str, level: int) -> Conversation[M, G]:
        """A message becomes ready, in a conversation whose group is the first one unless it has moved."""
        conversation = self._conversations.get(side)
        if conversation is None:
            name = self.moved.get(side, first_group) if self.moved else first_group
            group = self._groups.get(name) or self._begin(name)
            conversation = Conversation(side, level, group, message.arrival)
            self._conversations[side] = conversation
        elif message.arrival < conversation.since:
            conversation.since = message.arrival
        message.conversation = conversation
        conversation.messages[message] = None
        self._set_ready(message)
        return conversation

    def remove(self, message: M) -> None:
        """A message is in the queue no more."""
        if message.ready:
            self._unset_ready(message)
        conversation = message.conversation
        messages = conversation.messages
        del messages[message]
        if not messages:
            del self._conversations[conversation.side]
            conversation.line = None

    def end(self, side: str) -> list[M]:
        """The endpoint ends, and its messages are gone: they are returned."""
        conversation = self._conversations.get(side)
        if conversation is None:
            return []
        gone = list(conversation.messages)
        for message in gone:
            self.remove(message)
        return gone

    def move(self, side: str, name: str) -> None:
        """The conversation goes to another group, with its messages."""
        self.moved[side] = name
        conversation = self._conversations.get(side)
        if conversation is None or conversation.group.name == name:
            return
        ready = [message for message in conversation.messages if message.ready]
        for message in ready:
            self._unset_ready(message)
        self._join(conversation, self._groups.get(name) or self._begin(name))
        for message in ready:
            self._set_ready(message)

    def _join(self, conversation: Conversation[M, G], group: G) -> None:
        """A conversation none of whose messages is ready comes to another group."""
        conversation.group = group

    def _set_ready(self, message: M) -> None:
        conversation = message.conversation
        group = conversation.group
        message.ready = True
        self.ready += 1
        group.ready += 1
        oldest = group.oldest
        if len(oldest) > 2 * group.ready + SPARE:
            group.tidy()
        heappush(oldest, (-conversation.level, message.arrival, message))
        if conversation.line is not None:
            conversation.stand_in_line(message)
        self.touched[group] = None

    def _unset_ready(self, message: M) -> None:
        group = message.conversation.group
        message.ready = False
        self.ready -= 1
        group.ready -= 1
        self.touched[group] = None

    def _begin(self, name: str) -> G:
        group = self._groups[name] = self._new_group(name)
        return group

    def _hold(self, group: G, owner: str | None) -> None:
        """Somebody holds the group, perhaps once more."""
        group.holders[owner] = group.holders.get(owner, 0) + 1
        self.touched[group] = None

    def _release(self, group: G, owner: str | None) -> None:
        """Somebody holds the group once less."""
        holders = group.holders
        holders[owner] -= 1
        if not holders[owner]:
            del holders[owner]
        self.touched[group] = None

    def _forget(self, group: G) -> None:
        """The group has no messages and no holders."""
        del self._groups[group.name]
        group.forget()
