"""Measure expectations on the tables of an as_of: one pass for each table, one row of sums for each pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.expectations import (
    LEVEL_AT_LEAST,
    OLDEST_WAIT,
    P95_WAIT,
    TRANSMISSION_AGE,
    Expectation,
    queue_names,
)
from pipelines.questions.leaks import only_known
from pipelines.questions.waiting import percentile, seconds_waited
from schemas.keys import QUEUE

COLUMNS = {
    "instance": "instance",
    "database": "database",
    "contract": "contract",
    "service": "local_service",
    "remote_service": "remote_service",
}
"""The column of each filter by name, of open messages and of leaks."""


@dataclass(frozen=True)
class Measured:
    """What came out for an expectation.

    Attributes:
        value: seconds, a share or a count; None if no row fits.
        messages: the rows that were measured; None where no messages are measured.
    """

    value: float | None
    messages: int | None


Measures = dict[str, Measured]
"""What came out, by the name of the expectation."""


def measure_messages(
    messages: DataFrame, expectations: Sequence[Expectation], *, as_of: datetime
) -> Measures:
    """Measure open messages.

    Args:
        messages: `read_open` of a schedule.
        expectations: of the measures oldest_wait, p95_wait, level_at_least and transmission_age.
        as_of: the instant.
    """
    seconds = seconds_waited("since", as_of)
    sums = []
    for number, each in enumerate(expectations):
        fits = _fits(each, has_level=True)
        sums += [
            F.count_if(fits).alias(f"messages_{number}"),
            _value(each, fits, seconds).cast("double").alias(f"value_{number}"),
        ]
    row = _only_row(messages.agg(*sums))
    found = {}
    for number, each in enumerate(expectations):
        value, count = row[f"value_{number}"], int(row[f"messages_{number}"])
        if count == 0:
            value = None
        elif each.measure == LEVEL_AT_LEAST:
            value /= count
        found[each.name] = Measured(value, count)
    return found


def measure_unresolved(rows: DataFrame, expectations: Sequence[Expectation]) -> Measures:
    """Count the rows of `unresolved` of one as_of."""
    count = rows.count()
    return {each.name: Measured(float(count), count) for each in expectations}


def measure_leaks(leaking: DataFrame, expectations: Sequence[Expectation]) -> Measures:
    """Count conversations that leak.

    Args:
        leaking: rows of `find_leaks`; those that may leak do not count.
        expectations: of the measure leaked_conversations, with the days for which `leaking` was found.
    """
    fits = [
        F.max(_fits(each, has_level=False).cast("int")).alias(f"fits_{n}")
        for n, each in enumerate(expectations)
    ]
    by_conversation = only_known(leaking).groupBy("conversation_id").agg(*fits)
    sums = [F.count_if(F.col(f"fits_{n}") == 1).alias(f"count_{n}") for n in range(len(expectations))]
    row = _only_row(by_conversation.agg(*sums))
    return {each.name: Measured(float(row[f"count_{n}"]), None) for n, each in enumerate(expectations)}


def _value(expectation: Expectation, fits: Column, seconds: Column) -> Column:
    """What is measured over the rows that fit; of level_at_least the rows that have it."""
    if expectation.measure in (OLDEST_WAIT, TRANSMISSION_AGE):
        return F.max(F.when(fits, seconds))
    if expectation.measure == P95_WAIT:
        return percentile(F.when(fits, seconds), 0.95)
    return F.count_if(fits & (F.col("level") >= F.lit(expectation.entry.level_at_least)))


def _fits(expectation: Expectation, *, has_level: bool) -> Column:
    """Whether a row passes all filters; of a name that the row does not have, it does not."""
    entry = expectation.entry
    fits = F.lit(True)
    for key, column in COLUMNS.items():
        if (wanted := getattr(entry, key)) is not None:
            fits &= F.col(column).eqNullSafe(wanted)
    if entry.level is not None and has_level:
        fits &= F.col("level") == entry.level
    return fits if entry.queue is None else fits & _is_queue(entry.queue)


def _is_queue(name: str) -> Column:
    """The condition of `is_named`."""
    own, whole = queue_names(name)
    named = F.col("queue").isin(*sorted(own)) | (F.concat_ws(".", *QUEUE) == name)
    if whole is None:
        return named
    one, *others = [F.col(column) == part for column, part in zip(QUEUE, whole, strict=True)]
    for other in others:
        one &= other
    return named | one


def _only_row(rows: DataFrame) -> Mapping[str, Any]:
    row = rows.first()
    assert row is not None
    return row.asDict()
