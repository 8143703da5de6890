"""The histories of rules and catalogs as the tables `priority_rules` and `catalog_history` hold them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple
from datetime import datetime
from operator import attrgetter

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.engine.frames import small_frame
from pipelines.engine.small_jobs import small_job_settings
from pipelines.rules.history import RuleVersion
from pipelines.server.snapshots.history import CatalogFact
from pipelines.server.snapshots.views import PRIORITIES
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import CATALOG_HISTORY, SNAPSHOTS

RULE = (
    "instance string, database string, name string, contract string, local_service string, "
    "remote_service string, level int, valid_from timestamp, valid_to timestamp"
)
RuleSnapshots = Mapping[tuple[str, str], Collection[datetime]]
"""When snapshots with rules were taken, by instance and database: a rule that begins then is first seen."""


def rules_frame(spark: SparkSession, versions: Iterable[RuleVersion]) -> DataFrame:
    """Rule versions in the columns of `priority_rules`; few rows."""
    return small_frame(spark, map(astuple, versions), RULE)


def stored_versions(rules: DataFrame) -> list[RuleVersion]:
    """Collect rows of `priority_rules` in the order of `rule_history`; rules are few."""
    versions = [RuleVersion(**row) for row in collect_rows(rules.select(*RuleVersion.__dataclass_fields__))]
    return sorted(versions, key=attrgetter("instance", "database", "name", "valid_from"))


def read_rule_snapshots(warehouse: Warehouse) -> RuleSnapshots:
    """Read when snapshots with rules were taken."""
    found: dict[tuple[str, str], list[datetime]] = {}
    if warehouse.exists(SNAPSHOTS):
        for row in collect_rows(warehouse.read(SNAPSHOTS).where(F.col("view") == PRIORITIES)):
            found.setdefault((row["instance"], row["database"]), []).append(row["taken_at"])
    return found


def write_catalog_history(warehouse: Warehouse, history: Collection[CatalogFact]) -> None:
    """Replace `catalog_history`, if it differs.

    Args:
        warehouse: the tables.
        history: all facts of all snapshots, which are few in a night of any size.
    """
    with small_job_settings(warehouse.spark):
        stored = {CatalogFact(**row) for row in collect_rows(warehouse.read(CATALOG_HISTORY))}
        if stored != {*history}:
            warehouse.replace(CATALOG_HISTORY, [astuple(fact) for fact in history])
