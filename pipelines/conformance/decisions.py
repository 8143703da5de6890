"""Decisions compared with the available groups: the groups that each decision passed, and the reasons.

A decision is the receipt of messages of one group by one transaction at one moment; docs/conformance.md has
the definitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import add

from pipelines.conformance.backlog import ConformanceBacklog, Dropped, Outcomes
from pipelines.conformance.deviations import Deviation, Locks
from pipelines.conformance.groups import ConformanceGroup, ConformanceMessage, Pool
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
HOURLY = ("decisions", "with_choice", "conforming", "passed", "passable")
HOUR = 3_600_000_000


@dataclass(slots=True)
class Decision:
    """A transaction receives messages of a group at a moment.

    Attributes:
        messages: the received messages that were in the queue.
        dropped: received messages whose endpoint had ended before.
        has_where: whether its RECEIVE has a WHERE.
        names_group: whether a RECEIVE event names the group, and so locks it.
    """

    transaction: str | None
    group: str
    outcomes: Outcomes
    messages: list[ConformanceMessage] = field(default_factory=list)
    dropped: tuple[Dropped, ...] = ()
    has_where: bool = False
    names_group: bool = False


class Evaluator:
    """Compares decisions with the groups that were available, and counts.

    Attributes:
        counts: `COUNTS` of the decisions so far, without those of `HOURLY`.
        hours: `HOURLY` by hours since the epoch.
        blind: the number of groups that random choices would pass.
        deviations: deviations whose class is known. The caller removes them.
    """

    def __init__(self, backlog: ConformanceBacklog, locks: Locks, tolerance: int) -> None:
        """Begin without decisions; `tolerance` is in microseconds."""
        self.counts = dict.fromkeys(COUNTS, 0)
        self.hours: dict[int, list[int]] = {}
        self.blind = 0.0
        self.deviations: list[Deviation] = []
        self._backlog, self._groups, self._locks = backlog, backlog.groups_by_level, locks
        self._tolerance = tolerance

    def evaluate(self, now: int, decision: Decision) -> None:
        """Compare a decision with the state before it."""
        group = self._backlog.group(decision.group)
        if group is None or not group.level:
            self._hour(now)[0] += 1
            self.counts["not_ready"] += 1
            return
        groups, level = self._groups, group.level
        free, own = groups.free, None
        if decision.transaction is not None and groups.own:
            own = groups.own.get(decision.transaction)
        available = free.counts if own is None else list(map(add, free.counts, own.counts))
        if group.turns is not free and (own is None or group.turns is not own):
            # It was chosen although another transaction holds it.
            available = available.copy()
            available[level] += 1
        passed = sum(available[level + 1 :])
        if not decision.has_where:
            hour = self._hour(now)
            hour[0] += 1
            if len(available) - available.count(0) > 1:
                self._count_choice(hour, available, passed)
            if available[level] > 1:
                self.counts["ties"] += 1
                self.counts["ties_oldest_first"] += self._is_oldest(group, own)
            if groups.all_held:
                held = sum(groups.held[level + 1 :]) - (sum(own.counts[level + 1 :]) if own else 0)
                self.counts["lock_skipped"] += held > 0
            self._count_within_group(decision, group)
        if passed:
            self._add_or_explain(now, decision, group, passed, own)

    def add_deviation(self, deviation: Deviation) -> None:
        """Add a deviation whose class is known."""
        self.counts[deviation.kind] += 1
        self.deviations.append(deviation)

    def finish(self) -> None:
        """Add the sums of the hours to `counts`."""
        for figures in self.hours.values():
            for name, by in zip(HOURLY, figures, strict=True):
                self.counts[name] += by

    def _hour(self, now: int) -> list[int]:
        hour = self.hours.get(now // HOUR)
        if hour is None:
            hour = self.hours[now // HOUR] = [0] * len(HOURLY)
        return hour

    def _count_choice(self, hour: list[int], available: list[int], passed: int) -> None:
        """Count the groups that could be passed; groups of several levels are available."""
        higher = blind = passable = 0
        for groups in reversed(available):
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

    def _is_oldest(self, group: ConformanceGroup, own: Pool | None) -> bool:
        """Whether no other available group of its level has an older message."""
        first = group.first()
        assert first is not None
        others = _firsts(group.level, self._groups.free, own)
        return all(first[1] <= other[1] for other in others)

    def _count_within_group(self, decision: Decision, group: ConformanceGroup) -> None:
        """Count decisions that took a part of the group, and those that broke the order of the group."""
        messages = decision.messages
        if (
            group.ready == 1 == len(messages)
            and messages[0].ready
            and messages[0].conversation.group is group
        ):
            return
        received = {each for each in messages if each.ready and each.conversation.group is group}
        if len(received) < group.ready:
            self.counts["partial"] += 1
            self.counts["within_group"] += group.count_in_order(received) < len(received)

    def _add_or_explain(
        self, now: int, decision: Decision, group: ConformanceGroup, passed: int, own: Pool | None
    ) -> None:
        level, transaction, free = group.level, decision.transaction, self._groups.free
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
        elif all(self._are_recent(pool, now, transaction, level) for pool in pools):
            deviation.kind = "timing"
        else:
            self._locks.explain(deviation, chain(*[pool.snapshot(level) for pool in pools]))
            return
        self.add_deviation(deviation)

    def _conforms_as_logged(self, group: ConformanceGroup, pools: tuple[Pool, ...]) -> bool:
        is_known = group.logged > 0 and not any(pool.logged[0] for pool in pools)
        return is_known and not any(sum(pool.logged[group.logged + 1 :]) for pool in pools)

    def _are_recent(self, pool: Pool, now: int, transaction: str | None, level: int) -> bool:
        """Whether all groups of the pool above the level have been available for less than the tolerance."""
        before = now - self._tolerance
        for each in range(level + 1, LEVELS):
            if pool.counts[each] and pool.since(each) <= before:
                return False
        # Groups that came from another level, or from one holder, can have been available for longer.
        return all(
            group.level <= level or group.free_since(transaction, level) > before for group in pool.changed
        )


def _firsts(level: int, *pools: Pool | None) -> Iterator[Entry]:
    """The oldest message at the level of each pool that has one."""
    for pool in pools:
        first = pool.oldest(level) if pool else None
        if first:
            yield first
