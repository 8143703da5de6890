"""What the rules that stand at T say of endpoints: other levels, rules that nearly fit, rules that lose."""

from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.rules.limits import CRITERIA, STEPS
from pipelines.ladder.ladder import with_priority
from pipelines.why.codes import NAMES

KIND = ("endpoint_instance", "endpoint_database", *NAMES)
"""What rules look at: the names of a holding endpoint."""
DATABASE = ("instance", "database")
MOST_EDITS = 2


def kinds_at(rows: DataFrame, rules: DataFrame, moment: Column) -> DataFrame:
    """The kinds of holding endpoints, with the level that the ladder gives at a moment.

    Args:
        rows: `open_rows` of holding endpoints.
        rules: `priority_rules`.
        moment: T.

    Returns:
        One row per kind: KIND, `today` (5 without a rule), `today_rule`, `today_step` and `today_since` (its
        valid_from), null without a rule.
    """
    kinds = rows.select(*KIND).distinct()
    named = kinds.withColumnsRenamed(
        {"endpoint_instance": "instance", "endpoint_database": "database"}
    ).withColumn("created_at", moment)
    standing = rules_at(rules, moment).select(
        *DATABASE, F.col("name").alias("rule_name"), F.col("valid_from").alias("today_since")
    )
    found = with_priority(named, rules).join(F.broadcast(standing), [*DATABASE, "rule_name"], "left")
    return found.select(
        F.col("instance").alias("endpoint_instance"),
        F.col("database").alias("endpoint_database"),
        *NAMES,
        F.col("priority").alias("today"),
        F.col("rule_name").alias("today_rule"),
        F.col("ladder_step").alias("today_step"),
        "today_since",
    )


def rules_at(rules: DataFrame, moment: Column) -> DataFrame:
    """The rules that stand at a moment, with their `step` of the ladder."""
    stands = (F.col("valid_from") <= moment) & (F.col("valid_to").isNull() | (moment < F.col("valid_to")))
    step = F.lit(None).cast("int")
    for number, named in enumerate(STEPS, start=1):
        fits = reduce(
            and_,
            [
                F.col(criterion).isNotNull() if is_named else F.col(criterion).isNull()
                for criterion, is_named in zip(CRITERIA, named, strict=True)
            ],
        )
        step = F.when(fits, F.lit(number)).otherwise(step)
    return rules.where(stands).withColumn("step", step)


def changed_rules(holders: DataFrame, rules: DataFrame) -> DataFrame:
    """The endpoints to which the rules at T give a higher level than they have.

    Args:
        holders: distinct holding endpoints: conversation_id, is_initiator, KIND, `endpoint_...` and
            `kinds_at`; materialized.
        rules: `priority_rules`.

    Returns:
        conversation_id, is_initiator, `is_newer` (the rule of T did not exist under its name at the creation)
        and `changed_since`.
    """
    raised = holders.where(F.col("today") > F.col("endpoint_priority"))
    created_at = F.col("endpoint_created_at")
    versions = rules.select(
        F.col("instance").alias("endpoint_instance"),
        F.col("database").alias("endpoint_database"),
        F.col("name"),
        "valid_from",
        "valid_to",
    )
    at_creation = (F.col("valid_from") <= created_at) & (
        F.col("valid_to").isNull() | (created_at < F.col("valid_to"))
    )

    def version(prefix: str, name: str) -> DataFrame:
        return F.broadcast(versions.withColumnRenamed("name", name)).select(
            F.col("endpoint_instance"),
            F.col("endpoint_database"),
            name,
            "valid_from",
            F.col("valid_to"),
            F.lit(True).alias(f"{prefix}_there"),
        )

    key = ["endpoint_instance", "endpoint_database"]
    there = (
        raised.join(version("rule", "today_rule"), [*key, "today_rule"])
        .where(at_creation)
        .select("conversation_id", "is_initiator", F.lit(True).alias("was_there"))
        .distinct()
    )
    decided = (
        raised.where("coalesce(endpoint_level_source, 'ladder') = 'ladder'")
        .join(version("deciding", "endpoint_rule_name"), [*key, "endpoint_rule_name"])
        .where(at_creation)
        .select("conversation_id", "is_initiator", F.col("valid_to").alias("decided_until"))
    )
    side = ["conversation_id", "is_initiator"]
    is_after = F.col("today_since") > created_at
    return (
        raised.join(there, side, "left")
        .join(decided, side, "left")
        .select(
            *side,
            (F.col("today_rule").isNotNull() & F.col("was_there").isNull()).alias("is_newer"),
            F.when(is_after, F.col("today_since")).otherwise(F.col("decided_until")).alias("changed_since"),
        )
    )


def lost_rules(kinds: DataFrame, rules: DataFrame, moment: Column) -> DataFrame:
    """The fitting rule of a later step with the highest level above the winner's.

    Args:
        kinds: `kinds_at`.
        rules: `priority_rules`.
        moment: T.

    Returns:
        One row per kind that has one: KIND, `lost_rule`, `lost_step`, `lost_level`.
    """
    pairs = kinds.where("today_rule is not null").join(F.broadcast(_renamed(rules, moment)), _same_database())
    fits = [F.col(f"r_{name}").isNull() | (F.col(f"r_{name}") == F.col(name)) for name in CRITERIA]
    later = pairs.where(
        reduce(and_, fits) & (F.col("r_step") > F.col("today_step")) & (F.col("r_level") > F.col("today"))
    )
    best = F.struct((-F.col("r_level")).alias("a"), F.col("r_step").alias("b"), F.col("r_rule").alias("c"))
    return (
        later.groupBy(*KIND)
        .agg(F.min(best).alias("best"))
        .select(
            *KIND,
            F.col("best.c").alias("lost_rule"),
            F.col("best.b").alias("lost_step"),
            (-F.col("best.a")).alias("lost_level"),
        )
    )


def near_rules(kinds: DataFrame, rules: DataFrame, moment: Column) -> DataFrame:
    """The rules that would win the ladder if one criterion had the endpoint's name, which is near.

    Returns:
        One row per kind, rule and criterion: KIND, `near_rule`, `near_level`, `criterion`, `rule_has`,
        `endpoint_has`, and `is_same` (equal but for case and blanks; the others are within two edits).
    """
    pairs = kinds.join(F.broadcast(_renamed(rules, moment)), _same_database()).where(
        (F.col("r_level") > F.col("today"))
        & (F.col("today_step").isNull() | (F.col("r_step") < F.col("today_step")))
    )
    fits = {name: F.col(f"r_{name}").isNull() | (F.col(f"r_{name}") == F.col(name)) for name in CRITERIA}
    misses = F.lit(0)
    for fit in fits.values():
        misses += F.when(fit, 0).otherwise(1)
    criterion, has, wanted = (F.lit(None).cast("string") for _ in range(3))
    for name, fit in fits.items():
        criterion = F.when(~fit, F.lit(name)).otherwise(criterion)
        has = F.when(~fit, F.col(f"r_{name}")).otherwise(has)
        wanted = F.when(~fit, F.col(name)).otherwise(wanted)
    found = pairs.where(misses == 1).select(
        *KIND,
        F.col("r_rule").alias("near_rule"),
        F.col("r_level").alias("near_level"),
        criterion.alias("criterion"),
        has.alias("rule_has"),
        wanted.alias("endpoint_has"),
    )
    longer = F.greatest(F.length("rule_has"), F.length("endpoint_has"))
    edits = F.levenshtein("rule_has", "endpoint_has")
    is_same = _bare("rule_has") == _bare("endpoint_has")
    is_near = (edits <= MOST_EDITS) & (edits * 2 < longer)
    return found.where(is_same | is_near).withColumn("is_same", is_same)


def _bare(name: str) -> Column:
    return F.lower(F.replace(name, F.lit(" "), F.lit("")))


def _renamed(rules: DataFrame, moment: Column) -> DataFrame:
    return rules_at(rules, moment).select(
        F.col("instance").alias("r_instance"),
        F.col("database").alias("r_database"),
        F.col("name").alias("r_rule"),
        F.col("level").alias("r_level"),
        F.col("step").alias("r_step"),
        *[F.col(name).alias(f"r_{name}") for name in CRITERIA],
    )


def _same_database() -> Column:
    return (F.col("r_instance") == F.col("endpoint_instance")) & (
        F.col("r_database") == F.col("endpoint_database")
    )
