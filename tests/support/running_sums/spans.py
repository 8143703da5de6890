"""Since when and until when messages are ready, and groups are held: what happened on a queue as intervals.

An interval has its first position and not its last; see `facts.position_of`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.conformance import event_codes as codes

from .facts import Array, Facts, Flags, expand, found, position_of


class Members:
    """Which groups conversations belong to: their first one, until they move.

    What happens at the instant of a move happens in the new group.
    """

    def __init__(self, moves: Facts) -> None:
        """Begin with the moves of a queue."""
        order = np.lexsort((moves.time, moves.endpoint))
        self._endpoint, self._time, self._group = moves.endpoint[order], moves.time[order], moves.group[order]
        self._instants = moves.never + 1
        self._keys = self._endpoint * self._instants + self._time

    def groups_at(self, rows: Facts) -> Array:
        """The groups of rows whose `group` is the first one of their conversation."""
        if not len(self._keys):
            return rows.group
        last = np.searchsorted(self._keys, rows.endpoint * self._instants + rows.time, side="right") - 1
        has_moved = (last >= 0) & (self._endpoint[last] == rows.endpoint)
        return np.where(has_moved, self._group[last], rows.group)

    def cut(self, endpoint: Array, spans: "Spans") -> "Spans":
        """Intervals of conversations, in their first group, as intervals of the groups they belong to."""
        if not len(self._keys):
            return spans
        first, end = (np.searchsorted(self._endpoint, endpoint, side=which) for which in ("left", "right"))
        row, nth = expand(end - first + 1)
        # Before the first move, between two, and after the last one.
        move = first[row] + nth - 1
        is_first, is_last = nth == 0, move + 1 == end[row]
        times = position_of(np.append(self._time, self._instants - 1))
        cut = spans.rows(row)
        begins = np.where(is_first, cut.begins, np.maximum(cut.begins, times[move]))
        ends = np.where(is_last, cut.ends, np.minimum(cut.ends, times[move + 1]))
        group = np.where(is_first, cut.group, np.append(self._group, -1)[move])
        return Spans(group, cut.what, begins, ends).rows(begins < ends)


@dataclass(frozen=True)
class Spans:
    """Intervals in groups; `what` is the level of a ready message, or the transaction that holds it."""

    group: Array
    what: Array
    begins: Array
    ends: Array

    def rows(self, chosen: Array | Flags) -> "Spans":
        """Some of them."""
        return Spans(self.group[chosen], self.what[chosen], self.begins[chosen], self.ends[chosen])


@dataclass(frozen=True)
class Decisions:
    """Distinct (time, transaction, group) of the messages taken, in this order.

    Attributes:
        has_where: a RECEIVE event that is part of it has WHERE.
        number: its position among those of its instant, from 1.
        of_taken: which decision each message taken belongs to.
    """

    time: Array
    transaction: Array
    group: Array
    has_where: Flags
    number: Array
    of_taken: Array

    @property
    def position(self) -> Array:
        """Their positions: what was there is what was there before it."""
        return position_of(self.time, self.number)


def decisions_of(facts: Facts, members: Members) -> tuple[Decisions, Array]:
    """The decisions of a queue, all with number 1, and which one each RECEIVE is part of by its group.

    Returns:
        The decisions; and for each RECEIVE, in the order of `facts`, the decision of its time, transaction
        and group, or -1.
    """
    taken, receives = facts.of(codes.RECEIVED), facts.of(codes.RECEIVE)
    transactions, groups = (int(each.max(initial=-1)) + 2 for each in (facts.transaction, facts.group))
    moments = taken.time * transactions + taken.transaction + 1
    known, moment = np.unique(moments, return_inverse=True)
    keys, first, of_taken = np.unique(
        moment * groups + members.groups_at(taken), return_index=True, return_inverse=True
    )
    of_receive = found(receives.time * transactions + receives.transaction + 1, known)
    named = found(np.where(of_receive < 0, -1, of_receive * groups + receives.group), keys)
    named[receives.group < 0] = -1
    has_where = np.zeros(len(keys), dtype=np.bool_)
    has_where[named[receives.has_where & (named >= 0)]] = True
    names_none = receives.has_where & (receives.group < 0) & (of_receive >= 0)
    has_where |= np.isin(keys // groups, of_receive[names_none])
    decisions = Decisions(
        time=taken.time[first],
        transaction=taken.transaction[first],
        group=keys % groups,
        has_where=has_where,
        number=np.ones(len(keys), dtype=np.int64),
        of_taken=of_taken,
    )
    return decisions, named


def spans(
    facts: Facts, members: Members, decisions: Decisions, named: Array, *, has_queue_events: bool
) -> tuple[Spans, Spans]:
    """When messages are ready, and when groups are held; those of one group may overlap.

    Args:
        facts: what happened.
        members: where conversations belong.
        decisions: with their numbers.
        named: see `decisions_of`.
        has_queue_events: without any a RECEIVED counts as committed.
    """
    arrivals, ends = facts.of(codes.ARRIVAL), facts.of(codes.END)
    arrivals = arrivals.where(np.argsort(arrivals.message))
    ready_at = position_of(arrivals.time)
    ended = np.full(int(facts.endpoint.max(initial=-1)) + 1, facts.never)
    ended[ends.endpoint] = ends.time
    ended_at = position_of(ended[arrivals.endpoint])
    received = position_of(np.full_like(ended_at, facts.never))
    seen_gone = facts.of(codes.GONE)
    message = found(seen_gone.message, arrivals.message)
    seen_gone, message = seen_gone.where(message >= 0), message[message >= 0]
    np.minimum.at(received, message, position_of(np.maximum(seen_gone.time, arrivals.time[message])))
    taken = facts.of(codes.RECEIVED)
    message = found(taken.message, arrivals.message)
    number = decisions.number[decisions.of_taken][message >= 0]
    taken, message = taken.where(message >= 0), message[message >= 0]
    # A message that was received before its endpoint was there is taken as soon as it is.
    is_early = taken.time < arrivals.time[message]
    moment = np.maximum(taken.time, arrivals.time[message])
    begins = position_of(moment, np.where(is_early, 0, number))
    at_once = (taken.committed <= moment) | (taken.transaction < 0) | (not has_queue_events)
    np.minimum.at(received, message, np.where(at_once, begins, position_of(taken.committed)))
    holds = ~at_once & (taken.outcome > moment)
    until = np.minimum(position_of(taken.outcome), received[message])
    holds &= begins < until
    message, by = message[holds], taken.transaction[holds]
    held = Spans(arrivals.group[message], by, begins[holds], until[holds])
    # What is in flight holds its group even after its endpoint has ended; it is not ready again.
    span, ready = _between(message, held, ready_at, np.minimum(received, ended_at))
    levels = Spans(arrivals.group[span], arrivals.level[span], ready[0], ready[1])
    all_held = [members.cut(arrivals.endpoint[message], held)]
    if has_queue_events:
        all_held.append(_by_name(facts, decisions, named))
    return members.cut(arrivals.endpoint[span], levels), _all(all_held)


def _between(message: Array, held: Spans, ready_at: Array, gone: Array) -> tuple[Array, tuple[Array, Array]]:
    """When messages are ready: between what is held, and before they are gone.

    What is held after that does not matter.

    Returns:
        The message of each interval, and where it begins and ends.
    """
    in_time = held.begins < gone[message]
    of = np.concatenate((message[in_time], np.arange(len(gone))))
    starts, ends = (np.concatenate((each[in_time], gone)) for each in (held.begins, held.ends))
    order = np.lexsort((ends, starts, of))
    of, starts, ends = of[order], starts[order], ends[order]
    # The latest end so far of the same message, by the ranks of the ends.
    positions, rank = np.unique(ends, return_inverse=True)
    latest = np.maximum.accumulate(of * len(positions) + rank)
    begins = np.empty_like(starts)
    begins[1:] = positions[latest[:-1] % max(1, len(positions))]
    is_first = np.ones(len(of), dtype=np.bool_)
    is_first[1:] = of[1:] != of[:-1]
    begins[is_first] = ready_at[of[is_first]]
    is_in_queue = begins < starts
    return of[is_in_queue], (begins[is_in_queue], starts[is_in_queue])


def _by_name(facts: Facts, decisions: Decisions, named: Array) -> Spans:
    """Groups that statements of open transactions name, held from the statement, or its decision, on."""
    statements = facts.of(codes.RECEIVE, codes.GET_GROUP)
    number = np.zeros(len(statements.kind), dtype=np.int64)
    number[statements.kind == codes.RECEIVE] = np.append(decisions.number, 0)[named]
    names = (statements.group >= 0) & (statements.transaction >= 0) & (statements.outcome > statements.time)
    begins, ends = position_of(statements.time, number), position_of(statements.outcome)
    return Spans(statements.group, statements.transaction, begins, ends).rows(names)


def _all(parts: Sequence[Spans]) -> Spans:
    return Spans(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("group", "what", "begins", "ends")
        )
    )
