"""The precedence ladder: which rule gives an endpoint its priority."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.rules.statements import CRITERIA, DEFAULT_LEVEL, STEPS
from schemas.keys import ENDPOINT_NAMES


def with_priority(endpoints: DataFrame, rules: DataFrame) -> DataFrame:
    """Give each endpoint the level of the first ladder step that has a rule for it.

    Args:
        endpoints: any frame with instance, database, contract, local_service, remote_service and
            created_at; any grain.
        rules: the rule history (`priority_rules`). At any instant the triple of criteria is unique in
            a database, so each step finds at most one rule.

    Returns:
        The same rows with `priority` (1..10; 5 if no rule matches), `rule_name` and `ladder_step`
        (1..8; both null if no rule matches).

    Each step is a broadcast hash join on equality, with the validity [valid_from, valid_to) beside it.
    See docs/semantics.md#priority-of-an-endpoint.
    """
    matched = endpoints
    for step, named in enumerate(STEPS, start=1):
        lookup = F.broadcast(_rules_of(rules, step, named))
        matched = matched.alias("e").join(lookup, _matches(named), "left").select("e.*", f"found_{step}")
    found = F.coalesce(*[F.col(f"found_{step}") for step in range(1, len(STEPS) + 1)])
    return (
        matched.withColumn("found", found)
        .withColumns(
            {
                "priority": F.coalesce("found.level", F.lit(DEFAULT_LEVEL)),
                "rule_name": F.col("found.rule_name"),
                "ladder_step": F.col("found.ladder_step"),
            }
        )
        .drop("found", *[f"found_{step}" for step in range(1, len(STEPS) + 1)])
    )


def undecided(decided: DataFrame, rules: DataFrame) -> DataFrame:
    """The kinds whose rule depends on a name that no input has, which is empty.

    Args:
        decided: ENDPOINT_NAMES, created_at and ladder_step, as `with_priority` gives it; any grain.
        rules: the rule history.

    Returns:
        ENDPOINT_NAMES and created_at, unique: a rule that asks for the unknown name, and fits all others,
        stands before the rule that decides whatever the name is.
    """
    is_unknown = F.lit(False)
    for name in CRITERIA:
        is_unknown |= F.col(name) == ""
    limit = F.coalesce("ladder_step", F.lit(len(STEPS) + 1)).alias("limit")
    kinds = decided.where(is_unknown).select(*ENDPOINT_NAMES, "created_at", limit).distinct()
    asked = rules.select(*[F.col(name).alias(f"r_{name}") for name in rules.columns])
    fits = (F.col("r_instance") == F.col("instance")) & (F.col("r_database") == F.col("database"))
    fits &= is_in_period(F.col("created_at"), F.col("r_valid_from"), F.col("r_valid_to"))
    step = F.lit(len(STEPS))
    for place, name in enumerate(reversed(CRITERIA)):
        wanted = F.col(f"r_{name}")
        fits &= wanted.isNull() | (F.col(name) == "") | (F.col(name) == wanted)
        step -= F.when(wanted.isNotNull(), 2**place).otherwise(0)
    found = F.broadcast(asked).join(kinds, fits & (step < F.col("limit")))
    return found.select(*ENDPOINT_NAMES, "created_at").distinct()


STANDING = "9998-12-31"
"""A moment after all moments of effect: the rules that are in force once all statements have run."""


def levels_of_kinds(kinds: DataFrame, rules: DataFrame) -> DataFrame:
    """The levels of kinds of endpoints, over all time.

    Endpoints have few kinds, so the ladder looks at each kind once and not at each endpoint.

    Args:
        kinds: the columns of ENDPOINT_NAMES, unique.
        rules: the rule history.

    Returns:
        One row per kind and period between two changes of its database's rules: ENDPOINT_NAMES, `since` and
        `until` (half-open; null is open), and `priority`, `rule_name` and `ladder_step`, as those of
        `with_priority`, and `is_undecided`: see `undecided`.
    """
    database = ["instance", "database"]
    always = F.lit(None).cast("timestamp")
    moments = F.explode(F.array(always, F.col("valid_from"), F.col("valid_to"))).alias("since")
    starts = kinds.select(*database).distinct().join(rules, database, "left").select(*database, moments)
    in_order = Window.partitionBy(*database).orderBy(F.asc_nulls_first("since"))
    periods = starts.distinct().withColumn("until", F.lead("since").over(in_order))
    at_start = kinds.join(periods, database).withColumn("created_at", F.col("since"))
    levels = with_priority(at_start, rules)
    key = [*ENDPOINT_NAMES, "created_at"]
    open_ones = undecided(levels, rules).withColumn("undecided_at", F.col("created_at"))
    return (
        levels.join(F.broadcast(open_ones), key, "left")
        .withColumn("is_undecided", F.col("undecided_at").isNotNull())
        .drop("created_at", "undecided_at")
    )


def with_level(endpoints: DataFrame, levels: DataFrame, *, shown_at: Column | None = None) -> DataFrame:
    """Give each endpoint its priority: the ladder's, or the server's if its creation was not logged.

    Args:
        endpoints: any frame with ENDPOINT_NAMES, created_at, `level_source` (server or ladder; null is
            ladder) and `logged_priority`, which is the server's level; any grain.
        levels: `levels_of_kinds` of all their kinds; its other columns are added, too.
        shown_at: when a snapshot first showed the endpoint; None takes the rules that stand today.

    Returns:
        The same rows with `priority`, `rule_name` and `ladder_step`. For the server's level, rule_name and
        ladder_step are those of the rules at `shown_at` if they give the same level, else null: the creation
        was not logged, so its rules are unknown. They are null, too, where a name that is not known decides.
    """
    by_server = F.coalesce(F.col("level_source") == "server", F.lit(False))
    of_server = F.lit(STANDING).cast("timestamp") if shown_at is None else shown_at
    moment = F.when(by_server, of_server).otherwise(F.col("created_at"))
    rows = endpoints.withColumn("moment", moment)
    condition = is_in_period(F.col("moment"), F.col("since"), F.col("until"))
    for name in ENDPOINT_NAMES:
        condition &= F.col(f"endpoint.{name}") == F.col(f"kind.{name}")
    # The small side stands on the left, which is held in memory.
    decided = levels.alias("kind").join(rows.alias("endpoint"), condition, "right")
    added = [name for name in levels.columns if name not in (*ENDPOINT_NAMES, "since", "until")]
    is_same = ~by_server | ((F.col("priority") == F.col("logged_priority")) & ~F.col("is_undecided"))
    return (
        decided.select("endpoint.*", *added)
        .withColumns(
            {
                "rule_name": F.when(is_same, F.col("rule_name")),
                "ladder_step": F.when(is_same, F.col("ladder_step")),
                "priority": F.when(by_server, F.col("logged_priority")).otherwise(F.col("priority")),
            }
        )
        .drop("moment", "is_undecided")
    )


def is_in_period(moment: Column, since: Column, until: Column) -> Column:
    """Whether a moment is in a half-open period, which is open where since or until is null."""
    return (since.isNull() | (moment >= since)) & (until.isNull() | (moment < until))


def _rules_of(rules: DataFrame, step: int, named: tuple[bool, bool, bool]) -> DataFrame:
    """The rules of one step, as a lookup."""
    of_step = rules
    for criterion, is_named in zip(CRITERIA, named, strict=True):
        of_step = of_step.where(F.col(criterion).isNotNull() if is_named else F.col(criterion).isNull())
    keys = ["instance", "database", *_named(named)]
    return of_step.select(
        *[F.col(name).alias(f"r_{name}") for name in keys],
        F.col("valid_from").alias("r_valid_from"),
        F.col("valid_to").alias("r_valid_to"),
        F.struct("level", F.col("name").alias("rule_name"), F.lit(step).alias("ladder_step")).alias(
            f"found_{step}"
        ),
    )


def _matches(named: tuple[bool, bool, bool]) -> Column:
    created_at = F.col("e.created_at")
    condition = (created_at >= F.col("r_valid_from")) & (
        F.col("r_valid_to").isNull() | (created_at < F.col("r_valid_to"))
    )
    for name in ("instance", "database", *_named(named)):
        condition &= F.col(f"e.{name}") == F.col(f"r_{name}")
    return condition


def _named(named: tuple[bool, bool, bool]) -> list[str]:
    return [criterion for criterion, is_named in zip(CRITERIA, named, strict=True) if is_named]
