"""Decisions beside what was there: which groups each passed, and why.

A decision is what one transaction receives from one group at one moment. Source: our choice;
docs/conformance.md has the definitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import add

from pipelines.conformance.backlog import Dropped, Outcomes, WatchedBacklog
from pipelines.conformance.deviations import Deviation, Locks
from pipelines.conformance.standing import Pool
from pipelines.conformance.watched import WatchedGroup, WatchedMessage
from pipelines.queue_machine.groups import LEVELS, Entry

CLASSES = ("where_clause", "own_group", "logged_level", "timing", "other_lock", "unexplained")
COUNTS = (
    "decisions",
    "with_choice",
    "conforming",
    "passed",
    "passable",
    "ties",
    "ties_oldest_first",
    "lock_skipped",
    "partial",
    "within_group",
    "not_ready",
    *CLASSES,
)
OF_AN_HOUR = ("decisions", "with_choice", "conforming", "passed", "passable")
HOUR = 3_600_000_000


@dataclass(slots=True)
class Decision:
    """What a transaction received from a group at a moment.

    Attributes:
        messages: those that were there.
        dropped: those whose endpoint had ended before.
        has_where: its RECEIVE asked for a conversation or a group.
        names: a RECEIVE event names the group, and so locks it.
    """

    transaction: str | None
    group: str
    outcomes: Outcomes
    messages: list[WatchedMessage] = field(default_factory=list)
    dropped: tuple[Dropped, ...] = ()
    has_where: bool = False
    names: bool = False


class Judge:
    """Compares what was chosen with what was there, and counts.

    Attributes:
        counts: `COUNTS` of the decisions so far, but those of `OF_AN_HOUR`.
        hours: `OF_AN_HOUR` by hours since the epoch.
        blind: groups that a choice at random would pass, summed.
        deviations: those whose class is known; whoever feeds takes them away.
    """

    def __init__(self, backlog: WatchedBacklog, locks: Locks, tolerance: int) -> None:
        """Begin without decisions; `tolerance` is in microseconds."""
        self.counts = dict.fromkeys(COUNTS, 0)
        self.hours: dict[int, list[int]] = {}
        self.blind = 0.0
        self.deviations: list[Deviation] = []
        self._backlog, self._standing, self._locks = backlog, backlog.standing, locks
        self._tolerance = tolerance

    def decide(self, now: int, decision: Decision) -> None:
        """Compare a decision with the state before it."""
        group = self._backlog.group(decision.group)
        if group is None or not group.level:
            self._hour(now)[0] += 1
            self.counts["not_ready"] += 1
            return
        standing, level = self._standing, group.level
        free, own = standing.free, None
        if decision.transaction is not None and standing.own:
            own = standing.own.get(decision.transaction)
        there = free.counts if own is None else list(map(add, free.counts, own.counts))
        if group.turns is not free and (own is None or group.turns is not own):
            # Chosen though another transaction holds it.
            there = there.copy()
            there[level] += 1
        passed = sum(there[level + 1 :])
        if not decision.has_where:
            hour = self._hour(now)
            hour[0] += 1
            if len(there) - there.count(0) > 1:
                self._count(hour, there, passed)
            if there[level] > 1:
                self.counts["ties"] += 1
                self.counts["ties_oldest_first"] += self._is_oldest(group, own)
            if standing.all_held:
                held = sum(standing.held[level + 1 :]) - (sum(own.counts[level + 1 :]) if own else 0)
                self.counts["lock_skipped"] += held > 0
            self._within(decision, group)
        if passed:
            self._deviate(now, decision, group, passed, own)

    def tell(self, deviation: Deviation) -> None:
        """The class of a deviation is known."""
        self.counts[deviation.kind] += 1
        self.deviations.append(deviation)

    def finish(self) -> None:
        """Sum the hours up."""
        for figures in self.hours.values():
            for name, by in zip(OF_AN_HOUR, figures, strict=True):
                self.counts[name] += by

    def _hour(self, now: int) -> list[int]:
        hour = self.hours.get(now // HOUR)
        if hour is None:
            hour = self.hours[now // HOUR] = [0] * len(OF_AN_HOUR)
        return hour

    def _count(self, hour: list[int], there: list[int], passed: int) -> None:
        """Count what could be passed; groups of several levels are there."""
        higher = blind = passable = 0
        for groups in reversed(there):
            if groups:
                passable = higher
                blind += groups * higher
                higher += groups
        self.blind += blind / higher
        hour[1] += 1
        hour[4] += passable
        if passed:
            hour[3] += passed
        else:
            hour[2] += 1

    def _is_oldest(self, group: WatchedGroup, own: Pool | None) -> bool:
        """Whether no other group at its level that is there has an older message."""
        first = group.first()
        assert first is not None
        others = _firsts(group.level, self._standing.free, own)
        return all(first[1] <= other[1] for other in others)

    def _within(self, decision: Decision, group: WatchedGroup) -> None:
        """Whether it took all, and in the order of the group."""
        messages = decision.messages
        if (
            group.ready == 1 == len(messages)
            and messages[0].ready
            and messages[0].conversation.group is group
        ):
            return
        taken = {each for each in messages if each.ready and each.conversation.group is group}
        if len(taken) < group.ready:
            self.counts["partial"] += 1
            self.counts["within_group"] += group.count_before_left(taken) < len(taken)

    def _deviate(
        self, now: int, decision: Decision, group: WatchedGroup, passed: int, own: Pool | None
    ) -> None:
        level, transaction, free = group.level, decision.transaction, self._standing.free
        pools = (free,) if own is None else (own, free)
        best = max(pool.highest() for pool in pools)
        deviation = Deviation(
            at=now,
            transaction_id=transaction,
            conversation_group_id=group.name,
            level=level,
            best_level=best,
            passed_groups=passed,
            witness_message_id=min(first[1] for first in _firsts(best, *pools))[2],
        )
        if decision.has_where:
            deviation.kind = "where_clause"
        elif transaction is not None and transaction in group.holders:
            deviation.kind = "own_group"
        elif self._conforms_as_logged(group, pools):
            deviation.kind = "logged_level"
        elif all(self._came_now(pool, now, transaction, level) for pool in pools):
            deviation.kind = "timing"
        else:
            self._locks.explain(deviation, chain(*[pool.snapshot(level) for pool in pools]))
            return
        self.tell(deviation)

    def _conforms_as_logged(self, group: WatchedGroup, pools: tuple[Pool, ...]) -> bool:
        is_known = group.logged > 0 and not any(pool.logged[0] for pool in pools)
        return is_known and not any(sum(pool.logged[group.logged + 1 :]) for pool in pools)

    def _came_now(self, pool: Pool, now: int, transaction: str | None, level: int) -> bool:
        """Whether all groups above the level have been there for less than the tolerance."""
        before = now - self._tolerance
        for each in range(level + 1, LEVELS):
            if pool.counts[each] and pool.since(each) <= before:
                return False
        # Those that came from another level, or from one holder, may have been there for longer.
        return all(
            group.level <= level or group.free_since(transaction, level) > before for group in pool.changed
        )


def _firsts(level: int, *pools: Pool | None) -> Iterator[Entry]:
    """Of each pool the oldest message at the level in a group that is there."""
    for pool in pools:
        first = pool.oldest(level) if pool else None
        if first:
            yield first
