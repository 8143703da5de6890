"""The figures of each queue, from the intervals in which its groups are ready and held."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.conformance import event_codes as codes
from pipelines.conformance.decisions import HOURLY
from pipelines.conformance.receives import ConformanceRequest
from pipelines.conformance.timeline import ORDER
from pipelines.queue_machine.groups import LEVELS
from pipelines.storage.collect import collect_rows
from schemas.keys import QUEUE

from .facts import COLUMNS, Array, Facts, Flags, facts
from .spans import Decisions, Members, Spans, decisions_of, spans
from .states import States

FIGURES = (*HOURLY, "ties", "lock_skipped", "not_ready")
"""What both ways give, beside `blind`."""
SECOND_WAY = (*FIGURES, "fitness", "skill")
"""The columns of `conformance` that both ways give."""
PAIRS = 1 << 20
"""Decisions are looked at with what their transactions hold: about so many pairs at once."""


def comparable(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The part of `conformance` rows that `figures_at` gives too."""
    names = ("as_of", *QUEUE, *SECOND_WAY)
    found = [{name: row[name] for name in names} for row in rows if row["decisions"]]
    return [row | {"skill": row["skill"] and round(row["skill"], 9)} for row in found]


def figures_at(request: ConformanceRequest) -> list[dict[str, Any]]:
    """The figures of queues with decisions: as_of, the queue and `SECOND_WAY`; skill has nine decimals."""
    timeline = request.timeline.select(*COLUMNS).toArrow().sort_by([(name, "ascending") for name in ORDER])
    found = []
    for queue in collect_rows(request.numbered):
        rows = timeline.filter(pc.equal(timeline["queue_number"], queue["queue_number"]))
        figures = _figures_of_rows(rows, request)
        if figures["decisions"]:
            names = {name: queue[name] for name in QUEUE}
            found.append({"as_of": request.as_of, **names, **{name: figures[name] for name in SECOND_WAY}})
    return found


def _figures_of_rows(rows: pa.Table, request: ConformanceRequest) -> dict[str, Any]:
    if not rows.num_rows:
        return {"decisions": 0}
    figures = figures_of(facts(rows), request.start, has_queue_events=request.has_queue_events)
    passed, passable, blind = (figures[name] for name in ("passed", "passable", "blind"))
    return {
        **figures,
        "lock_skipped": figures["lock_skipped"] if request.has_queue_events else None,
        "fitness": 1 - passed / passable if passable else None,
        "skill": round(1 - passed / blind, 9) if blind else None,
    }


def figures_of(facts: Facts, start: int, *, has_queue_events: bool) -> dict[str, Any]:
    """`FIGURES` and `blind` of one queue."""
    members = Members(facts.of(codes.MOVE))
    decisions, named = decisions_of(facts, members)

    def intervals(decisions: Decisions) -> tuple[Spans, Spans]:
        return spans(facts, members, decisions, named, has_queue_events=has_queue_events)

    if len(np.unique(decisions.time)) < len(decisions.time):
        # What decisions of an instant change comes after its number 1, so all look at what was there before.
        level, _ = States(*intervals(decisions)).before(decisions.group, decisions.position)
        decisions = replace(decisions, number=_numbers(decisions, level))
    ready, held = intervals(decisions)
    states = States(ready, held)
    position = decisions.position
    there, locked = (states.counts(position, is_held=is_held) for is_held in (False, True))
    level, holds = states.before(decisions.group, position)
    # Chosen though it is held: there for it, and not among the free.
    beside = np.flatnonzero((level > 0) & (holds > 0))
    there[beside, level[beside]] += 1
    _add_own(there, locked, decisions, held, states)
    counts = np.searchsorted(facts.instants, start) <= decisions.time
    return _summed(level[counts], decisions.has_where[counts], there[counts], locked[counts])


def _numbers(decisions: Decisions, level: Array) -> Array:
    """Decisions of an instant go by the levels before any of them, then by group, then by transaction."""
    order = np.lexsort((decisions.transaction, decisions.group, -level, decisions.time))
    time, row = decisions.time[order], np.arange(len(order))
    is_first = np.diff(time, prepend=-1) != 0
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = row - np.maximum.accumulate(np.where(is_first, row, 0)) + 1
    return numbers


def _add_own(there: Array, locked: Array, decisions: Decisions, held: Spans, states: States) -> None:
    """What the transaction of a decision alone holds is there for it, and not locked."""
    order = np.argsort(held.what, kind="stable")
    held = held.rows(order)
    first, end = (
        np.searchsorted(held.what, decisions.transaction, side=which) for which in ("left", "right")
    )
    pairs = np.cumsum(np.where(decisions.transaction < 0, 0, end - first))
    position, chosen = decisions.position, decisions.group
    begin = 0
    while begin < len(pairs):
        before = pairs[begin - 1] if begin else 0
        until = max(begin + 1, int(np.searchsorted(pairs, before + PAIRS)))
        count = np.diff(pairs[begin:until], prepend=before)
        decision = np.repeat(np.arange(begin, until), count)
        span = first[decision] + np.arange(len(decision)) - np.repeat(np.cumsum(count) - count, count)
        holds_it = (held.begins[span] < position[decision]) & (held.ends[span] >= position[decision])
        width = int(held.group.max(initial=0)) + 1
        keys, mine = np.unique((decision * width + held.group[span])[holds_it], return_counts=True)
        decision, group = keys // width, keys % width
        level, holds = states.before(group, position[decision])
        is_own = (level > 0) & (holds == mine)
        decision, group, level = decision[is_own], group[is_own], level[is_own]
        np.add.at(locked, (decision, level), -1)
        others = group != chosen[decision]
        np.add.at(there, (decision[others], level[others]), 1)
        begin = until


def _summed(level: Array, has_where: Flags, there: Array, locked: Array) -> dict[str, Any]:
    """Sum up decisions: the level that was chosen, and how many groups were there and locked at each."""
    levels = np.arange(LEVELS)
    is_ready = level > 0
    is_counted = is_ready & ~has_where
    level, there, locked = level[is_counted], there[is_counted], locked[is_counted]
    is_above = levels > level[:, None]
    passed = (there * is_above).sum(axis=1)
    lowest = np.argmax(there > 0, axis=1)
    passable = (there * (levels > lowest[:, None])).sum(axis=1)
    above = there[:, ::-1].cumsum(axis=1)[:, ::-1] - there
    blind = (there * above).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    has_choice = passable > 0
    return {
        "decisions": len(level) + int((~is_ready).sum()),
        "with_choice": int(has_choice.sum()),
        "conforming": int((has_choice & (passed == 0)).sum()),
        "passed": int(passed.sum()),
        "passable": int(passable.sum()),
        "ties": int((there[np.arange(len(level)), level] > 1).sum()),
        "lock_skipped": int(((locked * is_above).sum(axis=1) > 0).sum()),
        "not_ready": int((~is_ready).sum()),
        "blind": float(blind.sum()),
    }
