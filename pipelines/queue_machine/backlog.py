"""The messages of a queue: they arrive, wait in their groups, move with their conversations, and leave."""

from collections.abc import Callable
from heapq import heappush
from typing import Generic

from pipelines.queue_machine.groups import SPARE, Conversation, G, M


class Backlog(Generic[M, G]):
    """The messages of a queue, and their groups; memory grows with the messages in the queue.

    Subclasses decide which groups a reader can receive: `touched` has the groups to look at.

    Attributes:
        ready: the number of ready messages.
        touched: groups that have changed since they were last counted.
        moved: the groups of conversations that are not in their first group.
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
        """The group, if it has messages or a holder."""
        return self._groups.get(name)

    def group_of_name(self, name: str) -> G:
        """The group; a new one if it has no messages and no holder."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = self._new_group(name)
        return group

    def arrive(self, message: M, endpoint: str, first_group: str, level: int) -> Conversation[M, G]:
        """Add a ready message; its conversation is in its first group unless it has moved."""
        conversation = self._conversations.get(endpoint)
        if conversation is None:
            name = self.moved.get(endpoint, first_group) if self.moved else first_group
            conversation = Conversation(endpoint, level, self.group_of_name(name), message.arrival)
            self._conversations[endpoint] = conversation
        elif message.arrival < conversation.since:
            conversation.since = message.arrival
        message.conversation = conversation
        conversation.messages[message] = None
        self._set_ready(message)
        return conversation

    def remove(self, message: M) -> None:
        """Remove a message from the queue."""
        if message.ready:
            self._unset_ready(message)
        conversation = message.conversation
        messages = conversation.messages
        del messages[message]
        if not messages:
            del self._conversations[conversation.endpoint]
            conversation.line = None

    def end(self, endpoint: str) -> list[M]:
        """End an endpoint: remove its messages, and return them."""
        conversation = self._conversations.get(endpoint)
        if conversation is None:
            return []
        removed = list(conversation.messages)
        for message in removed:
            self.remove(message)
        return removed

    def move(self, endpoint: str, name: str) -> None:
        """Move a conversation with its messages to another group."""
        self.moved[endpoint] = name
        conversation = self._conversations.get(endpoint)
        if conversation is None or conversation.group.name == name:
            return
        ready = [message for message in conversation.messages if message.ready]
        for message in ready:
            self._unset_ready(message)
        self._join(conversation, self.group_of_name(name))
        for message in ready:
            self._set_ready(message)

    def _join(self, conversation: Conversation[M, G], group: G) -> None:
        """Put a conversation without ready messages into another group."""
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
            conversation.enter_line(message)
        self.touched[group] = None

    def _unset_ready(self, message: M) -> None:
        group = message.conversation.group
        message.ready = False
        self.ready -= 1
        group.ready -= 1
        self.touched[group] = None

    def _hold(self, group: G, holder: str | None) -> None:
        """Count one more hold of a holder on the group."""
        group.holders[holder] = group.holders.get(holder, 0) + 1
        self.touched[group] = None

    def _release(self, group: G, holder: str | None) -> None:
        """Count one hold less."""
        holders = group.holders
        holders[holder] -= 1
        if not holders[holder]:
            del holders[holder]
        self.touched[group] = None

    def _forget(self, group: G) -> None:
        """Drop a group without messages and holders."""
        del self._groups[group.name]
        group.forget()
