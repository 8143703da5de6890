"""Report the next messages of one queue, or of one sending instance."""

from collections.abc import Iterable
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.activation.read import queues_off_at
from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import KnownQueues, QueueFilter
from pipelines.config.service_databases import ServiceDatabases
from pipelines.console.invocation import command_line
from pipelines.console.wording import count_unmatched, format_list
from pipelines.questions.open_messages import RECEIVE, SCHEDULES, TRANSMISSION, read_open
from pipelines.storage.collect import collect_rows
from pipelines.storage.snapshots.newest import read_latest_statuses
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import UNRESOLVED


def report_next(
    warehouse: Warehouse,
    queue_filter: QueueFilter,
    *,
    as_of: datetime,
    limit: int,
    catalog: Catalog | None = None,
) -> dict[str, Any]:
    """Report the first messages of a queue or a sending instance.

    Args:
        warehouse: what to read.
        queue_filter: the queue, in any form of its name; without a queue, the instance that sends, which may
            be left out if only one is known.
        as_of: an as_of that was published.
        limit: how many messages.
        catalog: what may be named beside the queues and instances of the schedules.

    Returns:
        `as_of`, the queue or instance, `next`: the messages in order, and `held_back`: of a queue, how many
        messages wait in a queue that is off or a locked group, by state; of an instance, how many wait
        for queues that are off (queue_off). `queue_off` has the queue if it is off, `queues_off` all queues
        that messages of the instance wait for; see `queues_off_at`. All are empty where nothing waits.
        `statuses` has the rows of the queue by status in its newest snapshot, where some do not wait.

    Raises:
        ConfigError: there is no such queue or instance, or there are several queues of that name.
        PipelineError: no schedule has such a message, but some messages that can't be placed may belong
            there.
    """
    catalog = catalog or Catalog()
    if queue_filter.queue is None:
        return _report_transmission(warehouse, queue_filter, catalog, as_of, limit)
    known = KnownQueues.of(catalog)
    schedule = read_open(warehouse, RECEIVE, as_of)
    if not queue_filter.find(known):
        known = known.and_queues(_distinct_rows(schedule, QUEUE))
    queue = dict(zip(QUEUE, queue_filter.only(known), strict=True))
    received = QueueFilter(**queue).of(schedule)
    # Of the whole queue only this column is read; of its messages, the first.
    counts = sorted(collect_rows(received.groupBy("state").count()), key=itemgetter("state"))
    off = [row for row in queues_off_at(warehouse, as_of) if queue.items() <= row.items()]
    # A queue that is off may have no message in it, and some that wait for it.
    if not counts and not off:
        _require_all_placed(warehouse, QueueFilter(**queue), as_of)
    shown = read_latest_statuses(warehouse, as_of)
    statuses = shown.get((queue["instance"], queue["database"], queue["queue"]), {})
    return {
        "as_of": as_of,
        **queue,
        "next": collect_rows(select_received(received, limit)),
        "held_back": {row["state"]: row["count"] for row in counts if row["state"] != "ready"},
        "queue_off": next(iter(off), None),
        "statuses": [{"status": status, "rows": rows} for status, rows in sorted(statuses.items())],
    }


def _report_transmission(
    warehouse: Warehouse,
    queue_filter: QueueFilter,
    catalog: Catalog,
    as_of: datetime,
    limit: int,
) -> dict[str, Any]:
    """Report what an instance sends next; messages for a queue that is off are only counted."""
    schedule = read_open(warehouse, TRANSMISSION, as_of)
    if queue_filter.instance is None:
        queue_filter = QueueFilter(instance=_only_instance(warehouse, catalog, as_of))
    off = [
        row
        for row in queues_off_at(warehouse, as_of)
        if row["instance"] == queue_filter.instance and row["waiting"]
    ]
    held_back = sum(row["waiting"] for row in off)
    coming = collect_rows(select_transmitted(queue_filter.of(schedule), limit, held_back=held_back))
    if not coming and not off:
        known = KnownQueues.of(catalog)
        queue_filter.require_place(known.and_databases(_distinct_rows(schedule, QUEUE[:2])))
        _require_all_placed(warehouse, queue_filter, as_of)
    return {
        "as_of": as_of,
        "instance": queue_filter.instance,
        "next": with_open_destinations(coming, queue_filter.instance or "", catalog),
        "held_back": {"queue_off": held_back} if off else {},
        "queues_off": off,
    }


def _only_instance(warehouse: Warehouse, catalog: Catalog, as_of: datetime) -> str:
    """The only instance that catalog and schedules have.

    Raises:
        ConfigError: there is none, or there are several.
    """
    known = {instance for instance, *_ in catalog.database_rows()}
    for each in SCHEDULES:
        known |= {instance for (instance,) in _distinct_rows(read_open(warehouse, each, as_of), ["instance"])}
    if len(known) != 1:
        named = f"one of {format_list(sorted(known))}" if known else "none is known"
        raise ConfigError(f"command line: --transmission needs --instance: {named}")
    return known.pop()


def with_open_destinations(
    rows: Iterable[dict[str, Any]], instance: str, catalog: Catalog
) -> list[dict[str, Any]]:
    """Rows of an instance, with `destination_of` where several databases could be the destination."""
    services = ServiceDatabases(catalog)
    return [
        {
            **row,
            "destination_of": services.describe_open((instance, row["database"]), row["to_service"])
            if row["destination_database"] is None
            else None,
        }
        for row in rows
    ]


def _distinct_rows(schedule: DataFrame, names: list[str]) -> list[Any]:
    """Collect the distinct values of these columns, as tuples."""
    rows = collect_rows(schedule.select(*names).distinct())
    return [tuple(row[name] for name in names) for row in rows]


def _require_all_placed(warehouse: Warehouse, queue_filter: QueueFilter, as_of: datetime) -> None:
    """Refuse the answer that nothing waits while messages can't be placed."""
    if unplaced := warehouse.read_as_of(UNRESOLVED, as_of).count():
        raise PipelineError(
            f"{queue_filter}: no schedule has a message there at {format_instant(as_of)}, but "
            f"{count_unmatched(unplaced, 'open message')} and may belong there; "
            f"{command_line('waiting', '--as-of', format_instant(as_of))} says why, and lists what waits"
        )


def select_received(queue: DataFrame, limit: int) -> DataFrame:
    """Select the next messages of a queue (docs/semantics.md).

    Args:
        queue: rows of `receive_schedule` of one as_of and one queue.
        limit: how many.

    Returns:
        In order of `position`: the RECEIVE that returns the message, the group that this RECEIVE chooses,
        the group's priority then and the conversation that gives it (`deciding_conversation_id`), the
        message's own conversation with contract, services and level, its number, type and arrival.

    A RECEIVE returns the conversation with the highest level in the group first: this conversation decides.
    """
    of_receive = Window.partitionBy("receive_number").orderBy("position")
    return (
        queue.where(F.col("position") <= limit)
        .withColumn("deciding_conversation_id", F.first("conversation_id").over(of_receive))
        .select(
            "position",
            "receive_number",
            "conversation_group_id",
            "group_priority",
            "deciding_conversation_id",
            "conversation_id",
            "contract",
            "local_service",
            "remote_service",
            "priority",
            "message_sequence_number",
            "message_type",
            "arrived_at",
            "message_id",
        )
        .orderBy("position")
    )


def select_transmitted(instance: DataFrame, limit: int, *, held_back: int) -> DataFrame:
    """Select the next messages of an instance's transmission queues.

    Args:
        instance: rows of `transmission_schedule` of one as_of and one sending instance.
        limit: how many.
        held_back: how many of them wait for a queue that is off: they are left out.

    Returns:
        In order of `position`: the level that counts and the one that is shown, whether waiting raised it
        or the message is only forwarded, its block, when it became sendable, what it is, its contract and
        services, where it goes, and what the server says of it.
    """
    first = instance.where((F.col("position") <= limit + held_back) & F.col("waits_for").isNull())
    return (
        first.select(
            "position",
            "transmit_priority",
            "priority",
            "elevated",
            "forwarded",
            "block",
            "sendable_at",
            "database",
            "conversation_id",
            "message_sequence_number",
            "message_type",
            "destination_instance",
            "destination_database",
            "contract",
            "from_service",
            "to_service",
            "message_id",
            "why_still_here",
        )
        .orderBy("position")
        .limit(limit)
    )
