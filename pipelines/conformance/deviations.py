"""Decisions that passed groups of a higher level, and statements that can have locked those groups."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.conformance.groups import ConformanceGroup
from pipelines.queue_machine.groups import LAST

MANY = 1024
"""Old names of groups are removed once their number has doubled, and is at least this."""


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
    """A deviation, the passed groups that are not checked yet, and the name of the group it waits for."""

    deviation: Deviation
    passed: Iterator[ConformanceGroup]
    waits_for: str = ""


class Locks:
    """Statements lock the groups that they name, which can explain why a group was passed.

    A deviation waits until every passed group has had a statement within the tolerance, or until the
    tolerance is over.

    Attributes:
        due: when the wait of the next deviation is over; `LAST` if none waits.
    """

    def __init__(self, tolerance: int) -> None:
        """Begin without statements; `tolerance` is in microseconds."""
        self.due = LAST
        self._tolerance = tolerance
        self._last: dict[str, int] = {}
        """The last statement that named a group, by name."""
        self._tidy_above = MANY
        self._pending: deque[_Pending] = deque()
        self._waiting: dict[str, dict[_Pending, None]] = {}
        """Deviations by the name of the first group without a statement."""

    def add_statement(self, name: str, now: int) -> None:
        """Note a statement that names the group."""
        last = self._last
        last[name] = now
        if name in self._waiting:
            for pending in self._waiting.pop(name):
                self._check(pending)
        if len(last) > self._tidy_above:
            # A deviation can check a group late, and a statement before it counts as one after it.
            old = now - 2 * self._tolerance
            self._last = {each: time for each, time in last.items() if time > old}
            self._tidy_above = max(MANY, 2 * len(self._last))

    def explain(self, deviation: Deviation, passed: Iterator[ConformanceGroup]) -> None:
        """Look for statements near a deviation; `take_due` returns it with its class."""
        pending = _Pending(deviation, passed)
        self._pending.append(pending)
        self.due = self._pending[0].deviation.at + self._tolerance
        self._check(pending)

    def take_due(self, now: int) -> list[Deviation]:
        """Return the deviations whose wait is over, with their class."""
        due = []
        while self._pending and self._pending[0].deviation.at + self._tolerance <= now:
            pending = self._pending.popleft()
            if not pending.deviation.kind:
                pending.deviation.kind = "unexplained"
                waiting = self._waiting[pending.waits_for]
                del waiting[pending]
                if not waiting:
                    del self._waiting[pending.waits_for]
            due.append(pending.deviation)
        self.due = self._pending[0].deviation.at + self._tolerance if self._pending else LAST
        return due

    def _check(self, pending: _Pending) -> None:
        """Advance to the next passed group without a statement."""
        after = pending.deviation.at - self._tolerance
        for group in pending.passed:
            if self._last.get(group.name, after) <= after:
                pending.waits_for = group.name
                self._waiting.setdefault(group.name, {})[pending] = None
                return
        pending.deviation.kind = "other_lock"
