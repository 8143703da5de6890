"""Levels that the server logged compared with the found levels, and the explanations of differences."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.config.rules.limits import CRITERIA
from pipelines.ladder.ladder import DEFAULT_PRIORITY
from schemas.conformance import CONFORMANCE_LEVELS

KIND = list(CONFORMANCE_LEVELS.key)
MICROSECONDS = 1_000_000


def conformance_levels(endpoints: DataFrame, rules: DataFrame) -> DataFrame:
    """The table `conformance_levels`.

    Args:
        endpoints: the `endpoints` rows that are compared.
        rules: the rule history (`priority_rules`).

    The first explanation that holds counts: other_version (a version of a rule of that database has criteria
    that fit, whatever the ladder, and the logged level), default_on_server (the server has 5, ours found a
    rule), near_miss (such a version, but one criterion differs in case or blanks alone), rule_unknown (ours
    is 5), unexplained. Of several versions that explain, the one whose validity is nearest to a creation
    counts, then the earliest, then by name.
    """
    counted = endpoints.groupBy(*KIND).agg(F.count(F.lit(1)).alias("endpoints"))
    differing = endpoints.where("logged_priority <> priority").select(*KIND, "created_at")
    kinds = differing.select(*KIND).distinct()
    explaining = _nearest(differing, _candidates(kinds, rules))
    exact, near = (
        explaining.where(F.col("is_exact") == F.lit(flag))
        .drop("is_exact")
        .withColumnsRenamed({name: f"{prefix}_{name}" for name in ("rule", "valid_from", "off_by")})
        for flag, prefix in ((True, "exact"), (False, "near"))
    )
    known = counted.join(exact, KIND, "left").join(near, KIND, "left")
    differs = F.col("logged_priority") != F.col("priority")
    explanation = (
        F.when(F.col("exact_rule").isNotNull(), "other_version")
        .when(F.col("logged_priority") == DEFAULT_PRIORITY, "default_on_server")
        .when(F.col("near_rule").isNotNull(), "near_miss")
        .when(F.col("priority") == DEFAULT_PRIORITY, "rule_unknown")
        .otherwise("unexplained")
    )

    def of_version(name: str) -> Column:
        return F.when(F.col("explanation") == "other_version", F.col(f"exact_{name}")).when(
            F.col("explanation") == "near_miss", F.col(f"near_{name}")
        )

    return (
        known.withColumn("explanation", F.when(differs, explanation))
        .withColumns(
            {
                "explaining_rule": of_version("rule"),
                "explaining_valid_from": of_version("valid_from"),
                "off_by_seconds": of_version("off_by") / F.lit(MICROSECONDS),
            }
        )
        .select(*CONFORMANCE_LEVELS.names)
    )


def _candidates(kinds: DataFrame, rules: DataFrame) -> DataFrame:
    """The versions that give the logged level of a kind: `is_exact`, or with one criterion alike."""
    versions = rules.select(
        "instance",
        "database",
        F.col("level").alias("logged_priority"),
        F.col("name").alias("rule"),
        "valid_from",
        "valid_to",
        *[F.col(name).alias(f"r_{name}") for name in CRITERIA],
    )
    rows = kinds.join(F.broadcast(versions), ["instance", "database", "logged_priority"])
    fits = [F.col(f"r_{name}").isNull() | (F.col(f"r_{name}") == F.col(name)) for name in CRITERIA]
    alike = [_normalized(f"r_{name}") == _normalized(name) for name in CRITERIA]
    one_is_near = [_only(chosen, fits, alike) for chosen in range(len(CRITERIA))]
    is_exact = reduce(and_, fits)
    return (
        rows.withColumn("is_exact", is_exact)
        .where(is_exact | reduce(or_, one_is_near))
        .select(*KIND, "is_exact", "rule", "valid_from", "valid_to")
    )


def _nearest(differing: DataFrame, candidates: DataFrame) -> DataFrame:
    """The exact and the near version of each kind whose validity is nearest to a creation."""
    created_at = F.unix_micros("created_at")
    too_early, too_late = F.unix_micros("valid_from") - created_at, created_at - F.unix_micros("valid_to")
    off_by = F.greatest(F.lit(0), too_early, F.coalesce(too_late, F.lit(0)))
    best = Window.partitionBy(*KIND, "is_exact").orderBy("off_by", "valid_from", "rule")
    return (
        differing.join(F.broadcast(candidates), KIND)
        .groupBy(*KIND, "is_exact", "rule", "valid_from")
        .agg(F.min(off_by).alias("off_by"))
        .withColumn("number", F.row_number().over(best))
        .where("number = 1")
        .drop("number")
    )


def _only(chosen: int, fits: Sequence[Column], alike: Sequence[Column]) -> Column:
    """Whether the chosen criterion is alike and does not fit, and all others fit."""
    others = [fit for index, fit in enumerate(fits) if index != chosen]
    return reduce(and_, others, ~fits[chosen] & alike[chosen])


def _normalized(name: str) -> Column:
    return F.lower(F.replace(name, F.lit(" "), F.lit("")))
