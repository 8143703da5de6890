"""The open messages with all that their causes depend on, and which causes hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation.queues_off import UNKNOWN
from pipelines.activation.read import ENOUGH, queues_off_at, rollbacks
from pipelines.config.catalog import Catalog
from pipelines.config.rules.limits import CRITERIA
from pipelines.console.wording import format_queue
from pipelines.engine.frames import among, small_frame
from pipelines.engine.materialize import Materialize
from pipelines.ladder.ladder import DEFAULT_PRIORITY
from pipelines.state.endpoints import SIDE
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.why.codes import DETAILS, PLACE
from pipelines.why.open_rows import open_rows
from pipelines.why.order import with_order, without_order
from pipelines.why.receives import locks_of, not_received, receives_of
from pipelines.why.rules import KIND, changed_rules, kinds_at, lost_rules, near_rules
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES


@dataclass(frozen=True)
class Explained:
    """The open messages of an as_of.

    Attributes:
        rows: `open_rows` `with_order` and all that causes depend on, with `codes`, the causes of each.
        near: `near_rules` of their kinds.
        locks: `locks_of` of groups, as few answers ask for it.
        off: the queues that are off: their names, `is_seen` (only a snapshot shows it), `is_unknown` (since
            when is not known) and `poison_message_id`, by name as printed.
    """

    rows: DataFrame
    near: DataFrame
    locks: Callable[[DataFrame], DataFrame]
    off: Mapping[str, Mapping[str, Any]]


def explained_rows(
    warehouse: Warehouse,
    catalog: Catalog,
    *,
    as_of: datetime,
    is_activation_computed: bool,
    materialize: Materialize,
    off: Sequence[Mapping[str, Any]] | None = None,
    is_order_told: bool = True,
) -> Explained:
    """Find the causes of all open messages at a published as_of.

    Args:
        warehouse: the tables.
        catalog: bindings, honor flags and monitors.
        as_of: an as_of that was published.
        is_activation_computed: whether `activation` has its rows.
        materialize: computes a frame once.
        off: `queues_off_at`, if it is known.
        is_order_told: whether causes that only say what is ahead are found, too.
    """
    if off is None:
        off = queues_off_at(warehouse, as_of)
    rows = materialize(open_rows(warehouse, as_of))
    rows = materialize(with_order(rows)) if is_order_told else without_order(rows)
    moment = F.lit(as_of)
    rules = warehouse.read(PRIORITY_RULES)
    held = rows.where("endpoint_priority is not null")
    kinds = materialize(kinds_at(held, rules, moment))
    near = materialize(_in_use_apart(warehouse, catalog, near_rules(kinds, rules, moment), as_of))
    rows = _with_rules(warehouse, rows, kinds, near, lost_rules(kinds, rules, moment), rules, as_of)
    ready = collect_rows(rows.where("state = 'ready'").select(*QUEUE).distinct())
    queues = [(row["instance"], row["database"], row["queue"]) for row in ready]
    receives = receives_of(warehouse, catalog, queues, as_of, is_activation_computed=is_activation_computed)
    times = rollbacks(warehouse, held.where("kind = 'receive'").select("message_id").distinct(), as_of)
    taken = times.withColumnRenamed("rollbacks", "times").drop("last_received_at")
    honoring = small_frame(
        warehouse.spark,
        [(instance, database) for instance, database, honors in catalog.database_rows() if honors],
        "instance string, held_by string",
    )
    rows = (
        rows.join(F.broadcast(receives), QUEUE, "left")
        .join(taken, "message_id", "left")
        .join(F.broadcast(honoring.withColumn("honors", F.lit(True))), ["instance", "held_by"], "left")
    )
    return Explained(
        rows=materialize(_with_codes(rows)),
        near=near,
        locks=partial(locks_of, warehouse, catalog, as_of),
        off={format_queue(row): _about_off(row) for row in off},
    )


def _in_use_apart(warehouse: Warehouse, catalog: Catalog, near: DataFrame, as_of: datetime) -> DataFrame:
    """`near_rules` without those whose rule's spelling, at a distance of letters, is a name in use."""
    spelled = collect_rows(
        near.where("not is_same")
        .select("endpoint_instance", "endpoint_database", "criterion", "rule_has")
        .distinct()
    )
    if not spelled:
        return near
    in_catalog = {row[2] for row in catalog.service_bindings()}
    used = [
        tuple(row.values())
        for row in spelled
        if row["criterion"] != "contract" and row["rule_has"] in in_catalog
    ]
    endpoints = warehouse.read(ENDPOINTS).where(F.col("created_at") < F.lit(as_of))
    for criterion in CRITERIA:
        names = sorted({(row["rule_has"],) for row in spelled if row["criterion"] == criterion})
        if names:
            found = among(endpoints, names, f"{criterion} string")
            used += [
                (row["instance"], row["database"], criterion, row[criterion])
                for row in collect_rows(found.select("instance", "database", criterion).distinct())
            ]
    apart = small_frame(
        warehouse.spark,
        sorted(set(used)),
        "endpoint_instance string, endpoint_database string, criterion string, rule_has string",
    )
    keys = ["endpoint_instance", "endpoint_database", "criterion", "rule_has"]
    return near.where("is_same").unionByName(
        near.where("not is_same").join(F.broadcast(apart), keys, "left_anti").select(*near.columns)
    )


def _with_rules(
    warehouse: Warehouse,
    rows: DataFrame,
    kinds: DataFrame,
    near: DataFrame,
    lost: DataFrame,
    rules: DataFrame,
    as_of: datetime,
) -> DataFrame:
    """Add what the rules at T say of the holding endpoint, and the other endpoint if it has a rule."""
    nearest = near.groupBy(*KIND).agg(F.max("near_level").alias("near_level"))
    about = kinds.join(nearest, list(KIND), "left").join(lost, list(KIND), "left")
    known = F.broadcast(about).join(rows, list(KIND), "right")
    endpoint = ["endpoint_priority", "endpoint_rule_name", "endpoint_level_source", "endpoint_created_at"]
    holders = known.where(F.col("today") > F.col("endpoint_priority")).select(
        *SIDE, *KIND, *endpoint, "today", "today_rule", "today_since"
    )
    changed = changed_rules(holders.distinct(), rules)
    others = warehouse.read_open(ENDPOINTS, as_of).where(
        (F.col("created_at") < F.lit(as_of)) & F.col("ladder_step").isNotNull()
    )
    others = others.where(F.col("priority") > DEFAULT_PRIORITY).select(
        "conversation_id",
        (~F.col("is_initiator")).alias("is_initiator"),
        F.col("instance").alias("other_instance"),
        F.col("database").alias("other_database"),
        F.col("rule_name").alias("other_rule"),
        F.col("priority").alias("other_level"),
    )
    return known.join(changed, SIDE, "left").join(others, SIDE, "left")


def _with_codes(rows: DataFrame) -> DataFrame:
    """Add `codes`, the causes that hold."""
    level = F.col("endpoint_priority")
    is_held = level.isNotNull()
    is_bare = is_held & F.col("endpoint_ladder_step").isNull() & (level == DEFAULT_PRIORITY)
    silent, reason = not_received()
    conditions: dict[str, Column] = {
        # The same endpoint may hold one message and be named by another that is forwarded or not placed.
        "rule_newer_than_endpoint": is_held & F.col("is_newer"),
        "rule_changed_since": is_held & ~F.col("is_newer"),
        "near_miss": F.col("near_level") > level,
        "other_side_only": is_bare & F.col("other_level").isNotNull(),
        "more_specific_rule": F.col("lost_level") > level,
    }
    any_rule = F.lit(False)
    for condition in conditions.values():
        any_rule |= F.coalesce(condition, F.lit(False))
    has_rule = is_held & F.col("endpoint_ladder_step").isNotNull() & (level > DEFAULT_PRIORITY)
    ruled = rows.where(has_rule).select(*PLACE).distinct().withColumn("has_ruled", F.lit(True))
    rows = rows.join(F.broadcast(ruled), list(PLACE), "left")
    is_sent = F.col("kind") == "transmission"
    conditions |= {
        "no_rule": is_bare & ~any_rule & F.col("has_ruled"),
        "outranked": F.col("is_outranked"),
        "own_group_first": F.col("is_behind_own"),
        "older_first": F.col("is_behind_older"),
        "first_in_line": F.when(is_sent, F.col("position") == 1).otherwise(F.col("receive_number") == 1),
        "group_locked": F.col("state") == "group_locked",
        "queue_off": (F.col("state") == "queue_off") | F.col("waits_for").isNotNull(),
        "not_received": silent,
        "rolled_back": F.col("times").isNotNull() & ~is_sent,
        "honor_off": is_sent & is_held & (F.col("sent_level") > DEFAULT_PRIORITY) & F.col("honors").isNull(),
        "transmission_status": F.col("status").isNotNull(),
        **{
            code: F.col("reason") == code
            for code in ("endpoint_unknown", "service_not_in_catalog", "handle_unknown")
        },
    }
    codes = [F.when(conditions[code], F.lit(code)) for code in DETAILS]
    return rows.withColumns(
        {
            "codes": F.filter(F.array(*codes), lambda code: code.isNotNull()),
            "silence_reason": F.when(silent, reason),
        }
    )


def _about_off(row: Mapping[str, Any]) -> dict[str, Any]:
    """How it is known that a queue is off, and its message that was rolled back ENOUGH times."""
    poison = row["rolled_back"]
    return {
        **{name: row[name] for name in QUEUE},
        "is_seen": row["seen_off_at"] is not None,
        "is_unknown": UNKNOWN in row,
        "poison_message_id": poison["message_id"] if poison and poison["rollbacks"] >= ENOUGH else None,
    }
