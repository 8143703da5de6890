"""The levels of endpoints: as recorded, by today's rules, and by the proposed ones."""

from collections.abc import Sequence
from dataclasses import astuple
from datetime import datetime

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from config.rules.history import RuleVersion
from pipelines.ladder.ladder import with_priority
from storage.small_frame import small_frame

RULE = (
    "instance string, database string, name string, contract string, local_service string, "
    "remote_service string, level int, valid_from timestamp, valid_to timestamp"
)
GIVEN = ("priority", "rule_name", "ladder_step")


def rules_frame(spark: SparkSession, versions: Sequence[RuleVersion]) -> DataFrame:
    """Rule versions as `with_priority` takes them; they are few."""
    return small_frame(spark, map(astuple, versions), RULE)


def as_proposed(endpoints: DataFrame, proposed: DataFrame, *, as_if: datetime | None) -> DataFrame:
    """The same endpoints with the proposed `priority`; the arguments are those of `with_levels`."""
    decided = with_priority(endpoints.withColumnRenamed("priority", "recorded"), proposed)
    return decided.withColumn("priority", _unless_it_stays("priority", "recorded", as_if)).drop(
        "recorded", *GIVEN[1:]
    )


def with_levels(
    endpoints: DataFrame, today: DataFrame, proposed: DataFrame, *, as_if: datetime | None
) -> DataFrame:
    """Say which level each endpoint has, and would have.

    Args:
        endpoints: `endpoints` rows; any grain.
        today: `rules_frame` of the rules that stand after the last current statement.
        proposed: `rules_frame` of those that stand after the last proposed one.
        as_if: None applies the proposal to all endpoints, as if it had always stood; an instant to those
            created from then on, while older ones keep their level.

    Returns:
        The rows without `priority`, `rule_name` and `ladder_step`, with the levels `recorded`, `today` and
        `proposed`, with `rule_before`, `rule_after`, `step_before`, `step_after`, and with `cause` where
        recorded and proposed differ: drift if today's rules give the proposed level too, else proposal.

    Source: our choice.
    """
    recorded = endpoints.withColumnsRenamed(
        {"priority": "recorded", "rule_name": "rule_before", "ladder_step": "step_before"}
    )
    by_today = with_priority(recorded, today).withColumnRenamed("priority", "today").drop(*GIVEN[1:])
    decided = with_priority(by_today, proposed)
    levels = decided.withColumns(
        {
            "proposed": _unless_it_stays("priority", "recorded", as_if),
            "rule_after": _unless_it_stays("rule_name", "rule_before", as_if),
            "step_after": _unless_it_stays("ladder_step", "step_before", as_if),
        }
    ).drop(*GIVEN)
    changes = F.col("recorded") != F.col("proposed")
    drifts = F.col("today") == F.col("proposed")
    return levels.withColumn("cause", F.when(changes, F.when(drifts, "drift").otherwise("proposal")))


def _unless_it_stays(decided: str, before: str, as_if: datetime | None) -> Column:
    if as_if is None:
        return F.col(decided)
    return F.when(F.col("created_at") < F.lit(as_if), F.col(before)).otherwise(F.col(decided))
