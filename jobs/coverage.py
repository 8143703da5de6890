"""Count what each rule version decides, up to one as_of; the schedules of that as_of must be there.

./spark-submit.sh jobs/coverage.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.launch import Parser, instant, launch, session
from pipelines.insight.coverage import rule_coverage
from pipelines.insight.rule_uses import rule_uses
from pipelines.insight.rule_versions import changes_by_day
from pipelines.settings.load import Settings, load_settings
from schemas.ledger import ENDPOINTS, MESSAGES
from schemas.outputs import (
    PRIORITY_RULES,
    RECEIVE_SCHEDULE,
    RULE_COVERAGE,
    RULE_USES,
    TRANSMISSION_SCHEDULE,
)
from schemas.table import Table
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

FINGERPRINT = ["closed_on", "counted_from"]


def run(spark: SparkSession, settings: Settings, as_of: datetime) -> None:
    """Replace the rows of this as_of in `rule_coverage`; other rows stay.

    It reads what the night brought and what is open. What was closed before is counted once, and kept by
    day in `rule_uses`, until its endpoints or the rules of its time change.

    Args:
        spark: the session.
        settings: where the warehouse is.
        as_of: the instant to describe.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    day = (as_of - timedelta(days=1)).date()

    def scheduled(table: Table) -> DataFrame:
        return warehouse.read(table).where(F.col("as_of") == F.lit(as_of))

    def recent(table: Table) -> DataFrame:
        return warehouse.read(table).where(f"closed_on IS NULL OR closed_on >= DATE'{day}'")

    rules = warehouse.read(PRIORITY_RULES)
    created = recent(ENDPOINTS).where(F.col("created_at") < F.lit(as_of))
    uses = _uses_of_closed_days(spark, warehouse, rules, before=day).unionByName(rule_uses(created, rules))
    rows = rule_coverage(
        uses,
        created,
        recent(MESSAGES).where(F.col("last_fact_on") >= F.lit(day)),
        scheduled(RECEIVE_SCHEDULE),
        scheduled(TRANSMISSION_SCHEDULE),
        rules,
        as_of=as_of,
    )
    warehouse.replace_as_of(RULE_COVERAGE, rows.coalesce(1), as_of)


def _uses_of_closed_days(
    spark: SparkSession, warehouse: Warehouse, rules: DataFrame, *, before: date
) -> DataFrame:
    """`rule_uses` of the endpoints closed before the day; days that were not counted yet are counted now.

    No endpoint is closed before the day of its creation, so all of these were created before the day is over.
    """
    days = _fingerprints(warehouse.files_by_day(ENDPOINTS), rules, before)
    known = {tuple(row) for row in warehouse.read(RULE_USES).select(*FINGERPRINT).distinct().collect()}
    new = sorted(day for day, counted_from in days.items() if (day, counted_from) not in known)
    valid = small_frame(spark, sorted(days.items()), "closed_on date, counted_from string")
    if new:
        listed = ", ".join(f"DATE'{day}'" for day in new)
        where = f"closed_on IN ({listed})"
        counted = rule_uses(warehouse.read(ENDPOINTS).where(where), rules)
        warehouse.replace(RULE_USES, counted.join(F.broadcast(valid), "closed_on"), where=where)
    return warehouse.read(RULE_USES).join(F.broadcast(valid), FINGERPRINT, "left_semi").drop("counted_from")


def _fingerprints(files: Mapping[date, list[str]], rules: DataFrame, before: date) -> dict[date, str]:
    """By day on which endpoints were closed, what their uses are counted from: files, rules until then."""
    changes = {row.day: row.changes for row in changes_by_day(rules).collect()}
    fingerprints, so_far = {}, 0
    for day in sorted({*changes, *files}):
        so_far ^= changes.get(day, 0)
        if day in files and day < before:
            fingerprints[day] = hashlib.sha256("\n".join([str(so_far), *files[day]]).encode()).hexdigest()
    return fingerprints


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Count what each rule version decides, up to one as_of.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument(
        "--as-of", required=True, type=instant, help="the instant to describe, e.g. 2026-11-21T00:00:00Z"
    )
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    run(session("coverage", settings.warehouse), settings, options.as_of)
    return 0


if __name__ == "__main__":
    launch(main)
