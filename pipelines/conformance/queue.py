"""One queue as the log tells it: what each receive chose from, and what it passed.

Feed it what happened in order; it says of every decision whether a group of a higher level was there. All
times are whole microseconds since the epoch. Source: our choice; docs/conformance.md has the definitions.
"""

from pipelines.conformance.backlog import NO_OUTCOME, Outcomes, WatchedBacklog
from pipelines.conformance.decisions import Decision, Judge
from pipelines.conformance.deviations import Locks
from pipelines.conformance.event_codes import ARRIVAL, GET_GROUP, GONE, MOVE, RECEIVE, STATEMENT, TAKEN
from pipelines.conformance.watched import WatchedMessage
from pipelines.queue_machine.groups import LAST, arrival_of
from pipelines.state.timeline_rows import BITS, KIND


class Queue:
    """A queue; feed it everything in order, then finish it.

    Attributes:
        judge: what was found so far; its counts are whole once it is finished.
    """

    def __init__(self, *, start: int, tolerance: int, every_receive_counts: bool) -> None:
        """Begin without messages.

        Args:
            start: decisions before it are played and not counted.
            tolerance: in microseconds.
            every_receive_counts: without any queue events a RECEIVED counts as committed.
        """
        self._backlog = WatchedBacklog(tolerance, every_receive_counts=every_receive_counts)
        self._locks = Locks(tolerance)
        self.judge = Judge(self._backlog, self._locks, tolerance)
        self._start = start
        self._now = -LAST
        self._place = -LAST
        self._takes: dict[tuple[str | None, str], Decision] = {}
        self._receives: list[tuple[str | None, str | None, bool, Outcomes]] = []

    def feed(
        self,
        places: list[int],
        message_ids: list[str],
        sides: list[str],
        groups: list[str],
        transactions: list[str | None],
        arrived: list[int],
        queuing_orders: list[int | None],
        levels: list[int | None],
        logged: list[int | None],
        ranks: list[int],
        sequences: list[int | None],
        wheres: list[bool | None],
        committed: list[int | None],
        rolled_back: list[int | None],
        outside: list[bool],
    ) -> None:
        """Play what happened; see `pipelines.conformance.timeline`.

        Raises:
            RuntimeError: the engine did not keep the order.
        """
        backlog, locks, takes, receives = self._backlog, self._locks, self._takes, self._receives
        there, dropped = backlog.messages, backlog.dropped
        moved, touched = backlog.moved, backlog.touched
        last, now = self._place, self._now
        for row, place in enumerate(places):
            if place < last:
                raise RuntimeError("the engine did not keep the order of what happened on a queue")
            last = place
            time, kind = place >> BITS, place & KIND
            if time != now:
                if takes or receives or backlog.next_outcome <= now:
                    self._end_instant(now)
                elif touched:
                    backlog.count(now)
                if backlog.next_outcome < time or locks.due <= time:
                    self._pass_time(time)
                now = time
            name = groups[row]
            if kind == STATEMENT:
                locks.statement(moved.get(sides[row], name) if moved else name, now)
            elif kind == TAKEN:
                transaction, first_group = transactions[row], name
                name = moved.get(sides[row], name) if moved else name
                decision = takes.get((transaction, name))
                if decision is None:
                    outcomes = (committed[row], rolled_back[row])
                    decision = takes[transaction, name] = Decision(transaction, name, outcomes)
                message = there.get(message_ids[row])
                if message is not None:
                    decision.messages.append(message)
                elif message_ids[row] in dropped:
                    decision.dropped += ((message_ids[row], sides[row], first_group),)
                elif outside[row]:
                    backlog.take_early(message_ids[row], transaction, decision.outcomes)
            elif kind == ARRIVAL:
                if outside[row]:
                    backlog.come_late(now, message_ids[row], sides[row], name)
                    continue
                arrival = arrival_of(arrived[row], queuing_orders[row], message_ids[row])
                message = WatchedMessage(arrival, ranks[row], sequences[row], logged[row] or 0)
                backlog.come(now, message, sides[row], name, levels[row] or 0)
            elif kind == RECEIVE:
                outcomes = (committed[row], rolled_back[row])
                receives.append((transactions[row], name, wheres[row] or False, outcomes))
            elif kind == GET_GROUP:
                backlog.name(now, transactions[row], name, (committed[row], rolled_back[row]))
            elif kind == GONE:
                message = there.get(message_ids[row])
                if message is not None:
                    backlog.take(now, (message,), None, NO_OUTCOME)
                elif outside[row]:
                    backlog.take_early(message_ids[row], None, NO_OUTCOME)
                else:
                    dropped.discard(message_ids[row])
            else:
                self._change(kind, now, sides[row], name)
        self._place, self._now = last, now

    def finish(self) -> None:
        """Nothing happens any more."""
        self._end_instant(self._now)
        self._pass_time(LAST)
        self.judge.finish()

    def _change(self, kind: int, now: int, side: str, group: str) -> None:
        """An endpoint ends, or moves to a group: statements that lock its group as it is then."""
        if kind == MOVE:
            self._backlog.move(side, group)
        else:
            self._backlog.end(side)
        self._locks.statement(self._backlog.moved.get(side, group), now)

    def _pass_time(self, time: int) -> None:
        """Play what ends before the moment, and tell what nothing from then on explains."""
        backlog = self._backlog
        while backlog.next_outcome < time:
            now = backlog.next_outcome
            backlog.end_transactions(now)
            backlog.count(now)
        for deviation in self._locks.told(time):
            self.judge.tell(deviation)

    def _end_instant(self, now: int) -> None:
        """Everything of the instant is known: play its decisions."""
        backlog, takes = self._backlog, self._takes
        if backlog.next_outcome <= now:
            backlog.end_transactions(now)
        if self._receives:
            self._read_receives(now)
        if backlog.touched:
            backlog.count(now)
        if not takes:
            return
        decisions = list(takes.values())
        takes.clear()
        if len(decisions) > 1:
            decisions.sort(
                key=lambda each: (
                    -self._level_of(each.group),
                    each.group,
                    each.transaction is not None,
                    each.transaction or "",
                )
            )
        for decision in decisions:
            if now >= self._start:
                self.judge.decide(now, decision)
            backlog.take(now, decision.messages, decision.transaction, decision.outcomes)
            for message in decision.dropped:
                backlog.take_dropped(now, message, decision.transaction, decision.outcomes)
            if decision.names:
                backlog.name(now, decision.transaction, decision.group, decision.outcomes)
            backlog.count(now)

    def _read_receives(self, now: int) -> None:
        """RECEIVE events are part of the decisions of their transaction, or lock what they name."""
        with_where: set[str | None] = set()
        for transaction, name, has_where, outcomes in self._receives:
            if name is None:
                if has_where:
                    with_where.add(transaction)
                continue
            decision = self._takes.get((transaction, name))
            if decision is None:
                self._backlog.name(now, transaction, name, outcomes)
            else:
                decision.names = True
                decision.has_where = decision.has_where or has_where
        if with_where:
            for decision in self._takes.values():
                decision.has_where = decision.has_where or decision.transaction in with_where
        self._receives.clear()

    def _level_of(self, name: str) -> int:
        group = self._backlog.group(name)
        return group.level if group else 0
