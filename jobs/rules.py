"""Write the rule history of the settings' rule sources to `priority_rules`, or print it as T-SQL.

./spark-submit.sh jobs/rules.py --config conf/local.yaml
./spark-submit.sh jobs/rules.py --config conf/local.yaml --print-sql SHOP1
"""

import logging
from collections.abc import Sequence
from dataclasses import astuple
from datetime import timedelta
from functools import partial

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.launch import Parser, launch, session
from jobs.progress import step
from pipelines.collected import collected
from pipelines.errors import ConfigError
from pipelines.ledger.restate import restated, within_periods
from pipelines.rules.edits import edited_periods
from pipelines.rules.history import RuleVersion
from pipelines.rules.stored import stored_versions
from pipelines.rules.tsql_script import script_of
from pipelines.settings.instants import format_instant
from pipelines.settings.load import Settings, load_settings
from pipelines.settings.nearest import instead
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

log = logging.getLogger(__name__)

RULE = (
    "instance string, database string, name string, contract string, local_service string, "
    "remote_service string, level int, valid_from timestamp, valid_to timestamp"
)
PERIOD = "instance string, database string, since timestamp, until timestamp"


def run(spark: SparkSession, settings: Settings) -> str:
    """Replace `priority_rules` by the rule history, if it differs.

    Endpoints that have a priority keep it, whatever becomes of the rules. Where the sources were edited
    for moments that have passed, and endpoints of those moments would be decided otherwise now, one
    warning says so, before anything is written: a run that is broken off says it again.

    Args:
        spark: the session.
        settings: the rule history, folded from all sources before Spark started.

    Returns:
        What was read, in words: rule versions, and the statements of scripts that are about other things.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    history = list(settings.rule_history)
    stored = stored_history(warehouse)
    if stored != history:
        rules = small_frame(spark, map(astuple, history), RULE).select(*PRIORITY_RULES.names)
        if stored is not None:
            _warn_of_decided(spark, settings, rules, stored)
        warehouse.replace(PRIORITY_RULES, rules)
    said = [f"{len(history)} rule versions"]
    for file in settings.rule_files:
        if file.passed_over:
            said.append(f"{file.path}: {file.passed_over} other statements passed over")
    return "; ".join(said)


def stored_history(warehouse: Warehouse) -> list[RuleVersion] | None:
    """The history in `priority_rules`, in the order of `rule_history`; None if it was never written."""
    if not warehouse.exists(PRIORITY_RULES):
        return None
    return stored_versions(warehouse.read(PRIORITY_RULES))


def _warn_of_decided(
    spark: SparkSession, settings: Settings, rules: DataFrame, stored: list[RuleVersion]
) -> None:
    """Warn if endpoints of edited periods have a priority that the rules would not give them now."""
    periods = edited_periods(stored, settings.rule_history)
    if not periods:
        return
    since = min(period.since for period in periods)
    # No row is closed before the day of its endpoint's creation.
    endpoints = (
        Warehouse(spark, settings.warehouse)
        .read(ENDPOINTS)
        .where(f"closed_on IS NULL OR closed_on >= DATE'{since.date()}'")
    )
    rows = [(period.instance, period.database, period.since, period.until) for period in periods]
    decided = restated(within_periods(endpoints, small_frame(spark, rows, PERIOD)), rules).where("changes")
    found = decided.agg(
        F.count(F.lit(1)).alias("endpoints"),
        F.min("created_at").alias("first"),
        F.max("created_at").alias("last"),
    )
    [counted] = collected(found)
    if not counted["endpoints"]:
        return
    first = periods[0]
    more = f" and {len(periods) - 1} more" if len(periods) > 1 else ""
    log.warning(
        "rules were edited for moments that have passed (%r in %s.%s from %s%s); %d endpoints keep what the "
        "rules would not give them now; to restate them: jobs/reassign.py --config %s --from %s --to %s",
        first.name,
        first.instance,
        first.database,
        format_instant(first.since),
        more,
        counted["endpoints"],
        settings.path,
        format_instant(counted["first"]),
        format_instant(counted["last"] + timedelta(microseconds=1)),
    )


def _print_sql(settings: Settings, instance: str) -> None:
    known = {version.instance for version in settings.rule_history}
    if instance not in known:
        hint = instead(instance, sorted(known))
        raise ConfigError(f"{settings.path}: rules: none is of the instance {instance!r}; {hint}")
    print(script_of(settings.rule_history, instance), end="")


def main(argv: Sequence[str]) -> int:
    """Parse the command line and run."""
    parser = Parser("Write the rule history of the settings' rule sources.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument(
        "--print-sql",
        metavar="INSTANCE",
        help="write nothing, and print the rules of this instance as a T-SQL script with their history",
    )
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    if options.print_sql is not None:
        _print_sql(settings, options.print_sql)
        return 0
    spark = session("rules", settings.warehouse)
    step("rules", partial(run, spark, settings))()
    return 0


if __name__ == "__main__":
    launch(main)
