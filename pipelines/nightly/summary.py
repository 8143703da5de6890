"""Print the summary of a run: the verdict, findings and what to do, what waits, and what changed."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from pyspark.sql import functions as F

from pipelines.activation.queues_off import off_sentence
from pipelines.activation.read import unconfigured_monitors
from pipelines.blocks.tables import Column, Table, column
from pipelines.changes.read import read_changes_before
from pipelines.changes.view import describe_changes
from pipelines.config.catalog import Catalog
from pipelines.config.instants import format_instant
from pipelines.config.load import Settings
from pipelines.config.queue_filter import QueueFilter, queue_text
from pipelines.console.invocation import command_line
from pipelines.console.tables import print_answer
from pipelines.console.terminal import Terminal, escape_line, open_console
from pipelines.console.wording import finding_lines, format_count, format_queue
from pipelines.engine.concurrency import run_concurrently
from pipelines.expectations.read import read_expectations
from pipelines.expectations.view import print_expectations
from pipelines.nightly.report import count_events
from pipelines.questions.caveats import find_caveats
from pipelines.questions.changes import tell_changes
from pipelines.questions.leaks import count_states, leak_sentences, read_leaking
from pipelines.questions.next import select_received, select_transmitted, with_open_destinations
from pipelines.questions.open_messages import RECEIVE, TRANSMISSION, read_open
from pipelines.questions.overtaken import rank_overtaken
from pipelines.questions.tables import INPUTS
from pipelines.questions.transmission_status import read_statuses
from pipelines.questions.unresolved import count_unresolved
from pipelines.questions.view import (
    describe_statuses,
    print_received,
    print_sent,
    print_statuses,
    print_unresolved,
)
from pipelines.storage.ages import Ages
from pipelines.storage.collect import collect_rows
from pipelines.storage.monitors import read_latest_monitors
from pipelines.storage.published import read_published_runs
from pipelines.storage.queue_statuses import read_latest_statuses
from pipelines.storage.warehouse import Warehouse
from pipelines.why.report import Findings
from pipelines.why.view import format_place
from schemas.keys import QUEUE
from schemas.outputs import (
    ACTIVATION_SUMMARY,
    GROUP_PRIORITIES,
    REJECTED_EVENTS,
)

T = TypeVar("T")
Row = dict[str, Any]
Question = Callable[[Warehouse, datetime], Iterable[str]]
"""Whose answers are sentences."""
FirstRows = tuple[str, list[Row]]
"""A queue or instance, and its first messages."""
MOST_WAITING = 6
"""Queues and sending instances that are printed."""
MOST_FINDINGS = 5
"""Notes and changes that are printed."""
MOST_STATUSES = 10
"""Texts of transmission_status that are printed."""
FIRST_ROWS = 3
"""Messages of each schedule that are printed."""
WAITING = Table(
    "waiting",
    "Waiting",
    [
        column("Where", "text", "where"),
        column("Messages", "count", "messages"),
        # Of locked groups and of queues that are off; of an instance, those that wait for such a queue.
        Column("Held by a lock or a queue that is off", "count", lambda row: row["held"] or None, ("held",)),
        column("Highest level", "level", "level"),
        Column("Oldest since", "moment", lambda row: row["oldest"].replace(microsecond=0), ("oldest",)),
    ],
)


def print_summary(
    warehouse: Warehouse,
    settings: Settings,
    as_of: datetime,
    first: Findings,
    ages: Ages,
    *,
    wide: bool = False,
    verbose: bool = False,
) -> None:
    """Print the summary of a published as_of, with its first findings, to standard output.

    Args:
        warehouse: the tables.
        settings: what holds at this as_of.
        as_of: the instant.
        first: its findings.
        ages: how old the facts of databases are.
        wide: whether ids and columns are left whole.
        verbose: whether more notes, counts of events and the first rows of the schedules follow.
    """
    catalog = settings.catalog
    off = first.off
    questions: list[Question] = [
        partial(_activation_findings, off),
        partial(_monitor_findings, catalog),
        _single_groups,
        *([_overtaken_findings] if verbose else []),
        _rejected_findings,
        _status_findings,
    ]
    waits, (statuses, unresolved), (leaks, caveats, *others) = run_concurrently(
        warehouse.spark,
        lambda: _read_waiting(warehouse, off, as_of),
        lambda: _ask_concurrently(warehouse, as_of, _read_statuses, count_unresolved),
        lambda: _ask_concurrently(warehouse, as_of, _leak_lines, find_caveats, *questions),
    )
    # Caveats about all figures come first.
    notes = [*caveats, *(f"{format_queue(row)}: {off_sentence(row)}" for row in off)]
    notes += [note for each in others for note in each]
    since_before = read_changes_before(warehouse, settings, as_of)
    command = partial(_command, settings, as_of)
    console = open_console(wide=wide)
    for line in ages.lines():
        console.write_line(line)
    console.write_line(first.verdict, style="bold")
    if since_before is not None:
        for line in describe_changes(since_before):
            console.write_line(escape_line(line))
    _print_findings(console, first, command)
    _print_changes(console, tell_changes(settings, _published_before(warehouse, as_of), as_of), command)
    for line in leaks:
        console.write_line(f"{line}: {command('leaks')}")
    print_statuses(console, statuses)
    print_unresolved(console, unresolved, catalog, settings.catalog_path)
    if notes:
        console.print("Note", style="bold")
    for note in notes if verbose else notes[:MOST_FINDINGS]:
        console.write_line(f"- {note}")
    if expected := read_expectations(warehouse, settings, as_of):
        print_expectations(console, expected, as_of)
    _print_waits(console, waits, as_of, command)
    if verbose:
        events = [{"source": source, **counts} for source, counts in count_events(warehouse).items()]
        print_answer(console, INPUTS, events)
        _print_first_rows(console, warehouse, catalog, waits, as_of)
    console.write_line(f"Tables: {warehouse.root}. Next:")
    for name, *options in _questions(waits):
        console.write_line(f"  {command(name, *options)}")


def _print_findings(console: Terminal, first: Findings, command: Callable[..., str]) -> None:
    if first.told:
        console.print("Look at first", style="bold")
    for finding in first.told:
        for line in finding_lines(finding, f"{finding['severity'].capitalize()}. {format_place(finding)}: "):
            console.write_line(line)
    if first.more:
        console.write_line(f"and {format_count(first.more, 'more finding')}: {command('why')}")


def _print_waits(
    console: Terminal, waits: Sequence[Row], as_of: datetime, command: Callable[..., str]
) -> None:
    if not waits:
        console.write_line(f"No queue and no instance has a message that waits at {format_instant(as_of)}.")
        return
    table = WAITING.with_title(f"{WAITING.title} at {format_instant(as_of)}")
    print_answer(console, table, waits[:MOST_WAITING])
    if len(waits) > MOST_WAITING:
        more = format_count(len(waits) - MOST_WAITING, "more place")
        console.write_line(f"and {more}: {command('waiting')}")


def _print_first_rows(
    console: Terminal, warehouse: Warehouse, catalog: Catalog, waits: Sequence[Row], as_of: datetime
) -> None:
    """Print the first rows of the longest queue and of the longest instance."""
    able = [row for row in waits if row["messages"] > row["held"]]
    received, sent = _ask_concurrently(
        warehouse,
        as_of,
        partial(_read_first_received, [row for row in able if "queue" in row][:1]),
        partial(_read_first_sent, [row for row in able if "queue" not in row][:1]),
    )
    for where, rows in received:
        print_received(console, f"First rows of receive_schedule, {where}", rows)
    for where, rows in sent:
        shown = with_open_destinations(rows, where, catalog)
        print_sent(console, f"First rows of transmission_schedule, {where}", shown)


def _published_before(warehouse: Warehouse, as_of: datetime) -> datetime | None:
    """The as_of that was published before this one; None if there is none."""
    published = [row["as_of"] for row in read_published_runs(warehouse, "as_of")]
    return max((each for each in published if each < as_of), default=None)


def _print_changes(console: Terminal, changes: Sequence[str], command: Callable[..., str]) -> None:
    if changes:
        console.print("Changed between snapshots", style="bold")
    for change in changes[:MOST_FINDINGS]:
        console.write_line(f"- {change}")
    if len(changes) > MOST_FINDINGS:
        console.write_line(
            f"and {len(changes) - MOST_FINDINGS} more changes: {command('differences')} lists them"
        )


def _questions(waits: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Commands with options for further questions, about a queue that there is."""
    yield ("why",)
    yield ("waiting",)
    for row in [row for row in waits if "queue" in row][:1]:
        yield "next", "--queue", row["where"]
    yield "report", "--out", "page.html"


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


def _command(settings: Settings, as_of: datetime, name: str, *options: str) -> str:
    return command_line(name, *options, "--as-of", format_instant(as_of), config=settings.path)


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


def _read_first_received(queues: list[Row], warehouse: Warehouse, as_of: datetime) -> Iterator[FirstRows]:
    schedule = read_open(warehouse, RECEIVE, as_of)
    for row in queues:
        queue = QueueFilter(row["queue"], row["instance"], row["database"]).of(schedule)
        yield row["where"], collect_rows(select_received(queue, FIRST_ROWS))


def _read_first_sent(instances: list[Row], warehouse: Warehouse, as_of: datetime) -> Iterator[FirstRows]:
    schedule = read_open(warehouse, TRANSMISSION, as_of)
    for row in instances:
        instance = QueueFilter(instance=row["instance"]).of(schedule)
        yield row["instance"], collect_rows(select_transmitted(instance, FIRST_ROWS, held_back=row["held"]))


def _read_statuses(warehouse: Warehouse, as_of: datetime) -> list[Row]:
    return read_statuses(warehouse, as_of, MOST_STATUSES)


def _activation_findings(off: Sequence[Row], warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    troubled = warehouse.read_as_of(ACTIVATION_SUMMARY, as_of).where(
        "advice <> 'keeps_up' and (advice <> 'not_known' or ready_at_end > 0)"
    )
    first = [
        ~F.col("advice").isin("queue_off", "not_received"),
        F.col("advice") == "not_known",
        F.desc("need_seconds"),
    ]
    # A finding about a queue that is off says more than its activation row.
    off_queues = {format_queue(row) for row in off}
    rows = collect_rows(troubled.orderBy(*first, *QUEUE).limit(len(off) + 2).select(*QUEUE, "sentence"))
    for row in [row for row in rows if format_queue(row) not in off_queues][:2]:
        yield f"{format_queue(row)}: {row['sentence']}"


def _monitor_findings(catalog: Catalog, warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Monitors that a snapshot has as NOTIFIED, of queues without a monitor in the catalog."""
    for row in unconfigured_monitors(warehouse, catalog, as_of):
        if row["advice"] == "not_received":
            yield f"{format_queue(row)}: {row['sentence']}"


def _single_groups(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Queues whose messages are all of one group, while an activated task runs."""
    tasks = {
        tuple(row[name] for name in QUEUE): row["tasks_running"]
        for row in read_latest_monitors(warehouse, as_of)
        if row["tasks_running"]
    }
    if not tasks:
        return
    groups = warehouse.read_as_of(GROUP_PRIORITIES, as_of).groupBy(*QUEUE)
    counted = groups.agg(F.count(F.lit(1)).alias("groups"), F.sum("messages").alias("messages"))
    for row in collect_rows(counted.where("groups = 1 and messages > 1").orderBy(*QUEUE)):
        running = tasks.get(tuple(row[name] for name in QUEUE))
        if running:
            yield (
                f"{format_queue(row)}: all {row['messages']:,} messages are of one conversation group, which "
                f"one reader at a time serves, and {format_count(running, 'activated task')} "
                f"{'runs' if running == 1 else 'run'}: more readers do not help"
            )


def _overtaken_findings(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    late = rank_overtaken(read_open(warehouse, RECEIVE, as_of), within=RECEIVE.within, most=1)
    for row in collect_rows(late.orderBy(F.desc("passed_by"), *QUEUE).limit(1)):
        if row["passed_by"]:
            yield (
                f"{format_queue(row)}: message {row['message_id']} waits since "
                f"{format_instant(row['since'])}; {row['passed_by']:,} later messages are ahead of it"
            )


def _leak_lines(warehouse: Warehouse, as_of: datetime) -> list[str]:
    return leak_sentences(count_states(read_leaking(warehouse, as_of)))


def _status_findings(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """The queue with most rows that do not wait, and how many other queues have such rows."""
    shown = read_latest_statuses(warehouse, as_of)
    first = max(shown, key=lambda queue: sum(shown[queue].values()), default=None)
    if first is not None:
        others = f"; {len(shown) - 1:,} other queues have such rows, too" if len(shown) > 1 else ""
        yield f"{queue_text(first)}: {describe_statuses(shown[first])}{others}"


def _rejected_findings(warehouse: Warehouse, _: datetime) -> Iterator[str]:
    counted = warehouse.read(REJECTED_EVENTS).groupBy("source", "reason").agg(F.count(F.lit(1)).alias("rows"))
    for row in collect_rows(counted.orderBy(F.desc("rows"), "source", "reason").limit(1)):
        yield (
            f"{row['rows']:,} rows of {row['source']} were rejected ({row['reason']}): table rejected_events "
            "has them all"
        )
