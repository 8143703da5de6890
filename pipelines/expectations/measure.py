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
from pipelines.questions.waiting import percentile, seconds_waited
from schemas.keys import QUEUE

COLUMNS = {
    "instance": "instance",
    "database": "database",
    "contract": "contract",
    "service": "local_service",
    "remote_service": "remote_service",
}
"""The column of each filter by name, in `receive_schedule` and of leaks."""
SENT_COLUMNS = {**COLUMNS, "service": "from_service", "remote_service": "to_service"}
"""The same in `transmission_schedule`."""


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


def measure_received(rows: DataFrame, expectations: Sequence[Expectation], *, as_of: datetime) -> Measures:
    """Measure the messages in queues.

    Args:
        rows: those of `receive_schedule` of this as_of.
        expectations: of the measures oldest_wait, p95_wait and level_at_least.
        as_of: the instant.
    """
    return _measure_messages(rows, expectations, as_of, COLUMNS, since="arrived_at", level="priority")


def measure_sent(rows: DataFrame, expectations: Sequence[Expectation], *, as_of: datetime) -> Measures:
    """Measure the messages that wait to be sent: `measure_received` for `transmission_schedule`."""
    return _measure_messages(
        rows, expectations, as_of, SENT_COLUMNS, since="sendable_at", level="transmit_priority"
    )


def measure_unresolved(rows: DataFrame, expectations: Sequence[Expectation]) -> Measures:
    """Count the rows of `unresolved` of one as_of."""
    count = rows.count()
    return {each.name: Measured(float(count), count) for each in expectations}


def measure_leaks(leaking: DataFrame, expectations: Sequence[Expectation]) -> Measures:
    """Count conversations that leak.

    Args:
        leaking: rows of `find_leaks`, whatever the reason.
        expectations: of the measure leaked_conversations, with the days for which `leaking` was found.
    """
    fits = [F.max(_fits(each, COLUMNS).cast("int")).alias(f"fits_{n}") for n, each in enumerate(expectations)]
    by_conversation = leaking.groupBy("conversation_id").agg(*fits)
    sums = [F.count_if(F.col(f"fits_{n}") == 1).alias(f"count_{n}") for n in range(len(expectations))]
    row = _only_row(by_conversation.agg(*sums))
    return {each.name: Measured(float(row[f"count_{n}"]), None) for n, each in enumerate(expectations)}


def _measure_messages(
    rows: DataFrame,
    expectations: Sequence[Expectation],
    as_of: datetime,
    columns: Mapping[str, str],
    *,
    since: str,
    level: str,
) -> Measures:
    seconds = seconds_waited(since, as_of)
    sums = []
    for number, each in enumerate(expectations):
        fits = _fits(each, columns, level)
        sums += [
            F.count_if(fits).alias(f"messages_{number}"),
            _value(each, fits, seconds, F.col(level)).cast("double").alias(f"value_{number}"),
        ]
    row = _only_row(rows.agg(*sums))
    found = {}
    for number, each in enumerate(expectations):
        value, messages = row[f"value_{number}"], int(row[f"messages_{number}"])
        if messages == 0:
            value = None
        elif each.measure == LEVEL_AT_LEAST:
            value /= messages
        found[each.name] = Measured(value, messages)
    return found


def _value(expectation: Expectation, fits: Column, seconds: Column, level: Column) -> Column:
    """What is measured over the rows that fit; of level_at_least the rows that have it."""
    if expectation.measure in (OLDEST_WAIT, TRANSMISSION_AGE):
        return F.max(F.when(fits, seconds))
    if expectation.measure == P95_WAIT:
        return percentile(F.when(fits, seconds), 0.95)
    return F.count_if(fits & (level >= F.lit(expectation.entry.level_at_least)))


def _fits(expectation: Expectation, columns: Mapping[str, str], level: str | None = None) -> Column:
    """Whether a row passes all filters; of a name that the row does not have, it does not."""
    entry = expectation.entry
    fits = F.lit(True)
    for key, column in columns.items():
        if (wanted := getattr(entry, key)) is not None:
            fits &= F.col(column).eqNullSafe(wanted)
    if entry.level is not None and level is not None:
        fits &= F.col(level) == entry.level
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
