"""Decisions that passed groups of a higher level, and statements that may have locked those groups."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.conformance.groups import Group


@dataclass
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


@dataclass(eq=False)
class _Pending:
    deviation: Deviation
    passed: Sequence[Group]
    looked_at: int = 0


class Locks:
    """Statements lock the groups they name, which may be why a group was passed.

    A deviation waits until every passed group has had a statement within the tolerance, or time is up.
    """

    def __init__(self, tolerance: int) -> None:
        """Begin without statements; `tolerance` is in microseconds."""
        self._tolerance = tolerance
        self._statements: deque[tuple[int, str]] = deque()
        self._last: dict[str, int] = {}
        self._pending: deque[_Pending] = deque()
        self._wanted: dict[str, dict[_Pending, None]] = {}
        """By the name of the first group that has had no statement so far."""

    def statement(self, name: str, now: int) -> None:
        """A statement names the group."""
        self._statements.append((now, name))
        self._last[name] = now
        for pending in self._wanted.pop(name, ()):
            self._look(pending)

    def explain(self, deviation: Deviation, passed: Sequence[Group]) -> None:
        """Look for statements near it; `forget` tells it once it has its class."""
        pending = _Pending(deviation, passed)
        self._pending.append(pending)
        self._look(pending)

    def forget(self, now: int | None) -> list[Deviation]:
        """What is further away than the tolerance explains nothing any more: deviations with their class.

        Args:
            now: None if nothing happens any more.
        """
        told = []
        while self._pending and (now is None or self._pending[0].deviation.at + self._tolerance <= now):
            pending = self._pending.popleft()
            if not pending.deviation.kind:
                pending.deviation.kind = "unexplained"
                name = pending.passed[pending.looked_at].name
                del self._wanted[name][pending]
                if not self._wanted[name]:
                    del self._wanted[name]
            told.append(pending.deviation)
        # A deviation may come to a passed group late, and one before it counts as one after it.
        while self._statements and now is not None and self._statements[0][0] + 2 * self._tolerance <= now:
            time, name = self._statements.popleft()
            if self._last.get(name) == time:
                del self._last[name]
        return told

    def _look(self, pending: _Pending) -> None:
        """Go on to the next passed group without a statement."""
        passed, last = pending.passed, self._last
        after = pending.deviation.at - self._tolerance
        while pending.looked_at < len(passed):
            name = passed[pending.looked_at].name
            if name not in last or last[name] <= after:
                self._wanted.setdefault(name, {})[pending] = None
                return
            pending.looked_at += 1
        pending.deviation.kind = "other_lock"
