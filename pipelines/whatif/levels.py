"""The levels of endpoints: as recorded, by today's rules, and by the proposed ones."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.ladder.ladder import STANDING, with_priority
from schemas.keys import ENDPOINT_NAMES

OF_KIND = (*ENDPOINT_NAMES, "recorded")


def by_today(endpoints: DataFrame, today: DataFrame) -> DataFrame:
    """The same endpoints with the `priority`, `rule_name` and `ladder_step` that today's rules give.

    Args:
        endpoints: rows with the names that rules use and these columns; any grain.
        today: `rules_frame` of the rules that are valid after the last current statement.

    Returns:
        The rows, with the level of the ledger as `ledger_priority`.
    """
    kinds = _with_priority(endpoints.select(*ENDPOINT_NAMES).distinct(), today)
    rest = endpoints.withColumnRenamed("priority", "ledger_priority").drop("rule_name", "ladder_step")
    return F.broadcast(kinds).join(rest, list(ENDPOINT_NAMES), "inner")


def changed_kinds(endpoints: DataFrame, proposed: DataFrame, *, as_if: datetime | None) -> DataFrame:
    """Find the kinds of endpoints to which the proposal gives another level.

    Rules use names only, so the ladder is evaluated once for all endpoints of a kind.

    Args:
        endpoints: rows with the names that rules use, `priority` and created_at; any grain.
        proposed: `rules_frame` of the rules that are valid after the last proposed statement.
        as_if: None applies the proposal to all endpoints, as if it had always been valid; an instant
            applies it to endpoints created from then on, and older ones keep their level.

    Returns:
        instance, database, contract, local_service, remote_service and `recorded` (the key), `endpoints`
        (the number of rows of the kind), `proposed`, `rule_after` and `step_after`. Few rows.
    """
    kinds = (
        _concerned(endpoints, as_if)
        .groupBy(*ENDPOINT_NAMES, F.col("priority").alias("recorded"))
        .agg(F.count(F.lit(1)).alias("endpoints"))
    )
    names = {"priority": "proposed", "rule_name": "rule_after", "ladder_step": "step_after"}
    return _with_priority(kinds, proposed).withColumnsRenamed(names).where("proposed <> recorded")


def with_cause(changed: DataFrame, today: DataFrame) -> DataFrame:
    """Add to changed kinds whether today's rules would change them too.

    Args:
        changed: `changed_kinds`.
        today: `rules_frame` of the rules that are valid after the last current statement.

    Returns:
        The same rows with `today`, the level by these rules, and `cause`: drift if that is the proposed
        level, else proposal.
    """
    drifts = F.col("priority") == F.col("proposed")
    return (
        _with_priority(changed, today)
        .withColumn("cause", F.when(drifts, "drift").otherwise("proposal"))
        .withColumnRenamed("priority", "today")
        .drop("rule_name", "ladder_step")
    )


def as_proposed(endpoints: DataFrame, changed: DataFrame, *, as_if: datetime | None) -> DataFrame:
    """The same endpoints with the proposed `priority`.

    Args:
        endpoints: the rows from which `changed` was computed.
        changed: `changed_kinds`, materialized.
        as_if: as in `changed_kinds`.
    """
    levels = F.broadcast(changed.select(*ENDPOINT_NAMES, F.col("recorded").alias("priority"), "proposed"))
    stays = F.lit(False) if as_if is None else F.col("created_at") < F.lit(as_if)
    level = F.when(stays | F.col("proposed").isNull(), F.col("priority")).otherwise(F.col("proposed"))
    joined = levels.join(endpoints, [*ENDPOINT_NAMES, "priority"], "right")
    return joined.withColumn("priority", level).drop("proposed").select(*endpoints.columns)


def changed_endpoints(endpoints: DataFrame, changed: DataFrame, *, as_if: datetime | None) -> DataFrame:
    """The endpoints that the proposal gives another level.

    Args:
        endpoints: the `endpoints` rows from which `changed` was computed.
        changed: `with_cause`, materialized.
        as_if: as in `changed_kinds`.

    Returns:
        The changed rows without `priority`, `rule_name` and `ladder_step`, with the levels `recorded`,
        `today` and `proposed`, with `rule_before`, `rule_after`, `step_before`, `step_after`, and `cause`.
    """
    recorded = _concerned(endpoints, as_if).withColumnsRenamed(
        {"priority": "recorded", "rule_name": "rule_before", "ladder_step": "step_before"}
    )
    return F.broadcast(changed.drop("endpoints")).join(recorded, list(OF_KIND))


def _concerned(endpoints: DataFrame, as_if: datetime | None) -> DataFrame:
    return endpoints if as_if is None else endpoints.where(F.col("created_at") >= F.lit(as_if))


def _with_priority(kinds: DataFrame, rules: DataFrame) -> DataFrame:
    """The kinds, `with_priority` of the rules."""
    moment = F.lit(STANDING).cast("timestamp")
    return with_priority(kinds.withColumn("created_at", moment), rules).drop("created_at")
