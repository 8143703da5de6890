"""The details of causes: which rules, queues, groups and names they are about."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.console.wording import format_queue
from pipelines.engine.frames import small_frame
from pipelines.schedules.ready import queue_name
from pipelines.why.codes import AHEAD, DETAILS, MOST_AHEAD, PLACE
from pipelines.why.explained import Explained
from pipelines.why.rules import KIND
from pipelines.why.situation import Place, Row, place_of, top_rows
from schemas.keys import GROUP, QUEUE

OF_ENDPOINT = {"instance": "endpoint_instance", "database": "endpoint_database"}
OF_CHANGE = {
    **OF_ENDPOINT,
    "rule": "today_rule",
    "level": "today",
    "was_rule": "endpoint_rule_name",
    "was_level": "endpoint_priority",
    "since": "changed_since",
}
COLUMNS: dict[str, dict[str, str]] = {
    "rule_newer_than_endpoint": OF_CHANGE,
    "rule_changed_since": OF_CHANGE,
    "near_miss": {**OF_ENDPOINT, "rule": "near_rule", "level": "near_level"},
    "other_side_only": OF_ENDPOINT,
    "more_specific_rule": {
        **OF_ENDPOINT,
        "winning_rule": "today_rule",
        "winning_step": "today_step",
        "winning_level": "today",
        "rule": "lost_rule",
        "step": "lost_step",
        "level": "lost_level",
    },
    "no_rule": OF_ENDPOINT,
    "group_locked": {"since": "held_since"},
    "queue_off": {**{name: f"off_{name}" for name in QUEUE}, "since": "held_since"},
    "not_received": {"reason": "silence_reason"},
    "honor_off": {"database": "held_by"},
    "transmission_status": {"text": "status"},
    **dict.fromkeys(("endpoint_unknown", "service_not_in_catalog", "handle_unknown"), OF_ENDPOINT),
}
"""By cause and column of its details, the column of the rows that has it, where it is another."""
MOST = {"rolled_back": "times"}
"""The column whose greatest values come first in the details of a cause, where messages do not decide."""
OFF = "off_name string, off_instance string, off_database string, off_queue string, poison_message_id string"


def details_of(code: str, found: Explained, fitting: DataFrame, limit: int) -> dict[Place | None, list[Row]]:
    """Rows of the details of a cause by place; those of all places together have the key None.

    Args:
        code: the cause.
        found: `explained_rows`.
        fitting: those of its rows that fit.
        limit: rows of each place, and of all.
    """
    columns = DETAILS[code]
    rows = fitting.where(F.array_contains("codes", code))
    if code in AHEAD:
        rows, limit = _ahead(code, found.rows, rows), min(limit, MOST_AHEAD)
    elif code == "near_miss":
        rows = rows.drop("near_level").join(F.broadcast(found.near), list(KIND))
        rows = rows.where(F.col("near_level") > F.col("endpoint_priority"))
    elif code == "group_locked":
        rows = rows.join(found.locks(rows.select(*GROUP).distinct()), GROUP, "left")
    elif code == "queue_off":
        rows = _with_off(rows, found)
    # Some are named as a column of the place: details have names of their own until they are counted.
    named = [_value(code, name).alias(f"d_{name}") for name in columns]
    details: dict[Place | None, list[Row]] = {}
    most = f"d_{MOST[code]}" if code in MOST else None
    for row in top_rows(rows.select(*PLACE, *named), [f"d_{name}" for name in columns], limit, most=most):
        place = None if row["kind"] is None else place_of(row)
        values = {name: row[f"d_{name}"] for name in columns}
        if code == "queue_off":
            # For the sentence alone: one snapshot does not tell when it started.
            about = found.off[format_queue(values)]
            values |= {f"_{name}": about[name] for name in ("is_seen", "is_unknown")}
        details.setdefault(place, []).append({**values, "messages": row["messages"]})
    return details


def _value(code: str, name: str) -> Column:
    column = F.col(COLUMNS.get(code, {}).get(name, name))
    if code == "own_group_first" and name == "conversation_id":
        return F.when(F.col("kind") == "transmission", column)
    if code in ("own_group_first", "first_in_line") and name in QUEUE:
        return F.nullif(column, F.lit(""))
    return column


def _with_off(rows: DataFrame, found: Explained) -> DataFrame:
    """Add the queue that is off: the message's own, or the one that it waits for."""
    values = [(name, *(row[key] for key in (*QUEUE, "poison_message_id"))) for name, row in found.off.items()]
    off = F.broadcast(small_frame(rows.sparkSession, values, OFF))
    return rows.withColumn("off_name", F.coalesce("waits_for", queue_name())).join(off, "off_name")


def _ahead(code: str, rows: DataFrame, behind: DataFrame) -> DataFrame:
    """The messages that are ahead of at least one message of a cause.

    Of each place and level the last message counts, and the last one of another unit than its own.
    """
    key = [*PLACE, "counts_as"]
    last = behind.groupBy(*key).agg(F.max("position").alias("last"))
    units = (
        behind.join(F.broadcast(last), key)
        .where(F.col("position") == F.col("last"))
        .select(*key, "last", F.col("unit").alias("last_unit"))
    )
    other = (
        behind.join(F.broadcast(units), key)
        .where(F.col("unit") != F.col("last_unit"))
        .groupBy(*key)
        .agg(F.max("position").alias("last_other"))
    )
    ends = units.join(other, key, "left").select(
        *[F.col(name).alias(f"b_{name}") for name in PLACE],
        F.col("counts_as").alias("b_counts_as"),
        "last",
        "last_unit",
        "last_other",
    )
    is_ahead = ((F.col("last_unit") != F.col("unit")) & (F.col("last") > F.col("position"))) | F.coalesce(
        F.col("last_other") > F.col("position"), F.lit(False)
    )
    counts_more = F.col("counts_as") > F.col("b_counts_as")
    for name in PLACE:
        is_ahead &= F.col(name) == F.col(f"b_{name}")
    is_of_cause = counts_more if code == "outranked" else ~counts_more
    return rows.where("position is not null").join(F.broadcast(ends), is_ahead & is_of_cause, "left_semi")
