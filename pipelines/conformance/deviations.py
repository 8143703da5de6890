"""Decisions that passed groups of a higher level, and statements that may have locked those groups."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.conformance.watched import WatchedGroup
from pipelines.queue_machine.groups import LAST

MANY = 1024
"""Names of groups are looked through for old ones once there are twice as many, and at least so many."""


@dataclass(slots=True)
class Deviation:
    """A decision that passed a group of a higher level; `kind` is its class."""

    at: int
    transaction_id: str | None
    conversation_group_id: str
    level: int
    best_level: int
    passed_groups: int
    witness_message_id: str
    kind: str = ""


@dataclass(eq=False, slots=True)
class _Pending:
    """A deviation, the passed groups that were not looked at yet, and the one that it waits for."""

    deviation: Deviation
    passed: Iterator[WatchedGroup]
    waits_for: str = ""


class Locks:
    """Statements lock the groups they name, which may be why a group was passed.

    A deviation waits until every passed group has had a statement within the tolerance, or time is up.

    Attributes:
        due: when the time of the next deviation is up; `LAST` if none waits.
    """

    def __init__(self, tolerance: int) -> None:
        """Begin without statements; `tolerance` is in microseconds."""
        self.due = LAST
        self._tolerance = tolerance
        self._last: dict[str, int] = {}
        """When a statement last named a group."""
        self._enough = MANY
        self._pending: deque[_Pending] = deque()
        self._wanted: dict[str, dict[_Pending, None]] = {}
        """By the name of the first group that has had no statement so far."""

    def statement(self, name: str, now: int) -> None:
        """A statement names the group."""
        last = self._last
        last[name] = now
        if name in self._wanted:
            for pending in self._wanted.pop(name):
                self._look(pending)
        if len(last) > self._enough:
            # A deviation may come to a passed group late, and one before it counts as one after it.
            old = now - 2 * self._tolerance
            self._last = {each: time for each, time in last.items() if time > old}
            self._enough = max(MANY, 2 * len(self._last))

    def explain(self, deviation: Deviation, passed: Iterator[WatchedGroup]) -> None:
        """Look for statements near it; `told` has it once it has its class."""
        pending = _Pending(deviation, passed)
        self._pending.append(pending)
        self.due = self._pending[0].deviation.at + self._tolerance
        self._look(pending)

    def told(self, now: int) -> list[Deviation]:
        """Deviations whose time is up, with their class."""
        found = []
        while self._pending and self._pending[0].deviation.at + self._tolerance <= now:
            pending = self._pending.popleft()
            if not pending.deviation.kind:
                pending.deviation.kind = "unexplained"
                waiting = self._wanted[pending.waits_for]
                del waiting[pending]
                if not waiting:
                    del self._wanted[pending.waits_for]
            found.append(pending.deviation)
        self.due = self._pending[0].deviation.at + self._tolerance if self._pending else LAST
        return found

    def _look(self, pending: _Pending) -> None:
        """Go on to the next passed group without a statement."""
        after = pending.deviation.at - self._tolerance
        for group in pending.passed:
            if self._last.get(group.name, after) <= after:
                pending.waits_for = group.name
                self._wanted.setdefault(group.name, {})[pending] = None
                return
        pending.deviation.kind = "other_lock"
