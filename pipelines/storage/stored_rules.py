"""The rule history as the table `priority_rules` holds it."""

from operator import attrgetter

from pyspark.sql import DataFrame

from pipelines.config.rules.history import RuleVersion
from pipelines.storage.collect import collect_rows


def stored_versions(rules: DataFrame) -> list[RuleVersion]:
    """Collect rows of `priority_rules` in the order of `rule_history`; rules are few."""
    versions = [RuleVersion(**row) for row in collect_rows(rules.select(*RuleVersion.__dataclass_fields__))]
    return sorted(versions, key=attrgetter("instance", "database", "name", "valid_from"))
