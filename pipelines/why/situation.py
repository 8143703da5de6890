"""How many messages wait where, how long, at which levels, and what is ahead of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.engine.frames import small_frame
from pipelines.questions.open_messages import NAMES
from pipelines.questions.waiting import percentile, seconds_waited
from pipelines.storage.collect import collect_rows
from pipelines.why.places import OF_PLACE, PLACE, Place, Row, place_of

RANKS = f"{OF_PLACE}, number bigint"
STATES = ("ready", "queue_off", "group_locked", "transmission", "forwarded", "unresolved")


def describe_places(
    rows: DataFrame, conversations: Mapping[Place | None, int], as_of: datetime, limit: int
) -> dict[Place | None, Row]:
    """The situation of each place, and of all together, which has the key None.

    Args:
        rows: `explained_rows` that fit.
        conversations: of each place, and of all, as `count_causes` counts them.
        as_of: T.
        limit: rows of kinds.

    Returns:
        `messages`, `conversations`, `states`, `oldest`, `oldest_seconds`, `p95_seconds`, `levels`, `kinds`.
    """
    seconds = seconds_waited("since", as_of)
    aggregates = [
        F.count(F.lit(1)).alias("messages"),
        *[F.count(F.when(F.col("state") == state, 1)).alias(f"state_{state}") for state in STATES],
        F.min("since").alias("oldest"),
        F.max(seconds).alias("oldest_seconds"),
        percentile(seconds, 0.95).alias("p95_seconds"),
    ]
    by_place = collect_rows(rows.groupBy(*PLACE).agg(*aggregates))
    found: dict[Place | None, Row] = {
        place_of(row): _situation(row, conversations, place_of(row)) for row in by_place
    }
    [total] = by_place if len(by_place) == 1 else collect_rows(rows.agg(*aggregates))
    found[None] = _situation(total, conversations, None)
    _add_levels(found, rows)
    _add_kinds(found, rows, limit)
    return found


def _situation(row: Row, conversations: Mapping[Place | None, int], place: Place | None) -> Row:
    return {
        "messages": row["messages"],
        "conversations": conversations.get(place, 0),
        "states": {state: row[f"state_{state}"] for state in STATES},
        "oldest": row["oldest"],
        "oldest_seconds": row["oldest_seconds"],
        "p95_seconds": row["p95_seconds"],
        "levels": [],
        "kinds": [],
    }


def _add_levels(found: dict[Place | None, Row], rows: DataFrame) -> None:
    leveled = (
        rows.where("kind <> 'unresolved'").groupBy(*PLACE, "level").agg(F.count(F.lit(1)).alias("messages"))
    )
    total: dict[int, int] = {}
    for row in sorted(collect_rows(leveled), key=lambda row: -row["level"]):
        found[place_of(row)]["levels"].append({"level": row["level"], "messages": row["messages"]})
        total[row["level"]] = total.get(row["level"], 0) + row["messages"]
    found[None]["levels"] = [
        {"level": level, "messages": total[level]} for level in sorted(total, reverse=True)
    ]


def _add_kinds(found: dict[Place | None, Row], rows: DataFrame, limit: int) -> None:
    for row in top_rows(rows, NAMES, limit):
        place = place_of(row) if row["kind"] is not None else None
        found[place]["kinds"].append({name: row[name] for name in (*NAMES, "messages")})


def top_rows(
    rows: DataFrame,
    columns: Sequence[str],
    limit: int,
    *,
    greatest: str | None = None,
    are_few: bool = True,
    is_of_place: bool = False,
) -> list[Row]:
    """The combinations of columns with the most messages: of each place, and of all, whose kind is None.

    Args:
        rows: messages with their place; each counts once.
        columns: what is counted by.
        limit: combinations of each place, and of all together.
        greatest: the column whose greatest values come first, before `messages`; None for no such column.
        are_few: whether combinations are of kinds of messages, so that all can be collected; those of single
            groups or messages can't.
        is_of_place: whether all messages of a combination are in one place.

    Returns:
        PLACE, columns and `messages`, in their order: most messages first, then by the columns, nulls last.
    """
    named = [F.col(name).alias(f"by_{name}") for name in columns]
    by = [f"by_{name}" for name in columns]
    by_place = rows.select(*PLACE, *named).groupBy(*PLACE, *by).agg(F.count(F.lit(1)).alias("messages"))

    def key(row: Row) -> tuple[Any, ...]:
        first = () if greatest is None else (-row[f"by_{greatest}"],)
        return *first, -row["messages"], *[sort_key(row[name]) for name in by]

    if are_few:
        every = sorted(collect_rows(by_place), key=key)
        of_places, seen = [], Counter[Place]()
        total = Counter[tuple[Any, ...]]()
        for row in every:
            seen[place_of(row)] += 1
            of_places += [row] if seen[place_of(row)] <= limit else []
            total[tuple(row[name] for name in by)] += row["messages"]
        of_all = [
            {**dict(zip(by, values, strict=True)), "messages": count} for values, count in total.items()
        ]
    else:
        first_by = [] if greatest is None else [F.desc(f"by_{greatest}")]
        order = [*first_by, F.desc("messages"), *[F.asc_nulls_last(name) for name in by]]
        first = Window.partitionBy(*PLACE).orderBy(*order)
        ranked = by_place.withColumn("number", F.row_number().over(first)).where(F.col("number") <= limit)
        of_places = collect_rows(ranked.drop("number"))
        sums = by_place.groupBy(*by).agg(F.sum("messages").alias("messages"))
        of_all = of_places if is_of_place else collect_rows(sums.orderBy(*order).limit(limit))
    told = [*of_places, *({**row, **dict.fromkeys(PLACE)} for row in sorted(of_all, key=key)[:limit])]
    return [
        {**{name: row[name] for name in PLACE}, **{name: row[f"by_{name}"] for name in columns}}
        | {"messages": row["messages"]}
        for row in sorted(told, key=key)
    ]


def sort_key(value: object) -> tuple[bool, Any]:
    """Values in their order: text by its UTF-8 bytes, numbers and times by size, nulls last."""
    if value is None:
        return True, b""
    return False, value.encode() if isinstance(value, str) else value


def describe_ahead(rows: DataFrame, fitting: DataFrame) -> dict[Place, Row]:
    """What is ahead of the first and of the median fitting message of each place.

    Args:
        rows: all messages.
        fitting: those that fit.

    Returns:
        By place with any position: `first` and `median`: message_id, `messages` and `receives` ahead, and
        their `kinds`.
    """
    chosen = collect_rows(_first_and_median(rows, fitting))
    found: dict[Place, Row] = {}
    for row in sorted(chosen, key=lambda row: -row["number"]):
        answer = {
            "message_id": row["message_id"],
            "messages": row["position"] - 1,
            "receives": None if row["receive_number"] is None else row["receive_number"] - 1,
            "kinds": [],
        }
        # The later one comes first; alone it is both.
        found.setdefault(place_of(row), {})["first"] = answer
        found[place_of(row)].setdefault("median", {**answer, "kinds": []})
    ends = [
        (*place, which, of_place[which]["messages"] + 1)
        for place, of_place in found.items()
        for which in ("first", "median")
        if of_place[which]["messages"]
    ]
    if not ends:
        return found
    before = small_frame(rows.sparkSession, ends, f"{OF_PLACE}, which string, end bigint")
    counted = (
        rows.join(F.broadcast(before), list(PLACE))
        .where(F.col("position") < F.col("end"))
        .groupBy(*PLACE, "which", *NAMES)
        .agg(F.count(F.lit(1)).alias("messages"))
    )
    for row in collect_rows(counted):
        kind = {name: row[name] for name in (*NAMES, "messages")}
        found[place_of(row)][row["which"]]["kinds"].append(kind)
    for of_place in found.values():
        for which in ("first", "median"):
            of_place[which]["kinds"].sort(
                key=lambda each: (-each["messages"], *[sort_key(each[name]) for name in NAMES])
            )
    return found


def _first_and_median(rows: DataFrame, fitting: DataFrame) -> DataFrame:
    """One row for each place with any position and each of both, which may be one message.

    Returns:
        PLACE, `message_id`, `position`, `receive_number`, and `number`, the rank among the fitting messages.
    """
    placed = fitting.where("position is not null")
    columns = [*PLACE, "message_id", "position", "receive_number"]
    if fitting is rows:
        # Positions are ranks from 1, so nothing has to be sorted.
        counted = collect_rows(placed.groupBy(*PLACE).agg(F.max("position").alias("count")))
        wanted = {(place_of(row), rank) for row in counted for rank in (1, -(-row["count"] // 2))}
        asked = small_frame(rows.sparkSession, [(*place, rank) for place, rank in wanted], RANKS)
        found = placed.select(*columns, F.col("position").alias("number"))
        return found.join(F.broadcast(asked), [*PLACE, "number"], "left_semi")
    of_place = Window.partitionBy(*PLACE)
    numbered = placed.select(*columns).withColumns(
        {
            "number": F.row_number().over(of_place.orderBy("position")),
            "count": F.count(F.lit(1)).over(of_place),
        }
    )
    return numbered.where((F.col("number") == 1) | (F.col("number") == F.ceil(F.col("count") / 2)))
