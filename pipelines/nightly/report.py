"""What the summary of a run says, as plain values."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar

from pyspark.sql import functions as F

from pipelines.changes.read import read_changes_before
from pipelines.config.catalog import Catalog
from pipelines.config.queue_filter import QueueFilter
from pipelines.console.wording import format_queue
from pipelines.engine.concurrency import run_concurrently
from pipelines.expectations.read import read_expectations
from pipelines.nightly.notes import find_note_questions
from pipelines.questions.caveats import find_caveats
from pipelines.questions.changes import tell_changes
from pipelines.questions.leaks import count_states, leak_sentences, name_full_views, read_leaking
from pipelines.questions.next import select_received, select_transmitted, with_open_destinations
from pipelines.questions.open_messages import RECEIVE, TRANSMISSION, read_open
from pipelines.questions.transmission_status import read_statuses
from pipelines.questions.unresolved import count_unresolved
from pipelines.settings.load import Settings
from pipelines.storage.ages import Ages
from pipelines.storage.batches import EVENT_COUNTS, read_completed_batches
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import read_published_runs
from pipelines.storage.warehouse import Warehouse
from pipelines.why.report import Findings
from schemas.keys import QUEUE
from schemas.outputs import (
    GROUP_PRIORITIES,
)

Row = dict[str, Any]
T = TypeVar("T")
FirstRows = tuple[str, list[Row]]
"""A queue or instance, and its first messages."""
MOST_STATUSES = 10
"""Kinds of texts of transmission_status."""
FIRST_ROWS = 3
"""Messages of each schedule."""


@dataclass(frozen=True)
class Summary:
    """What the summary says of a published as_of, beside its findings.

    Attributes:
        waits: what waits in queues and at sending instances, most messages first: `where`, `messages`, `held`
            (of locked groups and of queues that are off; of an instance, those that wait for such a queue),
            `level` (the highest), `oldest`, and of a queue its names.
        statuses: what the server says of messages that wait to be sent, and how many rows and messages these
            are without a limit; see `read_statuses`.
        unresolved: see `count_unresolved`.
        leaks: a line; empty without any.
        notes: sentences; caveats about all figures come first.
        changes: `read_changes_before`.
        shown_changes: what snapshots since the as_of before this one show otherwise, as sentences.
        expectations: see `read_expectations`.
        events: counts by source; see `count_events`.
        received: the first rows of the longest queue that has ready messages.
        sent: those of the longest instance.
    """

    waits: list[Row]
    statuses: list[Row]
    statuses_in_all: Mapping[str, int]
    unresolved: list[Row]
    leaks: str
    notes: list[str]
    changes: Row | None
    shown_changes: list[str]
    expectations: Sequence[Row]
    events: list[Row]
    received: list[FirstRows]
    sent: list[FirstRows]


def read_summary(
    warehouse: Warehouse, settings: Settings, as_of: datetime, off: Sequence[Row], *, is_whole: bool
) -> Summary:
    """Read the summary of a published as_of.

    Args:
        warehouse: the tables.
        settings: what holds at this as_of.
        as_of: the instant.
        off: `queues_off_at`.
        is_whole: whether overtaken messages, counts of events and the first rows of the schedules are read.
    """
    catalog = settings.catalog
    questions = find_note_questions(catalog, off, is_whole=is_whole)
    waits, ((statuses, statuses_in_all), unresolved), (leaks, caveats, *others) = run_concurrently(
        warehouse.spark,
        lambda: _read_waiting(warehouse, off, as_of),
        lambda: run_concurrently(
            warehouse.spark,
            partial(read_statuses, warehouse, as_of, MOST_STATUSES),
            partial(count_unresolved, warehouse, as_of),
        ),
        lambda: _ask_concurrently(warehouse, as_of, _leak_line, find_caveats, *questions),
    )
    received, sent = _read_first_rows(warehouse, catalog, waits, as_of) if is_whole else ([], [])
    return Summary(
        waits,
        statuses,
        statuses_in_all,
        unresolved,
        "".join(leaks),
        [*caveats, *chain(*others)],
        read_changes_before(warehouse, settings, as_of),
        tell_changes(settings, _published_before(warehouse, as_of), as_of),
        read_expectations(warehouse, settings, as_of),
        [{"source": name, **counts} for name, counts in count_events(warehouse).items()] if is_whole else [],
        received,
        sent,
    )


def report_night(
    warehouse: Warehouse, settings: Settings, as_of: datetime, findings: Findings, ages: Ages
) -> Row:
    """Report a published as_of as `nightly --format json` prints it.

    Args:
        warehouse: the tables.
        settings: those at as_of.
        as_of: the instant.
        findings: of its run, all of them told.
        ages: of its run.

    Returns:
        `as_of`, `verdict`, `findings` as `report_why` has them, `stale` (`Ages.stale`), `changes`
        (`read_changes_before`), and `counts`: by source `events`, `accepted`, `duplicates`, `rejected` and
        `pending`.
    """
    return {
        "as_of": as_of,
        "verdict": findings.verdict,
        "findings": findings.told,
        "stale": ages.stale,
        "changes": read_changes_before(warehouse, settings, as_of),
        "counts": count_events(warehouse),
    }


def count_events(warehouse: Warehouse) -> dict[str, dict[str, int]]:
    """The rows that each input has brought so far, by source: EVENT_COUNTS, and those still `pending`.

    A pending row is read again by each batch, and counts once.
    """
    found: dict[str, dict[str, int]] = {}
    for row in sorted(read_completed_batches(warehouse).batches, key=itemgetter("source", "batch")):
        counts = found.setdefault(row["source"], dict.fromkeys((*EVENT_COUNTS, "pending"), 0))
        for name in EVENT_COUNTS:
            counts[name] += row[name]
        counts["events"] -= counts["pending"]
        counts["pending"] = row["pending"] or 0
    return found


def _published_before(warehouse: Warehouse, as_of: datetime) -> datetime | None:
    """The as_of that was published before this one; None if there is none."""
    published = [row["as_of"] for row in read_published_runs(warehouse, "as_of")]
    return max((each for each in published if each < as_of), default=None)


def _read_waiting(warehouse: Warehouse, off: Sequence[Row], as_of: datetime) -> list[Row]:
    """Read what waits in queues and at sending instances, most messages first."""
    queues, instances = _ask_concurrently(warehouse, as_of, _read_queues, partial(_read_instances, off))
    return sorted([*queues, *instances], key=lambda row: (-row["messages"], row["where"]))


def _ask_concurrently(
    warehouse: Warehouse, as_of: datetime, *questions: Callable[[Warehouse, datetime], Iterable[T]]
) -> tuple[list[T], ...]:
    """Run questions concurrently: a small one is mostly planning, which uses one core."""

    def answer(ask: Callable[[Warehouse, datetime], Iterable[T]]) -> list[T]:
        return list(ask(warehouse, as_of))

    return run_concurrently(warehouse.spark, *[partial(answer, ask) for ask in questions])


def _read_queues(warehouse: Warehouse, as_of: datetime) -> list[Row]:
    held = F.when(F.col("state") != "ready", F.col("messages")).otherwise(0)
    rows = (
        warehouse.read_as_of(GROUP_PRIORITIES, as_of)
        .groupBy(*QUEUE)
        .agg(
            F.sum("messages").alias("messages"),
            F.sum(held).alias("held"),
            F.max("priority").alias("level"),
            F.min("oldest_arrival").alias("oldest"),
        )
    )
    return [{**row, "where": format_queue(row)} for row in collect_rows(rows)]


def _read_instances(off: Sequence[Row], warehouse: Warehouse, as_of: datetime) -> list[Row]:
    held = Counter[str]()
    for row in off:
        held[row["instance"]] += row["waiting"]
    rows = (
        read_open(warehouse, TRANSMISSION, as_of)
        .groupBy("instance")
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.max("level").alias("level"),
            F.min("since").alias("oldest"),
        )
    )
    return [
        {**row, "where": f"{row['instance']} (to send)", "held": held[row["instance"]]}
        for row in collect_rows(rows)
    ]


def _read_first_rows(
    warehouse: Warehouse, catalog: Catalog, waits: Sequence[Row], as_of: datetime
) -> tuple[list[FirstRows], list[FirstRows]]:
    """Read the first rows of the longest queue and of the longest instance."""
    able = [row for row in waits if row["messages"] > row["held"]]
    received, sent = _ask_concurrently(
        warehouse,
        as_of,
        partial(_read_first_received, [row for row in able if "queue" in row][:1]),
        partial(_read_first_sent, [row for row in able if "queue" not in row][:1], catalog),
    )
    return received, sent


def _read_first_received(queues: list[Row], warehouse: Warehouse, as_of: datetime) -> Iterator[FirstRows]:
    schedule = read_open(warehouse, RECEIVE, as_of)
    for row in queues:
        queue = QueueFilter(row["queue"], row["instance"], row["database"]).of(schedule)
        yield row["where"], collect_rows(select_received(queue, FIRST_ROWS))


def _read_first_sent(
    instances: list[Row], catalog: Catalog, warehouse: Warehouse, as_of: datetime
) -> Iterator[FirstRows]:
    schedule = read_open(warehouse, TRANSMISSION, as_of)
    for row in instances:
        instance = QueueFilter(instance=row["instance"]).of(schedule)
        rows = collect_rows(select_transmitted(instance, FIRST_ROWS, held_back=row["held"]))
        yield row["instance"], with_open_destinations(rows, row["instance"], catalog)


def _leak_line(warehouse: Warehouse, as_of: datetime) -> list[str]:
    line = ". ".join(leak_sentences(count_states(read_leaking(warehouse, as_of))))
    by = name_full_views(warehouse, as_of) if line else ""
    return [f"{line} ({by})" if by else line]
