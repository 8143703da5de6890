"""The figures of conformance by window functions: the second way to them, with no machine.

Groups become free, change their level and are free no more: a running sum of +1 and -1 over a queue says
before each decision how many there were at each level. Source: our choice; docs/conformance.md has the
definitions.
"""

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.conformance import happenings as h
from pipelines.conformance.decisions import OF_AN_HOUR
from pipelines.conformance.spans import (
    DECISION,
    GROUP,
    NEVER,
    Happened,
    Spans,
    at,
    in_groups,
    members,
    named,
    spans,
    split,
)

LEVELS = range(1, 11)
FIGURES = (*OF_AN_HOUR, "ties", "lock_skipped", "not_ready")
"""What both ways give, beside `blind`."""
PLACE = ("place", "is_change")
"""Whoever looks does so before anything changes at the place."""


def figures(
    timeline: DataFrame, *, start: int, every_receive_counts: bool, keep: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    """Compare what was chosen with what was there.

    Args:
        timeline: see `pipelines.conformance.timeline`; it is read several times.
        start: decisions before it are not counted, in microseconds.
        every_receive_counts: without any queue events a RECEIVED counts as committed.
        keep: computes a frame once.

    Returns:
        queue_number, `FIGURES` and `blind`; no order.
    """
    happened = split(timeline)
    stays = members(happened.moves)
    first = keep(_decisions(happened, stays))
    decisions = keep(_numbered(first, happened, stays, every_receive_counts))
    known = spans(happened, stays, decisions, every_receive_counts=every_receive_counts)
    known = Spans(keep(known.ready), keep(known.held))
    own = _own(decisions, known.held)
    chosen = decisions.select(*DECISION, "number", F.col("group_id").alias("chosen"))
    others = own.where("group_id <> chosen").select(*chosen.columns)
    groups = keep(_in_time(known, chosen.unionByName(others)))
    looked = groups.where("is_change = 0").join(own.drop("number"), [*DECISION, "chosen"], "left")
    return _summed(_there(decisions, looked, groups.where("is_change = 1")), start)


def _decisions(happened: Happened, stays: DataFrame) -> DataFrame:
    """Distinct (transaction, time, group) of the messages taken, with `has_where` of their RECEIVE events."""
    chosen = (
        in_groups(happened.taken, stays)
        .select("queue_number", "time", "transaction_id", "group_id")
        .distinct()
        .withColumn("transaction", named("transaction_id"))
    )
    receives = happened.statements.where(F.col("kind") == h.RECEIVE).select(
        "queue_number",
        "time",
        named("transaction_id").alias("transaction"),
        F.col("group_id").alias("named_group"),
        F.coalesce("has_where", F.lit(False)).alias("has_where"),
    )
    is_part = F.col("named_group").isNull() | (F.col("named_group") == F.col("group_id"))
    return (
        chosen.join(receives, ["queue_number", "time", "transaction"], "left")
        .groupBy(*DECISION, "transaction_id")
        .agg(F.coalesce(F.max(is_part & F.col("has_where")), F.lit(False)).alias("has_where"))
    )


def _numbered(
    decisions: DataFrame, happened: Happened, stays: DataFrame, every_receive_counts: bool
) -> DataFrame:
    """Decisions with their `number` in their instant: by the levels before any of them, then by group."""
    several = F.count(F.lit(1)).over(Window.partitionBy("queue_number", "time")) > 1
    first = decisions.withColumns({"number": F.lit(1), "several": several})
    crowd = first.where("several").drop("several")
    # What decisions of the instant change comes after its number 1, so all look at what was there before.
    known = spans(happened, stays, first.drop("several"), every_receive_counts=every_receive_counts)
    there = crowd.select(*GROUP).distinct()
    known = Spans(*(rows.join(there, list(GROUP), "left_semi") for rows in (known.ready, known.held)))
    looks = crowd.select(*DECISION, "number", F.col("group_id").alias("chosen"))
    levels = _in_time(known, looks).where("is_change = 0").select(*DECISION, "level")
    order = Window.partitionBy("queue_number", "time").orderBy(
        F.coalesce("level", F.lit(0)).desc(), "group_id", "transaction"
    )
    in_order = (
        crowd.drop("number")
        .join(levels, list(DECISION), "left")
        .withColumn("number", F.row_number().over(order))
    )
    return first.where("not several").drop("several").unionByName(in_order.drop("level"))


def _own(decisions: DataFrame, held: DataFrame) -> DataFrame:
    """Groups that the transaction of a decision holds before it, and by how many intervals (`mine`)."""
    place = at("time", F.col("number"))
    return (
        decisions.where("transaction_id is not null")
        .withColumnRenamed("group_id", "chosen")
        .join(held, ["queue_number", "transaction_id"])
        .where((F.col("begins") < place) & (F.col("ends") >= place))
        .groupBy(*DECISION, "number", "chosen")
        .agg(F.count(F.lit(1)).alias("mine"))
    )


def _in_time(known: Spans, looks: DataFrame) -> DataFrame:
    """Groups as they change, and as decisions see them.

    Returns:
        A row per look, `is_change` 0, and one per change with 1: `level` (0 without ready messages) and
        `holds` after it, `level_before` and `holds_before`.
    """
    ready = _steps(known.ready, "level", F.lit(None).cast("int").alias("held"))
    held = _steps(known.held.withColumn("held", F.lit(1)), F.lit(None).cast("int").alias("level"), "held")
    rows = ready.unionByName(held).unionByName(
        looks.withColumns({"place": at("time", F.col("number")), "is_change": F.lit(0), "by": F.lit(0)}),
        allowMissingColumns=True,
    )
    by_group = Window.partitionBy(*GROUP).orderBy(*PLACE)
    so_far = by_group.rowsBetween(Window.unboundedPreceding, Window.currentRow)

    def running(rows: Column) -> Column:
        return F.sum(F.when(rows, F.col("by")).otherwise(F.lit(0))).over(so_far)

    counted = rows.withColumns(
        {f"ready_{level}": running(F.col("level") == level) for level in LEVELS}
        | {"holds": running(F.col("held") == 1)}
    )
    highest = F.greatest(*(F.when(F.col(f"ready_{level}") > 0, level).otherwise(0) for level in LEVELS))
    leveled = counted.withColumn("level", highest)
    return leveled.withColumns(
        {f"{name}_before": F.coalesce(F.lag(name).over(by_group), F.lit(0)) for name in ("level", "holds")}
    ).drop("held", "by", *(f"ready_{level}" for level in LEVELS))


def _steps(spans: DataFrame, *names: Column | str) -> DataFrame:
    """Where intervals begin, +1, and end, -1."""
    ends = F.array(
        *(
            F.struct(F.col(end).alias("place"), F.lit(by).alias("by"))
            for end, by in (("begins", 1), ("ends", -1))
        )
    )
    stepped = spans.select(*GROUP, *names, F.explode(ends).alias("step"))
    return stepped.select(*GROUP, "level", "held", "step.*", F.lit(1).alias("is_change")).where(
        F.col("place") < at(F.lit(NEVER))
    )


def _there(decisions: DataFrame, looked: DataFrame, changes: DataFrame) -> DataFrame:
    """Decisions with the groups that were there at each level, and the level that was chosen.

    Returns:
        `decisions` with `level`, and for each level `there_n` and `locked_n`.
    """
    is_chosen, is_own = F.col("group_id") == F.col("chosen"), F.col("holds") == F.coalesce("mine", F.lit(0))
    # Held by this transaction alone, or chosen though it is held: there for it, and not among the free.
    of_decision = [name for name in DECISION if name != "group_id"]
    beside = (
        looked.where("holds > 0 and level > 0")
        .groupBy(*of_decision, "chosen")
        .agg(
            *(
                F.sum(((F.col("level") == level) & where).cast("int")).alias(f"{name}_{level}")
                for name, where in (("beside", is_own | is_chosen), ("own", is_own))
                for level in LEVELS
            )
        )
    )
    chosen = looked.where(is_chosen).select(*DECISION, "level")
    free, free_before = (
        F.when(F.col(f"holds{when}") == 0, F.col(f"level{when}")).otherwise(0) for when in ("", "_before")
    )
    locked, locked_before = (
        F.when(F.col(f"holds{when}") > 0, F.col(f"level{when}")).otherwise(0) for when in ("", "_before")
    )
    moved = (
        changes.select(
            "queue_number",
            *PLACE,
            free.alias("free"),
            free_before.alias("free_before"),
            locked.alias("locked"),
            locked_before.alias("locked_before"),
        )
        .where("free <> free_before or locked <> locked_before")
        .unionByName(
            decisions.withColumns({"place": at("time", F.col("number")), "is_change": F.lit(0)}),
            allowMissingColumns=True,
        )
    )
    so_far = (
        Window.partitionBy("queue_number")
        .orderBy(*PLACE)
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )

    def running(name: str, level: int) -> Column:
        by = (F.col(name) == level).cast("int") - (F.col(f"{name}_before") == level).cast("int")
        return F.sum(F.coalesce(by, F.lit(0))).over(so_far)

    counted = moved.withColumns(
        {f"{name}_{level}": running(name, level) for name in ("free", "locked") for level in LEVELS}
    ).where("is_change = 0")
    joined = counted.join(chosen, list(DECISION)).join(
        beside.withColumnRenamed("chosen", "group_id"), list(DECISION), "left"
    )
    none = F.lit(0)
    return joined.withColumns(
        {f"there_{n}": F.col(f"free_{n}") + F.coalesce(f"beside_{n}", none) for n in LEVELS}
        | {f"locked_{n}": F.col(f"locked_{n}") - F.coalesce(f"own_{n}", none) for n in LEVELS}
    )


def _summed(there: DataFrame, start: int) -> DataFrame:
    """The figures of queues."""

    def total(columns: list[Column]) -> Column:
        return reduce(Column.__add__, columns, F.lit(0))

    def above(name: str, level: Column | int) -> Column:
        return total([F.when(F.lit(n) > level, F.col(f"{name}_{n}")).otherwise(0) for n in LEVELS])

    lowest = F.least(*(F.when(F.col(f"there_{n}") > 0, n) for n in LEVELS))
    passing = total([F.col(f"there_{n}") * above("there", n) for n in LEVELS])
    blind = passing / F.greatest(total([F.col(f"there_{n}") for n in LEVELS]), F.lit(1))
    level = F.col("level")
    ties = total([F.when(level == n, F.col(f"there_{n}")).otherwise(0) for n in LEVELS]) > 1
    chose = F.col("is_ready") & ~F.col("has_where")
    judged = (
        there.where(F.col("time") >= start)
        .withColumns({"is_ready": level > 0, "lowest": lowest})
        .withColumns({"is_counted": chose, "passed": above("there", level)})
        .withColumns({"passable": above("there", F.col("lowest")), "blind": blind, "is_tie": ties})
        .withColumn("is_skipped", above("locked", level) > 0)
    )
    counted = F.col("is_counted")
    choice = counted & (F.col("passable") > 0)

    def count(rows: Column) -> Column:
        return F.coalesce(F.sum(rows.cast("bigint")), F.lit(0))

    def summed(name: str) -> Column:
        return F.coalesce(F.sum(F.when(counted, F.col(name))), F.lit(0))

    return judged.groupBy("queue_number").agg(
        count(counted | ~F.col("is_ready")).alias("decisions"),
        count(choice).alias("with_choice"),
        count(choice & (F.col("passed") == 0)).alias("conforming"),
        summed("passed").alias("passed"),
        summed("passable").alias("passable"),
        count(counted & F.col("is_tie")).alias("ties"),
        count(counted & F.col("is_skipped")).alias("lock_skipped"),
        count(~F.col("is_ready")).alias("not_ready"),
        summed("blind").cast("double").alias("blind"),
    )
