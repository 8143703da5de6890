"""The rule history as the table `priority_rules` holds it."""

from collections.abc import Collection, Mapping
from datetime import datetime
from operator import attrgetter

from pyspark.sql import DataFrame, functions as F

from pipelines.config.rules.history import RuleVersion
from pipelines.config.snapshots.views import PRIORITIES
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import SNAPSHOTS

RuleSnapshots = Mapping[tuple[str, str], Collection[datetime]]
"""When snapshots with rules were taken, by instance and database: a rule that begins then is first seen."""


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
