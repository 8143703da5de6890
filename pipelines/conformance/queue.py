"""One queue of the log: for each decision, the groups that were available and the groups that it passed.

All times are whole microseconds since the epoch; docs/conformance.md has the definitions.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.conformance.backlog import NO_OUTCOME, ConformanceBacklog, Outcomes
from pipelines.conformance.decisions import COUNTS, HOURLY, Decision, Evaluator
from pipelines.conformance.deviations import Locks
from pipelines.conformance.groups import ConformanceMessage
from pipelines.conformance.timeline import ARRIVAL, GET_GROUP, GONE, MOVE, RECEIVE, RECEIVED, STATEMENT
from pipelines.queue_machine.groups import LAST, arrival_of
from pipelines.queue_machine.workers import BITS, KIND, Columns

DEVIATION = {
    "at": "bigint",
    "transaction_id": "string",
    "conversation_group_id": "string",
    "level": "int",
    "best_level": "int",
    "passed_groups": "bigint",
    "class": "string",
    "witness_message_id": "string",
}
"""The columns of `conformance_deviations`; null in other rows."""
RESULTS = {**DEVIATION, "hour": "bigint", **dict.fromkeys(COUNTS, "bigint"), "blind": "double"}
"""The results of a queue: a row per deviation, with `at`; one per `hour` since the epoch, with `HOURLY`; and
one with its totals."""


class Queue:
    """Plays a queue: play all events in order, then finish.

    Attributes:
        evaluator: the results so far; its counts are complete after `finish`.
    """

    def __init__(self, *, start: int, tolerance: int, has_queue_events: bool) -> None:
        """Begin without messages.

        Args:
            start: earlier decisions are played and not counted.
            tolerance: in microseconds.
            has_queue_events: see `pipelines.state.ledger.Ledger`.
        """
        self._backlog = ConformanceBacklog(tolerance, has_queue_events=has_queue_events)
        self._locks = Locks(tolerance)
        self.evaluator = Evaluator(self._backlog, self._locks, tolerance)
        self._start = start
        self._now = -LAST
        self._decisions: dict[tuple[str | None, str], Decision] = {}
        self._receives: list[tuple[str | None, str | None, bool, Outcomes]] = []

    def play(self, columns: Sequence[list[Any]]) -> None:
        """Play the next events: the columns of `pipelines.conformance.timeline`, from position on."""
        backlog, locks, decisions, receives = self._backlog, self._locks, self._decisions, self._receives
        messages, dropped = backlog.messages, backlog.dropped
        moved, touched = backlog.moved, backlog.touched
        now = self._now
        for (
            position,
            message_id,
            endpoint,
            name,
            transaction,
            arrived,
            queuing_order,
            level,
            logged,
            rank,
            sequence,
            has_where,
            committed,
            rolled_back,
            is_outside,
        ) in zip(*columns, strict=True):
            time, kind = position >> BITS, position & KIND
            if time != now:
                if decisions or receives or backlog.next_outcome <= now:
                    self._end_instant(now)
                elif touched:
                    backlog.count(now)
                if backlog.next_outcome < time or locks.due <= time:
                    self._pass_time(time)
                now = time
            if kind == STATEMENT:
                locks.add_statement(moved.get(endpoint, name) if moved else name, now)
            elif kind == RECEIVED:
                group = moved.get(endpoint, name) if moved else name
                decision = decisions.get((transaction, group))
                if decision is None:
                    decision = Decision(transaction, group, (committed, rolled_back))
                    decisions[transaction, group] = decision
                message = messages.get(message_id)
                if message is not None:
                    decision.messages.append(message)
                elif message_id in dropped:
                    decision.dropped += ((message_id, endpoint, name),)
                elif is_outside:
                    backlog.receive_early(message_id, transaction, decision.outcomes)
            elif kind == ARRIVAL:
                if is_outside:
                    backlog.add_ended(now, message_id, endpoint, name)
                    continue
                arrival = arrival_of(arrived, queuing_order, message_id)
                message = ConformanceMessage(arrival, rank, sequence, logged or 0)
                backlog.add(now, message, endpoint, name, level or 0)
            elif kind == RECEIVE:
                receives.append((transaction, name, has_where or False, (committed, rolled_back)))
            elif kind == GET_GROUP:
                backlog.lock_named(now, transaction, name, (committed, rolled_back))
            elif kind == GONE:
                message = messages.get(message_id)
                if message is not None:
                    backlog.receive(now, (message,), None, NO_OUTCOME)
                elif is_outside:
                    backlog.receive_early(message_id, None, NO_OUTCOME)
                else:
                    dropped.discard(message_id)
            else:
                self._end_or_move(kind, now, endpoint, name)
        self._now = now

    def finish(self) -> None:
        """Play what is left after the last event."""
        self._end_instant(self._now)
        self._pass_time(LAST)
        self.evaluator.finish()

    def play_batch(self, columns: Sequence[list[Any]], *, is_last: bool) -> Iterator[Columns]:
        """Play the next events; give the deviations since, and at the end the hours and the totals."""
        self.play(columns)
        if is_last:
            self.finish()
        evaluator = self.evaluator
        if rows := evaluator.deviations:
            attributes = {name: "kind" if name == "class" else name for name in DEVIATION}
            yield {name: [getattr(row, of) for row in rows] for name, of in attributes.items()}
            rows.clear()
        if is_last:
            sums = zip(*evaluator.hours.values(), strict=True)
            yield {"hour": list(evaluator.hours), **dict(zip(HOURLY, sums, strict=False))}
            totals = {name: [count] for name, count in evaluator.counts.items()}
            yield {**totals, "blind": [evaluator.blind]}

    def _end_or_move(self, kind: int, now: int, endpoint: str, group: str) -> None:
        """End or move an endpoint: both are statements that lock its group."""
        if kind == MOVE:
            self._backlog.move(endpoint, group)
        else:
            self._backlog.end(endpoint)
        self._locks.add_statement(self._backlog.moved.get(endpoint, group), now)

    def _pass_time(self, time: int) -> None:
        """Play the outcomes before the moment, and add the deviations that nothing later can explain."""
        backlog = self._backlog
        while backlog.next_outcome < time:
            now = backlog.next_outcome
            backlog.end_transactions(now)
            backlog.count(now)
        for deviation in self._locks.take_due(time):
            self.evaluator.add_deviation(deviation)

    def _end_instant(self, now: int) -> None:
        """Play the decisions of an instant, once all of its events are known."""
        backlog, of_instant = self._backlog, self._decisions
        if backlog.next_outcome <= now:
            backlog.end_transactions(now)
        if self._receives:
            self._read_receives(now)
        if backlog.touched:
            backlog.count(now)
        if not of_instant:
            return
        decisions = list(of_instant.values())
        of_instant.clear()
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
                self.evaluator.evaluate(now, decision)
            backlog.receive(now, decision.messages, decision.transaction, decision.outcomes)
            for message in decision.dropped:
                backlog.receive_dropped(now, message, decision.transaction, decision.outcomes)
            if decision.names_group:
                backlog.lock_named(now, decision.transaction, decision.group, decision.outcomes)
            backlog.count(now)

    def _read_receives(self, now: int) -> None:
        """Join RECEIVE events with decisions of their transaction; others lock the groups that they name."""
        with_where: set[str | None] = set()
        for transaction, name, has_where, outcomes in self._receives:
            if name is None:
                if has_where:
                    with_where.add(transaction)
                continue
            decision = self._decisions.get((transaction, name))
            if decision is None:
                self._backlog.lock_named(now, transaction, name, outcomes)
            else:
                decision.names_group = True
                decision.has_where = decision.has_where or has_where
        if with_where:
            for decision in self._decisions.values():
                decision.has_where = decision.has_where or decision.transaction in with_where
        self._receives.clear()

    def _level_of(self, name: str) -> int:
        group = self._backlog.group(name)
        return group.level if group else 0
