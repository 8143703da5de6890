"""The figures of conformance by running sums: the second way to them, with no machine.

Groups become free, change their level and are free no more: a running sum of +1 and -1 over a queue says
before each decision how many there were at each level. Source: our choice; docs/conformance.md has the
definitions.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from pipelines.conformance import event_codes as h
from pipelines.conformance.decisions import OF_AN_HOUR
from pipelines.conformance.facts import COLUMNS, Array, Facts, facts
from pipelines.conformance.spans import Decisions, Members, Spans, decisions_of, spans
from pipelines.conformance.states import States
from pipelines.conformance.timeline import ORDER
from pipelines.engine.ordered import sort_within_keys, split_by_key
from pipelines.engine.python_workers import Work
from pipelines.queue_machine.groups import LEVELS

FIGURES = (*OF_AN_HOUR, "ties", "lock_skipped", "not_ready")
"""What both ways give, beside `blind`."""
FOUND = {"queue_number": "int", **dict.fromkeys(FIGURES, "bigint"), "blind": "double"}
PAIRS = 1 << 20
"""Decisions are looked at with what their transactions hold: about so many pairs at once."""


def figures(timeline: DataFrame, *, start: int, every_receive_counts: bool) -> DataFrame:
    """Compare what was chosen with what was there.

    Args:
        timeline: see `pipelines.conformance.timeline`.
        start: decisions before it are not counted, in microseconds.
        every_receive_counts: without any queue events a RECEIVED counts as committed.

    Returns:
        `FOUND`: a row per queue; no order. A queue is one task, with memory for all that happened on it.
    """
    ordered = sort_within_keys(timeline.select(*COLUMNS), "queue_number", ORDER)
    ddl = ", ".join(f"{name} {type}" for name, type in FOUND.items())
    return ordered.mapInArrow(_sum(start, every_receive_counts), ddl)


def _sum(start: int, every_receive_counts: bool) -> Work:
    def told(number: int, rows: list[pa.RecordBatch]) -> pa.RecordBatch:
        found = figures_of(
            facts(pa.Table.from_batches(rows)), start, every_receive_counts=every_receive_counts
        )
        schema = pa.schema(
            [("queue_number", pa.int32()), *((name, pa.int64()) for name in FIGURES), ("blind", pa.float64())]
        )
        return pa.RecordBatch.from_pylist([{"queue_number": number, **found}], schema=schema)

    def sum_up(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: list[pa.RecordBatch] = []
        for number, stretch, is_last in split_by_key(batches):
            rows.append(stretch)
            if is_last:
                yield told(number, rows)
                rows = []

    return sum_up


def figures_of(facts: Facts, start: int, *, every_receive_counts: bool) -> dict[str, Any]:
    """`FIGURES` and `blind` of one queue."""
    members = Members(facts.of(h.MOVE))
    decisions, named = decisions_of(facts, members)

    def intervals(decisions: Decisions) -> tuple[Spans, Spans]:
        return spans(facts, members, decisions, named, every_receive_counts=every_receive_counts)

    if len(np.unique(decisions.time)) < len(decisions.time):
        # What decisions of an instant change comes after its number 1, so all look at what was there before.
        level, _ = States(*intervals(decisions)).before(decisions.group, decisions.place)
        decisions = replace(decisions, number=_numbers(decisions, level))
    ready, held = intervals(decisions)
    states = States(ready, held)
    place = decisions.place
    there, locked = (states.counts(place, is_held=is_held) for is_held in (False, True))
    level, holds = states.before(decisions.group, place)
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
    place, chosen = decisions.place, decisions.group
    begin = 0
    while begin < len(pairs):
        before = pairs[begin - 1] if begin else 0
        until = max(begin + 1, int(np.searchsorted(pairs, before + PAIRS)))
        count = np.diff(pairs[begin:until], prepend=before)
        decision = np.repeat(np.arange(begin, until), count)
        span = first[decision] + np.arange(len(decision)) - np.repeat(np.cumsum(count) - count, count)
        holds_it = (held.begins[span] < place[decision]) & (held.ends[span] >= place[decision])
        width = int(held.group.max(initial=0)) + 1
        keys, mine = np.unique((decision * width + held.group[span])[holds_it], return_counts=True)
        decision, group = keys // width, keys % width
        level, holds = states.before(group, place[decision])
        is_own = (level > 0) & (holds == mine)
        decision, group, level = decision[is_own], group[is_own], level[is_own]
        np.add.at(locked, (decision, level), -1)
        others = group != chosen[decision]
        np.add.at(there, (decision[others], level[others]), 1)
        begin = until


def _summed(
    level: Array, has_where: np.typing.NDArray[np.bool_], there: Array, locked: Array
) -> dict[str, Any]:
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
