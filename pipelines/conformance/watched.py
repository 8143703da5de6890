"""Groups and messages of a queue that is watched: what is known of them beside where they stand."""

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from pipelines.queue_machine.groups import Arrival, Conversation, Entry, Group, Message

if TYPE_CHECKING:
    from pipelines.conformance.standing import Stay


class WatchedMessage(Message["WatchedGroup"]):
    """A message that is ready or in flight.

    Attributes:
        logged: the level that the server logged for its endpoint; 0 where it is not known.
        is_there: whether it is in the queue, ready or in flight.
        has_ended: its endpoint has ended. It locks its group while it is in flight, and is never ready.
        takers: open transactions that have received it.
    """

    __slots__ = ("has_ended", "is_there", "logged", "takers")

    def __init__(
        self, arrival: Arrival, rank: int, sequence: int | None, logged: int, *, has_ended: bool = False
    ) -> None:
        super().__init__(arrival, rank, sequence)
        self.logged, self.is_there, self.has_ended = logged, True, has_ended
        self.takers: tuple[str, ...] = ()


class WatchedGroup(Group):
    """A group, and how it was.

    Attributes:
        logged: the highest level that the server logged of a ready message, as it was when last counted; 0
            where one is not known.
        changes: (since, level, who alone holds it, if anybody), the latest last: how it was at the end of
            each instant, as far as the tolerance looks back and it was there for anybody. Level 0: it was
            there for nobody.
        stay: its stay where it is there now; see `standing`.
        logs: ready messages by the level that the server logged.
    """

    __slots__ = ("changes", "logged", "logs", "stay")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.logged = 0
        self.changes: list[tuple[int, int, str | None]] = []
        self.stay: Stay | None = None
        self.logs: dict[int, int] = {}

    def forget(self) -> None:
        """Nothing is known of it any more."""
        super().forget()
        self.stay = None

    def logged_level(self) -> int:
        """The highest level that the server logged of a ready message; 0 where one is not known."""
        return 0 if 0 in self.logs else max(self.logs)

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

    def count_before_left(self, taken: set[WatchedMessage]) -> int:
        """Of the ready messages taken, those that stand before all ready ones that are left; some are."""
        before: dict[WatchedMessage, None] = {}
        passed: list[Entry] = []
        emptied: set[Conversation[WatchedMessage, WatchedGroup]] = set()
        while True:
            first = self.first()
            assert first is not None
            conversation = first[2].conversation
            if conversation in emptied:
                passed.append(heappop(self.oldest))
                continue
            line = conversation.in_line()
            while line and (not line[0][1].ready or line[0][1] in taken):
                message = heappop(line)[1]
                if message.ready:
                    before[message] = None
            if line:
                break
            emptied.add(conversation)
        for entry in passed:
            heappush(self.oldest, entry)
        for message in before:
            heappush(message.conversation.in_line(), (message.order, message))
        return len(before)
