"""Levels that the server logged compared with the found levels, and the explanations of differences."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.frames import small_frame
from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import ladders_of, names_of
from pipelines.rules.near_rules import NearRules
from pipelines.rules.statements import DEFAULT_LEVEL
from pipelines.storage.collect import collect_rows
from schemas.conformance import CONFORMANCE_LEVELS

KIND = list(CONFORMANCE_LEVELS.key)
CANDIDATES = (
    "instance string, database string, contract string, local_service string, remote_service string, "
    "priority int, logged_priority int, "
    "is_exact boolean, rule string, valid_from timestamp, valid_to timestamp"
)
MICROSECONDS = 1_000_000


def conformance_levels(endpoints: DataFrame, rules: Iterable[RuleVersion]) -> DataFrame:
    """The table `conformance_levels`.

    Args:
        endpoints: the `endpoints` rows that are compared.
        rules: the rule history.

    The first explanation that holds counts: other_version (a version of a rule of that database has criteria
    that fit, whatever the ladder, and the logged level), default_on_server (the server has 5, ours found a
    rule), near_miss (such a version, but one criterion differs in case or blanks alone), rule_unknown (ours
    is 5), unexplained. Of several versions that explain, the one whose validity is nearest to a creation
    counts, then the earliest, then by name.
    """
    counted = endpoints.groupBy(*KIND).agg(F.count(F.lit(1)).alias("endpoints"))
    differing = endpoints.where("logged_priority <> priority").select(*KIND, "created_at")
    kinds = collect_rows(differing.select(*KIND).distinct())
    candidates = small_frame(endpoints.sparkSession, _candidates(kinds, rules), CANDIDATES)
    explaining = _nearest(differing, candidates)
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
        .when(F.col("logged_priority") == DEFAULT_LEVEL, "default_on_server")
        .when(F.col("near_rule").isNotNull(), "near_miss")
        .when(F.col("priority") == DEFAULT_LEVEL, "rule_unknown")
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


def _candidates(
    kinds: Iterable[Mapping[str, Any]], rules: Iterable[RuleVersion]
) -> Iterator[tuple[Any, ...]]:
    """Yield the versions that give the logged level of a kind, as CANDIDATES.

    They fit, whatever the ladder, or miss by one criterion that differs in case or blanks alone.
    """
    ladders = ladders_of(rules)
    # As if all names were in use: edits count for nothing.
    near_rules = {key: NearRules(ladder.rules, lambda *_: True) for key, ladder in ladders.items()}
    for kind in kinds:
        key, names = (kind["instance"], kind["database"]), names_of(kind)
        if key in ladders:
            exact = [(rule, True) for rule in ladders[key].find_fitting(names)]
            near = [(each.rule, False) for each in near_rules[key].find(names)]
            for rule, is_exact in [*exact, *near]:
                if rule.level == kind["logged_priority"]:
                    values = (kind[name] for name in KIND)
                    yield *values, is_exact, rule.name, rule.valid_from, rule.valid_to


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
