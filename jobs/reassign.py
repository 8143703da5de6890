"""Decide the endpoints of an interval anew, under the rules as they are now.

./spark-submit.sh jobs/reassign.py --config conf/local.yaml --from 2026-11-20 --to 2026-11-21
./spark-submit.sh jobs/reassign.py --config conf/local.yaml --from 2026-11-20 --to 2026-11-21 --apply
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession, functions as F
from rich.table import Table as Grid

from jobs.display import terminal
from jobs.launch import Parser, instant, launch, session
from jobs.rules import stored_history
from pipelines.errors import ConfigError, PipelineError
from pipelines.ledger.endpoints import RESOLVED_FROM
from pipelines.ledger.priorities import GIVEN
from pipelines.ledger.restate import WAS, changes_by_kind, restated
from pipelines.settings.instants import format_instant
from pipelines.settings.load import Settings, load_settings
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES
from storage.warehouse import Warehouse

KINDS_SHOWN = 20


@dataclass(frozen=True)
class Reassignment:
    """What became of the endpoints of an interval: how many there are, change, and change their level.

    `kinds` counts the most frequent changes as (instance, database, level and rule before, level and rule
    after, endpoints), the most frequent first; `all_kinds` says how many there are.
    """

    endpoints: int
    changing: int
    changing_level: int
    kinds: tuple[tuple[str, str, int, str | None, int, str | None, int], ...]
    all_kinds: int


def run(
    spark: SparkSession, settings: Settings, since: datetime, until: datetime, *, apply: bool
) -> Reassignment:
    """Say what would change for the endpoints created in [since, until), and change it if told to.

    Open and closed endpoints alike. What changes is written in one atomic commit that replaces the
    partitions of `endpoints` that hold such a row; everything else of them is written as it was. Later
    folds keep the new priorities as they keep all others. Done again, it changes nothing.

    Args:
        spark: the session.
        settings: the warehouse, and the rules, which have to be those of `priority_rules`.
        since: first instant of creation.
        until: first instant of creation that is not concerned any more.
        apply: whether to write.

    Returns:
        What changes, or would.

    Raises:
        PipelineError: the rule files are not what was loaded last.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    if stored_history(warehouse) != list(settings.rule_history):
        raise PipelineError(
            f"{settings.path}: rules: the files are not what priority_rules holds; "
            f"run jobs/rules.py --config {settings.path} first"
        )
    rules = warehouse.read(PRIORITY_RULES)
    # No row is closed before the day of its endpoint's creation.
    near = f"closed_on IS NULL OR closed_on >= DATE'{since.date()}'"
    concerned = (F.col("created_at") >= F.lit(since)) & (F.col("created_at") < F.lit(until))
    columns = (*RESOLVED_FROM, *GIVEN, *ENDPOINTS.partition_by)
    endpoints = warehouse.read(ENDPOINTS).where(near).where(concerned).select(*columns)
    decided = restated(endpoints, rules).persist()
    try:
        outcome = _outcome(decided)
        _say(outcome, since, until)
        if apply and outcome.changing:
            where = _partitions(decided.where("changes"))
            old = warehouse.read(ENDPOINTS).where(where)
            anew = restated(old, rules)
            given = {name: F.when(concerned, F.col(name)).otherwise(F.col(WAS[name])) for name in GIVEN}
            warehouse.replace(ENDPOINTS, anew.withColumns(given).select(*ENDPOINTS.names), where=where)
    finally:
        decided.unpersist()
    return outcome


def _outcome(decided: DataFrame) -> Reassignment:
    levels = F.col("priority") != F.col("was_priority")
    totals = decided.agg(
        F.count(F.lit(1)).alias("endpoints"),
        F.count_if("changes").alias("changing"),
        F.count_if(levels).alias("changing_level"),
    ).first()
    assert totals is not None
    kinds = changes_by_kind(decided).persist()
    columns = ("instance", "database", "was_priority", "was_rule_name", "priority", "rule_name", "endpoints")
    first = kinds.orderBy(F.desc("endpoints"), *columns[:-1]).limit(KINDS_SHOWN).select(*columns).collect()
    all_kinds = kinds.count()
    kinds.unpersist()
    return Reassignment(
        totals.endpoints,
        totals.changing,
        totals.changing_level,
        tuple(tuple(row) for row in first),
        all_kinds,
    )


def _partitions(rows: DataFrame) -> str:
    """The partitions that hold these rows, as one SQL predicate."""
    found = rows.select(*ENDPOINTS.partition_by).distinct().collect()
    predicates = sorted(
        " AND ".join(
            f"{name} IS NULL" if value is None else f"{name} = {_literal(value)}"
            for name, value in row.asDict().items()
        )
        for row in found
    )
    return " OR ".join(f"({predicate})" for predicate in predicates)


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else f"DATE'{value}'"


def _say(outcome: Reassignment, since: datetime, until: datetime) -> None:
    console = terminal()
    console.print(
        f"{outcome.endpoints:,} endpoints were created from {format_instant(since)} up to "
        f"{format_instant(until)}; {outcome.changing:,} of them change, "
        f"{outcome.changing_level:,} their level",
        soft_wrap=True,
    )
    if not outcome.kinds:
        return
    grid = Grid("instance", "database", "level was", "by rule", "becomes", "by rule", "endpoints")
    for kind in outcome.kinds:
        grid.add_row(*["no rule" if value is None else str(value) for value in kind])
    console.print(grid)
    if outcome.all_kinds > len(outcome.kinds):
        console.print(f"... and {outcome.all_kinds - len(outcome.kinds):,} more kinds of change")


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run; without --apply nothing is written."""
    parser = Parser("Decide the endpoints of an interval anew, under the rules as they are now.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument(
        "--from", dest="since", required=True, type=instant, help="first moment of creation, e.g. 2026-11-20"
    )
    parser.add_argument(
        "--to", dest="until", required=True, type=instant, help="moment of creation to stop before"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--apply", action="store_true", help="write what changes")
    what.add_argument("--dry-run", action="store_true", help="only say what would change (the default)")
    options = parser.parse_args(argv)
    if options.since >= options.until:
        raise ConfigError("command line: --from is not before --to; the interval is empty")
    settings = load_settings(options.config)
    outcome = run(
        session("reassign", settings.warehouse), settings, options.since, options.until, apply=options.apply
    )
    if outcome.changing and not options.apply:
        print("Nothing was written. Add --apply to write it.")
    elif outcome.changing:
        print("Written. Schedules keep what they were made from: run again the as_ofs that should show it.")
    return 0


if __name__ == "__main__":
    launch(main)
