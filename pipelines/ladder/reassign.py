"""Resolve the endpoints of an interval again, under the current rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import PipelineError
from pipelines.config.instants import format_instant
from pipelines.console.invocation import command_line
from pipelines.ladder.restate import DECIDED, WAS, changes_by_kind, restated
from pipelines.ladder.write import stored_history
from pipelines.settings.load import Settings
from pipelines.storage.collect import collect_rows
from pipelines.storage.pruned_days import require_left
from pipelines.storage.published import require_whole
from pipelines.storage.ranges import of_partitions
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES

KINDS_SHOWN = 20
KIND = ("instance", "database", "was_priority", "was_rule_name", "priority", "rule_name", "endpoints")


@dataclass(frozen=True)
class Reassignment:
    """The changes of the endpoints of an interval.

    Attributes:
        endpoints: endpoints created in the interval.
        changing: endpoints whose priority, rule or step changes.
        changing_level: endpoints whose priority changes.
        kinds: the most frequent changes as (instance, database, priority and rule before, priority and rule
            after, endpoints), the most frequent first.
        all_kinds: the number of different changes.
    """

    endpoints: int
    changing: int
    changing_level: int
    kinds: tuple[tuple[str, str, int, str | None, int, str | None, int], ...]
    all_kinds: int


def reassign(
    warehouse: Warehouse, settings: Settings, since: datetime, until: datetime, *, apply: bool
) -> Reassignment:
    """Resolve the endpoints created in [since, until) again; with `apply`, write the changes.

    Open and closed endpoints count. One atomic commit replaces the partitions of `endpoints` that hold a
    changed row; their other rows stay the same. Later batches keep the new priorities. A second call changes
    nothing.

    Args:
        warehouse: the tables.
        settings: the rules, which must be those of `priority_rules`.
        since: first instant of creation.
        until: first instant after the interval.
        apply: whether to write.

    Returns:
        The changes, written or not.

    Raises:
        ConfigError: the day of `since` was pruned.
        PipelineError: the rule files are not what was loaded last.
        WarehouseError: a table has lost commits.
    """
    subject = f"command line: --from {format_instant(since)}"
    require_left(warehouse.first_day, since, subject=subject, moment=since)
    require_whole(warehouse)
    if stored_history(warehouse) != list(settings.rule_history):
        raise PipelineError(
            f"{settings.path}: rules: the files are not what priority_rules holds; "
            f"run {command_line('rules', config=settings.path)} first"
        )
    rules = warehouse.read(PRIORITY_RULES)
    in_interval = (F.col("created_at") >= F.lit(since)) & (F.col("created_at") < F.lit(until))
    # Endpoints created since then are open since then.
    endpoints = warehouse.read_open(ENDPOINTS, since).where(in_interval)
    with warehouse.materialized(restated(endpoints, rules).where("changes")) as changing:
        outcome = _outcome(endpoints.count(), changing)
        if apply and outcome.changing:
            partitions = changing.select(*ENDPOINTS.partition_by).distinct().collect()
            where = of_partitions((row.closed_on, row.fold) for row in partitions)
            resolved = restated(warehouse.read(ENDPOINTS).where(where), rules)
            decided = {name: F.when(in_interval, F.col(name)).otherwise(F.col(WAS[name])) for name in DECIDED}
            warehouse.replace(ENDPOINTS, resolved.withColumns(decided).select(*ENDPOINTS.names), where=where)
    return outcome


def _outcome(endpoints: int, changing: DataFrame) -> Reassignment:
    # Few rows: one for each pair of rules.
    kinds = collect_rows(
        changes_by_kind(changing).orderBy(F.desc("endpoints"), *KIND[:-1], "was_ladder_step", "ladder_step")
    )
    return Reassignment(
        endpoints,
        sum(kind["endpoints"] for kind in kinds),
        sum(kind["endpoints"] for kind in kinds if kind["priority"] != kind["was_priority"]),
        tuple(_in_words(kind) for kind in kinds[:KINDS_SHOWN]),
        len(kinds),
    )


def _in_words(kind: Mapping[str, Any]) -> tuple[str, str, int, str | None, int, str | None, int]:
    instance, database, was_level, was_rule, level, rule, endpoints = (kind[name] for name in KIND)
    return instance, database, was_level, was_rule, level, rule, endpoints
