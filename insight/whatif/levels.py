"""The levels of endpoints: as recorded, by today's rules, and by the proposed ones."""

from collections.abc import Sequence
from dataclasses import astuple
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession, functions as F

from config.rules.history import RuleVersion
from insight.endpoint_kinds import NAMES
from pipelines.ladder.ladder import STANDING, with_priority
from storage.small_frame import small_frame

RULE = (
    "instance string, database string, name string, contract string, local_service string, "
    "remote_service string, level int, valid_from timestamp, valid_to timestamp"
)
OF_KIND = (*NAMES, "recorded")


def rules_frame(spark: SparkSession, versions: Sequence[RuleVersion]) -> DataFrame:
    """Rule versions as `with_priority` takes them; they are few."""
    return small_frame(spark, map(astuple, versions), RULE)


def changed_kinds(endpoints: DataFrame, proposed: DataFrame, *, as_if: datetime | None) -> DataFrame:
    """Say which kinds of endpoints the proposal gives another level.

    Rules that stand ask for names only, so the ladder is climbed once for all endpoints of a kind.

    Args:
        endpoints: rows with the names that rules ask for, `priority` and created_at; any grain.
        proposed: `rules_frame` of the rules that stand after the last proposed statement.
        as_if: None applies the proposal to all endpoints, as if it had always stood; an instant to those
            created from then on, while older ones keep their level.

    Returns:
        instance, database, contract, local_service, remote_service and `recorded` (the key), `proposed`,
        `rule_after` and `step_after`. Few rows.

    Source: our choice.
    """
    concerned = endpoints if as_if is None else endpoints.where(F.col("created_at") >= F.lit(as_if))
    kinds = concerned.select(*NAMES, F.col("priority").alias("recorded")).distinct()
    names = {"priority": "proposed", "rule_name": "rule_after", "ladder_step": "step_after"}
    return _standing(kinds, proposed).withColumnsRenamed(names).where("proposed <> recorded")


def as_proposed(endpoints: DataFrame, changed: DataFrame, *, as_if: datetime | None) -> DataFrame:
    """The same endpoints with the proposed `priority`.

    Args:
        endpoints: rows of those that `changed` was found for.
        changed: `changed_kinds`, kept.
        as_if: as there.
    """
    levels = F.broadcast(changed.select(*NAMES, F.col("recorded").alias("priority"), "proposed"))
    stays = F.lit(False) if as_if is None else F.col("created_at") < F.lit(as_if)
    level = F.when(stays | F.col("proposed").isNull(), F.col("priority")).otherwise(F.col("proposed"))
    # The small side stands on the left: the embedded engine holds that one in memory.
    found = levels.join(endpoints, [*NAMES, "priority"], "right")
    return found.withColumn("priority", level).drop("proposed").select(*endpoints.columns)


def changed_endpoints(
    endpoints: DataFrame, changed: DataFrame, today: DataFrame, *, as_if: datetime | None
) -> DataFrame:
    """The endpoints that the proposal gives another level.

    Args:
        endpoints: `endpoints` rows of those that `changed` was found for.
        changed: `changed_kinds`, kept.
        today: `rules_frame` of the rules that stand after the last current statement.
        as_if: as there.

    Returns:
        The rows of these without `priority`, `rule_name` and `ladder_step`, with the levels `recorded`,
        `today` and `proposed`, with `rule_before`, `rule_after`, `step_before`, `step_after`, and with
        `cause`: drift if today's rules give the proposed level too, else proposal.

    Source: our choice.
    """
    drifts = F.col("priority") == F.col("proposed")
    by_today = (
        _standing(changed, today)
        .withColumn("cause", F.when(drifts, "drift").otherwise("proposal"))
        .withColumnRenamed("priority", "today")
        .drop("rule_name", "ladder_step")
    )
    concerned = endpoints if as_if is None else endpoints.where(F.col("created_at") >= F.lit(as_if))
    recorded = concerned.withColumnsRenamed(
        {"priority": "recorded", "rule_name": "rule_before", "ladder_step": "step_before"}
    )
    return F.broadcast(by_today).join(recorded, list(OF_KIND))


def _standing(kinds: DataFrame, rules: DataFrame) -> DataFrame:
    """The kinds with what `with_priority` finds among rules that stand."""
    moment = F.lit(STANDING).cast("timestamp")
    return with_priority(kinds.withColumn("created_at", moment), rules).drop("created_at")
