"""Count what each rule version decides, up to one as_of; the schedules of that as_of must be there.

./spark-submit.sh jobs/coverage.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.launch import Parser, instant, launch, session
from pipelines.insight.coverage import rule_coverage
from pipelines.settings.load import Settings, load_settings
from schemas.ledger import ENDPOINTS, MESSAGES
from schemas.outputs import PRIORITY_RULES, RECEIVE_SCHEDULE, RULE_COVERAGE, TRANSMISSION_SCHEDULE
from schemas.table import Table
from storage.warehouse import Warehouse


def run(spark: SparkSession, settings: Settings, as_of: datetime) -> None:
    """Replace the rows of this as_of in `rule_coverage`; other rows stay.

    It reads six narrow columns of all endpoints, and of everything else what the night brought and what
    is open.

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

    rows = rule_coverage(
        warehouse.read(ENDPOINTS),
        recent(ENDPOINTS),
        recent(MESSAGES).where(F.col("last_fact_on") >= F.lit(day)),
        scheduled(RECEIVE_SCHEDULE),
        scheduled(TRANSMISSION_SCHEDULE),
        warehouse.read(PRIORITY_RULES),
        as_of=as_of,
    )
    warehouse.replace_as_of(RULE_COVERAGE, rows.coalesce(1), as_of)


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
