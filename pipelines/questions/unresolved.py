"""Count open messages that are not matched to a queue, and name what the catalog lacks."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from math import inf
from typing import Any

import yaml
from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.catalog import Catalog
from pipelines.console.invocation import command_line
from pipelines.console.wording import count_unmatched, format_count, format_database
from pipelines.questions.open_messages import NAMES
from pipelines.state.events_before import events_before
from pipelines.state.messages import ARRIVALS, is_sent, order_of_events
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES
from schemas.ledger import ENDPOINTS
from schemas.outputs import UNRESOLVED

UNRESOLVED_KEY = ("kind", "reason", "instance", "database", "contract", "local_service", "remote_service")
KIND_OF_MESSAGE = (*UNRESOLVED_KEY, "level")
SERVICE_MISSING = "service_not_in_catalog"
MISSING = {
    "endpoint_unknown": "no input shows the creation of the endpoint before as_of",
    SERVICE_MISSING: "the catalog has no queue for the service",
    "handle_unknown": "a snapshot shows a handle that no endpoint has",
}
"""Why messages are in no schedule, by the reason of `unresolved`."""
LINES_SHOWN = 10
"""Kinds of messages that are printed."""
SERVICES_SHOWN = 100
"""Services to add that are printed; the YAML is to be complete."""
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
YAML_WORDS = {"on", "off", "yes", "no", "y", "n", "true", "false", "null", "none"}
"""What YAML takes for a truth value or for nothing."""
NO_QUEUE = "QUEUE_OF_"
"""Begins what stands for a queue that is not known, a name of its own for each service."""
EXISTS_REMARK = "  # is there already"
Row = dict[str, Any]


def count_unresolved(warehouse: Warehouse, as_of: datetime) -> list[Row]:
    """Count the messages of `unresolved` at a published as_of by what they are.

    Returns:
        One row per combination of KIND_OF_MESSAGE: `kind` (the schedule it is missing from), `reason`, and of
        the endpoint that should hold the message, where it is known, instance, database, contract and
        services; else those of its other endpoint with the services swapped, and instance and database of its
        arrival or SENT; `level` as in `locate_unresolved`. `messages` of it; most messages first.
    """
    if warehouse.read_as_of(UNRESOLVED, as_of).isEmpty():
        return []
    rows = (
        locate_unresolved(warehouse, as_of).groupBy(*KIND_OF_MESSAGE).agg(F.count(F.lit(1)).alias("messages"))
    )
    return collect_rows(rows.orderBy(F.desc("messages"), *KIND_OF_MESSAGE))


def locate_unresolved(warehouse: Warehouse, as_of: datetime, *, are_later_known: bool = True) -> DataFrame:
    """The messages of `unresolved` at a published as_of, with what is known of the endpoint that holds them.

    Args:
        warehouse: what to read.
        as_of: the as_of.
        are_later_known: whether endpoints and events count that come at as_of or later.

    Returns:
        One row per message and kind: UNRESOLVED_KEY, `message_id`, `conversation_id`, `is_initiator` (of the
        holding endpoint), `since`, its arrival or its SENT, and `status`, the transmission_status in the
        newest snapshot up to as_of that shows it. Names are those of the endpoints, else those that the rows
        of snapshots have. `level` is that of its row in a transmission queue, null where an input shows the
        endpoint or the row does not say it.
    """
    lost = warehouse.read_as_of(UNRESOLVED, as_of).select("kind", "reason", F.col("id").alias("message_id"))
    events = warehouse.read_open(MESSAGES, as_of)
    messages = _locate_messages(events if are_later_known else events_before(events, as_of), lost, as_of)
    endpoints = warehouse.read_open(ENDPOINTS, as_of).join(
        messages.select("conversation_id").distinct(), "conversation_id", "left_semi"
    )
    if not are_later_known:
        endpoints = endpoints.where(F.col("created_at") < F.lit(as_of))
    holding = endpoints.select(
        "conversation_id",
        "is_initiator",
        *[F.col(name).alias(f"own_{name}") for name in (*UNRESOLVED_KEY[2:], "priority")],
    )
    other = endpoints.select(
        "conversation_id",
        (~F.col("is_initiator")).alias("is_initiator"),
        F.col("contract").alias("far_contract"),
        F.col("remote_service").alias("far_local_service"),
        F.col("local_service").alias("far_remote_service"),
    )
    is_sender = F.col("kind") == "transmission"
    side = F.when(is_sender, F.col("sent_by_initiator")).otherwise(~F.col("sent_by_initiator"))
    key = ["conversation_id", "is_initiator"]
    shown = {
        "contract": F.col("shown_contract"),
        "local_service": F.when(is_sender, F.col("shown_from_service")).otherwise(F.col("shown_to_service")),
        "remote_service": F.when(is_sender, F.col("shown_to_service")).otherwise(F.col("shown_from_service")),
    }
    return (
        lost.join(messages, "message_id", "left")
        .withColumn("is_initiator", side)
        .join(holding, key, "left")
        .join(other, key, "left")
        .select(
            "kind",
            "reason",
            *[F.coalesce(f"own_{name}", f"event_{name}").alias(name) for name in ("instance", "database")],
            *[F.coalesce(f"own_{name}", f"far_{name}", said).alias(name) for name, said in shown.items()],
            "message_id",
            *key,
            F.when(is_sender, F.col("sent_at")).otherwise(F.col("arrived_at")).alias("since"),
            F.when(is_sender, F.col("status")).alias("status"),
            F.when(is_sender & F.col("own_priority").isNull(), F.col("shown_priority")).alias("level"),
        )
    )


def describe_unresolved(rows: Sequence[Row], catalog: Catalog, catalog_path: str | None) -> Iterator[str]:
    """Say in lines of text which messages are not matched to a queue and what to add to the catalog."""
    if not rows:
        return
    by_reason = Counter[str]()
    for row in rows:
        by_reason[row["reason"]] += row["messages"]
    reasons = ", ".join(f"{messages:,} {reason}" for reason, messages in by_reason.most_common())
    yield f"{count_unmatched(by_reason.total())}: {reasons}"
    for row in rows[:LINES_SHOWN]:
        yield f"  {row['messages']:,}: {_reason(row)}"
    if len(rows) > LINES_SHOWN:
        more_kinds = format_count(len(rows) - LINES_SHOWN, "more kind")
        yield f"  and {more_kinds}: {command_line('waiting', '--format', 'json')}"
    lacking = dict.fromkeys(
        (row["instance"], row["database"], row["local_service"])
        for row in rows
        if row["reason"] == SERVICE_MISSING
    )
    if lacking:
        yield from _describe_additions(list(lacking), catalog, catalog_path)


def _locate_messages(events: DataFrame, lost: DataFrame, as_of: datetime) -> DataFrame:
    """Return what events say of each message: conversation, direction, times, names, and the server's text.

    Instance and database are those where it arrived, else was sent.
    """
    event_type = F.col("event_type")
    rows = events.join(lost.select("message_id").distinct(), "message_id", "left_semi").withColumn(
        "place", order_of_events()
    )

    def where(name: str) -> Column:
        arrival = F.min_by(name, F.when(event_type.isin(*ARRIVALS), F.col("place")))
        sent = F.min_by(name, F.when(event_type == "SENT", F.col("place")))
        return F.coalesce(arrival, sent, F.min_by(name, "place")).alias(f"event_{name}")

    is_waiting = is_sent() & (F.col("seen_at") <= F.lit(as_of))
    return rows.groupBy("message_id").agg(
        *[
            F.max(f"shown_{name}").alias(f"shown_{name}")
            for name in ("contract", "from_service", "to_service", "priority")
        ],
        F.max_by("transmission_status", F.when(is_waiting, F.col("seen_at"))).alias("status"),
        F.min_by("conversation_id", "place").alias("conversation_id"),
        F.min_by("sent_by_initiator", "place").alias("sent_by_initiator"),
        where("instance"),
        where("database"),
        F.min(F.when(is_sent(), F.col("event_time"))).alias("sent_at"),
        F.min(F.when(event_type.isin(*ARRIVALS), F.col("event_time"))).alias("arrived_at"),
    )


def _reason(row: Mapping[str, Any]) -> str:
    where = f" in {format_database((row['instance'], row['database']))}" if row["instance"] else ""
    if row["reason"] == SERVICE_MISSING:
        return f"the catalog has no service {row['local_service']}{where} ({SERVICE_MISSING})"
    if row["reason"] == "handle_unknown":
        names = (row[name] for name in ("local_service", "remote_service"))
        own, far = (name or "a service that is not known" for name in names)
        ends = (own, far) if row["kind"] == "transmission" else (far, own)
        between = f", from {ends[0]} to {ends[1]}" if any(row[name] for name in NAMES) else ""
        level = "" if row["level"] is None else f", at level {row['level']}"
        said = f"{where} under handles that no endpoint has{between}{level}"
        return f"a snapshot shows them{said} (handle_unknown)"
    of_service = f" of service {row['local_service']}" if row["local_service"] else ""
    side = "sending" if row["kind"] == "transmission" else "receiving"
    return (
        f"no input shows the creation of the {side} endpoint{of_service}{where} before as_of "
        f"({row['reason']})"
    )


def _describe_additions(
    lacking: Sequence[tuple[str, str, str]], catalog: Catalog, catalog_path: str | None
) -> Iterator[str]:
    """What to add to the catalog, as YAML; the queue of a service that the catalog has elsewhere is taken."""
    known: dict[str, tuple[str, str, str]] = {}
    for instance, database, service, queue in catalog.service_bindings():
        known.setdefault(service, (instance, database, queue))
    elsewhere = {row[:2]: known[row[2]][:2] for row in lacking if row[2] in known}
    for place, other in elsewhere.items():
        yield (
            f"The catalog has these services in {format_database(other)}: if that is "
            f"{format_database(place)}, "
            "correct its name there."
        )
    misses_queues = any(service not in known for _, _, service in lacking)
    names = f", with the name of each queue in place of {NO_QUEUE}..." if misses_queues else ""
    file = catalog_path or "a catalog file, which the settings name under catalog"
    yield f"Add to {file}{names}:"
    yield from _format_additions(lacking[:SERVICES_SHOWN], known, catalog if catalog_path else Catalog())
    if len(lacking) > SERVICES_SHOWN:
        more_services = format_count(len(lacking) - SERVICES_SHOWN, "more service")
        yield f"# and {more_services}: {command_line('waiting', '--format', 'json')}"


def _format_additions(
    lacking: Sequence[tuple[str, str, str]], known: Mapping[str, tuple[str, str, str]], catalog: Catalog
) -> Iterator[str]:
    """The lines of YAML; an instance, database or queue that the catalog has says so beside it."""
    there = {row[:2] for row in catalog.database_rows()}
    queues_there = {row[:3] for row in catalog.queue_rows()}
    instances_there = {instance.name for instance in catalog.instances}
    yield "instances:"
    for instance in dict.fromkeys(name for name, _, _ in lacking):
        yield f"  - name: {_format_yaml(instance)}{_remark(instance in instances_there)}"
        yield "    databases:"
        for database in dict.fromkeys(name for of, name, _ in lacking if of == instance):
            place = instance, database
            services = [service for *of, service in lacking if tuple(of) == place]
            queues = [known[service][2] if service in known else NO_QUEUE + service for service in services]
            yield f"      - name: {_format_yaml(database)}{_remark(place in there)}"
            yield "        queues:"
            for queue in dict.fromkeys(queues):
                yield f"          - {{name: {_format_yaml(queue)}}}{_remark((*place, queue) in queues_there)}"
            yield "        services:"
            for service, queue in zip(services, queues, strict=True):
                yield f"          - {{name: {_format_yaml(service)}, queue: {_format_yaml(queue)}}}"


def _remark(is_there: bool) -> str:
    return EXISTS_REMARK if is_there else ""


def _format_yaml(name: str) -> str:
    """A name as YAML reads it back, also after a terminal has written out what is not seen."""
    is_plain = PLAIN_NAME.fullmatch(name) and name.lower() not in YAML_WORDS
    if is_plain:
        return name
    return yaml.dump(name, allow_unicode=True, default_style='"', width=inf).rstrip("\n")
