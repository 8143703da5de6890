"""The open messages with all that their causes depend on, and which causes hold."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.activation.queues_off import UNKNOWN
from pipelines.activation.read import ENOUGH
from pipelines.config.queue_filter import queue_text
from pipelines.console.wording import format_queue
from pipelines.engine.frames import null_of, small_frame
from pipelines.ladder.ladder import is_in_period
from pipelines.questions.names_in_use import known_in_use
from pipelines.rules.ladder import NO_RULES, ladders_at, ladders_of
from pipelines.rules.statements import DEFAULT_LEVEL
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.settings.load import Settings
from pipelines.storage.collect import collect_rows
from pipelines.why.cause_bits import codes_of, find_causes
from pipelines.why.causes.cause import Explained
from pipelines.why.databases import find_of_databases
from pipelines.why.holders import with_endpoints
from pipelines.why.level_facts import find_levels, levels_frame
from pipelines.why.monitors import ACTIVATION_OFF, QueueName, shown_monitors, static_reasons
from pipelines.why.order import (
    FLAGS,
    Level,
    LevelOrder,
    find_order,
    with_order,
    with_own_first,
    without_order,
)
from pipelines.why.places import PLACE, Place, Row, place_of
from pipelines.why.read import PublishedTables
from pipelines.why.receives import locks_of, not_received, receives_of
from pipelines.why.rules import KIND, NEAR, VERDICTS, HeldKind, find_near_misses, judge_kinds, near_rows
from pipelines.why.standing import find_queues_off, find_standing
from schemas.keys import ENDPOINT_NAMES, QUEUE

OF_CONDITIONS = (
    *FLAGS,
    *("is_bare", "is_silent", "is_newer", "has_raised", "near_level", "sent_level", "block", "reason"),
    *("endpoint_ladder_step", "endpoint_level_source", "endpoint_created_at", "today_since", "decided_until"),
    *("notified_at", "silence", "due_until", "is_known", "still_since"),
    *("monitor_is_dropped", "monitor_is_missing"),
)
"""Columns on which conditions of causes depend, and nothing else: wide rows cost time."""


def explained_rows(tables: PublishedTables, settings: Settings, *, is_order_told: bool = True) -> Explained:
    """Find the causes of all open messages at a published as_of.

    Args:
        tables: what to read.
        settings: bindings, monitors and snapshots.
        is_order_told: whether causes that only say what is ahead are found, too.
    """
    catalog, as_of = settings.catalog, tables.as_of
    off = tables.queues_off()
    levels = find_levels(tables)
    there = {_name_of(row) for row in levels if row["kind"] == "receive"}
    ready = {_name_of(row) for row in levels if row["kind"] == "receive" and row["is_ready"]}
    monitors = shown_monitors(tables, catalog)
    is_computed = settings.activation is not None
    receives = receives_of(tables, catalog, ready, monitors, is_activation_computed=is_computed)
    verdicts, near = _judge(tables, settings)
    brokers_off = _brokers_off(settings, as_of)
    rows = tables.open_messages()
    order: Mapping[Level, LevelOrder] = {}
    has_blocks = False
    if is_order_told:
        positions = tables.materialize(tables.positions())
        is_in_block = F.col("block").isNotNull()
        # Few nights have blocks, and the plan of their order takes long.
        has_blocks = not positions.where(is_in_block).isEmpty()
        order = find_order(positions.where(~is_in_block) if has_blocks else positions)
        rows = with_own_first(rows, positions)
    rows = _with_verdicts(with_endpoints(rows, tables.endpoints()), verdicts)
    of_levels = levels_frame(tables.spark, levels, order, receives, monitors)
    rows = rows.join(F.broadcast(of_levels), [*PLACE, "counts_as"], "left")
    rows = with_order(rows, has_blocks=has_blocks) if is_order_told else without_order(rows)
    rows = rows.unionByName(tables.unresolved(), allowMissingColumns=True)
    # Below the union a column of nulls would not be known as one, and each of its conditions computed.
    rows = _with_brokers(_with_rollbacks(tables, rows), brokers_off)
    rows = tables.materialize(_with_causes(rows).drop(*OF_CONDITIONS))
    return Explained(
        rows=rows,
        near=near,
        locks=partial(locks_of, tables, catalog),
        queues_off=off,
        off={format_queue(row): _about_off(row) for row in off},
        of_databases=[
            *find_of_databases(tables, settings),
            *_without_counted(
                rows, find_standing(tables.spark, settings.catalog_history, monitors, brokers_off, as_of)
            ),
            *find_queues_off(tables, catalog, {*there, *map(_name_of, off)}),
        ],
        tasks={queue_text(name): each.tasks_running for name, each in monitors.items()},
        not_activated={
            queue_text(name)
            for name, reason in static_reasons(catalog, there).items()
            if reason == ACTIVATION_OFF
        },
        groups=cache(partial(_count_groups, rows)),
    )


def _name_of(row: Row) -> QueueName:
    return row["instance"], row["database"], row["queue"]


def _count_groups(rows: DataFrame) -> dict[str, int]:
    groups = F.count_distinct("conversation_group_id").alias("groups")
    counted = collect_rows(rows.where("kind = 'receive'").groupBy(*QUEUE).agg(groups))
    return {format_queue(row): row["groups"] for row in counted}


def _without_counted(rows: DataFrame, standing: Sequence[tuple[Place, Row]]) -> list[tuple[Place, Row]]:
    """What holds at places, without the places and databases whose messages have the cause."""
    if not standing:
        return []
    placed = rows.where("kind <> 'unresolved'").select(*PLACE, "broker_database", "causes")
    counted = set()
    for row in collect_rows(placed.distinct()):
        database = ("receive", row["instance"], row["broker_database"], "")
        counted |= {(place, code) for place in (place_of(row), database) for code in codes_of(row["causes"])}
    return [(place, row) for place, row in standing if (place, row["code"]) not in counted]


def _brokers_off(settings: Settings, as_of: datetime) -> dict[tuple[str, str], datetime]:
    """The databases that have Service Broker off at as_of, with the moment of the snapshot that shows it.

    It is the newest one up to as_of. Before all snapshots it is the first: its facts hold before it, too.
    """
    newest: dict[tuple[str, str], ServerSnapshot] = {}
    for each in sorted(settings.snapshots, key=lambda each: each.taken_at):
        if each.is_broker_enabled is not None and (each.taken_at <= as_of or each.database_key not in newest):
            newest[each.database_key] = each
    return {key: each.taken_at for key, each in newest.items() if not each.is_broker_enabled}


def _with_rollbacks(tables: PublishedTables, rows: DataFrame) -> DataFrame:
    """Add how often messages of queues were rolled back: `times` and `last_transaction_id`, else null."""
    times = tables.materialize(tables.rollbacks())
    if times.isEmpty():
        return rows.withColumns({"times": null_of("bigint"), "last_transaction_id": null_of("string")})
    of_queues = times.withColumnRenamed("rollbacks", "times").withColumn("kind", F.lit("receive"))
    return rows.join(of_queues.drop("last_received_at"), ["kind", "message_id"], "left")


def _with_brokers(rows: DataFrame, off: Mapping[tuple[str, str], datetime]) -> DataFrame:
    """Add `broker_database`, and `broker_off_at` where a snapshot shows that its broker is off."""
    rows = rows.withColumn("broker_database", F.coalesce("held_by", "database"))
    if not off:
        return rows.withColumn("broker_off_at", null_of("timestamp"))
    shown = small_frame(
        rows.sparkSession,
        [(*key, seen_at) for key, seen_at in off.items()],
        "instance string, broker_database string, broker_off_at timestamp",
    )
    return rows.join(F.broadcast(shown), ["instance", "broker_database"], "left")


def _judge(tables: PublishedTables, settings: Settings) -> tuple[DataFrame, DataFrame]:
    """What the rules at T say of the kinds of endpoints, as frames of VERDICTS and NEAR.

    Nothing is said of a kind whose rules are not known, or where a name that is not known decides.
    """
    created_at = F.col("created_at")
    grouped = collect_rows(
        tables.endpoints()
        .groupBy(*ENDPOINT_NAMES)
        .agg(
            F.min("priority").alias("lowest"),
            F.min(created_at).alias("first"),
            F.max(created_at).alias("last"),
        )
    )
    versions = tables.rule_versions()
    ladders, histories = ladders_at(versions, tables.as_of), ladders_of(versions)
    known, kinds = settings.known_rules(tables.as_of), []
    for row in grouped:
        instance, database, contract, local, remote = (row[name] for name in ENDPOINT_NAMES)
        kind = instance, database, contract, local, remote
        ladder = ladders.get((instance, database), NO_RULES)
        if known.has(instance, database) and not ladder.find_candidates((contract, local, remote)):
            kinds.append(HeldKind(kind, row["lowest"], row["first"], row["last"]))
    is_in_use = known_in_use(settings.catalog, grouped)
    near = find_near_misses([each.kind for each in kinds], ladders, is_in_use)
    near = tables.without_names_in_use(near)
    verdicts = judge_kinds(kinds, ladders, histories, near)
    return (
        small_frame(tables.spark, verdicts, VERDICTS),
        small_frame(tables.spark, near_rows(near), NEAR),
    )


def _with_verdicts(rows: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Add what the rules at T say of the holding endpoint."""
    created_at = F.col("endpoint_created_at")
    condition = is_in_period(created_at, F.col("created_from"), F.col("created_until"))
    for name in KIND:
        condition &= F.col(f"kind.{name}") == F.col(f"row.{name}")
    said = [name for name in verdicts.columns if name not in (*KIND, "created_from", "created_until")]
    known = (
        F.broadcast(verdicts).alias("kind").join(rows.alias("row"), condition, "right").select("row.*", *said)
    )
    is_by_ladder = F.coalesce("endpoint_level_source", F.lit("ladder")) == "ladder"
    changed = F.when(F.col("today_since") > created_at, F.col("today_since")).when(
        is_by_ladder, F.col("decided_until")
    )
    return known.withColumn("changed_since", changed)


def _with_causes(rows: DataFrame) -> DataFrame:
    """Add `causes`, the bits of those that hold, and the columns that only their conditions name.

    `is_bare`: no rule of the holding endpoint counts, and it has the default; `is_silent`, `silence_reason`
    and `known_since`: `not_received`.
    """
    level = F.col("endpoint_priority")
    by_rule = F.col("endpoint_ladder_step").isNotNull()
    silent, reason, known_since = not_received()
    rows = rows.withColumns(
        {
            "is_bare": ~by_rule & (level == DEFAULT_LEVEL),
            "is_silent": silent,
            "silence_reason": F.when(silent, reason),
            "known_since": F.when(silent, known_since),
        }
    )
    return rows.withColumn("causes", find_causes())


def _about_off(row: Mapping[str, Any]) -> dict[str, Any]:
    """How it is known that a queue is off, and its message that was rolled back ENOUGH times."""
    poison = row["rolled_back"]
    return {
        **{name: row[name] for name in QUEUE},
        "is_seen": row["seen_off_at"] is not None,
        "is_unknown": UNKNOWN in row,
        "poison_message_id": poison["message_id"] if poison and poison["rollbacks"] >= ENOUGH else None,
    }
