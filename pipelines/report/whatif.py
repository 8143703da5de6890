"""What the page shows of a what-if: who gains and who pays, which levels pass which, the largest moves."""

from dataclasses import replace
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.blocks.tables import Row, column
from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.console.wording import format_number
from pipelines.report.cells import LEVELS, HtmlTable, format_name, make_table
from pipelines.report.tables import PageData, PageTable, read_sums, read_table
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from pipelines.whatif.answers import read_answers
from pipelines.whatif.report import MOST_MOVED, SCOPES, largest_first
from pipelines.whatif.view import MOVES, sentence, sentences
from schemas.whatif import (
    WHATIF_ANSWERS,
    WHATIF_AS_OF,
    WHATIF_ENDPOINTS,
    WHATIF_MESSAGES,
    WHATIF_PAIRS,
    WHATIF_SUMMARY,
)

POINTS = 1000
"""Of the picture: evenly spread over the order that changes most."""
SUMMARY_SHOWN = 200
ORDER_KEY = ("kind", "instance", "database", "queue")


def read_whatif_tables(answers: Warehouse, as_of: datetime) -> dict[str, PageTable]:
    """Read what the page shows of the tables that `priorities whatif --out` wrote.

    Returns:
        Tables by name: `whatif_said` (the sentences of the terminal), `whatif_counts` (its figures, over all
        messages), `whatif_summary` (what moved, most first), `whatif_moves` (the largest, as on the
        terminal), `whatif_pairs` (over all queues), `whatif_place` (the order that changes most) and
        `whatif_points` of it.

    Raises:
        ConfigError: they are of another as_of, or do not say of which.
    """
    baseline = _require_as_of(answers, as_of)
    messages = answers.read(WHATIF_MESSAGES).where("moved is not null")
    place = _find_most_moved(messages)
    causes = answers.read(WHATIF_ENDPOINTS).groupBy("cause").agg(F.count(F.lit(1)).alias("endpoints"))
    summary = answers.read(WHATIF_SUMMARY)
    counts = read_sums(summary.where(F.col("dimension").isin(*SCOPES)), ("messages", "gained", "lost"))
    changed = {row["cause"]: row["endpoints"] for row in collect_rows(causes)}
    report = {
        "endpoints": {cause: changed.get(cause, 0) for cause in ("proposal", "drift")},
        "messages": dict(zip(counts.columns, counts.rows[0], strict=True)),
    }
    # An older version wrote no answers.
    said = [sentence(report)]
    if answers.exists(WHATIF_ANSWERS):
        said = sentences(*read_answers(answers.read(WHATIF_ANSWERS)), baseline)
    pairs = (
        answers.read(WHATIF_PAIRS).groupBy("passing_level", "passed_level").agg(F.sum("pairs").alias("pairs"))
    )
    return {
        "whatif_said": PageTable(("sentence",), [[each] for each in said], len(said)),
        "whatif_counts": counts,
        "whatif_summary": read_table(
            summary.where("gained > 0 or lost > 0"),
            order=[
                F.desc(F.col("positions_gained") + F.col("positions_lost")),
                *map(F.col, ("kind", "dimension", "name")),
            ],
            limit=SUMMARY_SHOWN,
        ),
        "whatif_moves": read_table(
            messages.where("moved <> 0").select(*MOVES.keys), order=largest_first(), limit=MOST_MOVED
        ),
        "whatif_pairs": read_table(pairs, order=[F.desc("passing_level"), F.desc("passed_level")], limit=100),
        "whatif_place": PageTable(ORDER_KEY, [list(place.values())] if place else [], 1 if place else 0),
        "whatif_points": _read_points(messages, place) if place else PageTable((), [], 0),
    }


def _require_as_of(answers: Warehouse, as_of: datetime) -> str | None:
    """Require that the tables are of this as_of; return their baseline."""
    rows = collect_rows(answers.read(WHATIF_AS_OF))
    found = [row["as_of"] for row in rows]
    if found == [as_of]:
        baseline: str | None = rows[0]["baseline"]
        return baseline
    of = f"is of {format_instant(found[0])}" if found else "does not say its as_of, so it isn't known"
    raise ConfigError(f"--whatif {answers.root}: {of}; run whatif again with --as-of {format_instant(as_of)}")


def _find_most_moved(messages: DataFrame) -> dict[str, str | None] | None:
    """The queue, or the instance's transmission order, in which positions change most; None if none does."""
    of_queue = F.col("kind") == "receive"
    database = F.when(of_queue, F.col("database")).alias("database")
    moved = messages.groupBy("kind", "instance", database, "queue").agg(F.sum(F.abs("moved")).alias("moved"))
    first = collect_rows(
        moved.where("moved > 0").orderBy(F.desc("moved"), *ORDER_KEY).select(*ORDER_KEY).limit(1)
    )
    return first[0] if first else None


def _read_points(messages: DataFrame, place: dict[str, str | None]) -> PageTable:
    own = messages
    for name, value in place.items():
        # An instance has one order over its databases.
        if value is not None:
            own = own.where(F.col(name) == F.lit(value))
    names = ["position_before", "position_after", "level_before", "level_after"]
    total = own.count()
    step = -(-total // POINTS)
    some = own.where(F.col("position_before") % F.lit(step) == 0) if step > 1 else own
    shown = read_table(some.select(*names), order=[F.col("position_before")], limit=POINTS)
    return PageTable(names, shown.rows, total)


def make_pair_table(data: PageData) -> HtmlTable:
    """Make the table with a row for each level that passes, and a column for each that is passed."""
    pairs = {(row["passing_level"], row["passed_level"]): row["pairs"] for row in data.rows("whatif_pairs")}
    passed = [level for level in LEVELS if any(level == each for _, each in pairs)]
    passing: list[Row] = [
        {"level": level, **{str(each): pairs.get((level, each)) for each in passed}}
        for level in LEVELS
        if any(level == each for each, _ in pairs)
    ]
    columns = [column("Level that passes", "level", "level")]
    columns += [column(f"Passes level {level}", "count", str(level)) for level in passed]
    caption = "Pairs of ready messages that now stand in the other order, by level before"
    return replace(make_table("whatif-pairs", caption, columns, passing), is_sortable=False)


def describe_picture(data: PageData) -> tuple[str, str] | None:
    """Return the name and the caption of the picture; None if no position changes."""
    for place in data.rows("whatif_place"):
        name = f"the transmission order of {format_name(place['instance'])}"
        if place["kind"] == "receive":
            queue, instance, database = (format_name(place[key]) for key in ("queue", "instance", "database"))
            name = f"{queue} of {instance} · {database}"
        points = data.rows("whatif_points")
        total = data.total("whatif_points")
        shown = f"Shown are {format_number(len(points))} of {format_number(total)} messages. "
        gaining = sum(row["position_after"] < row["position_before"] for row in points)
        paying = sum(row["position_after"] > row["position_before"] for row in points)
        return name, (
            f"{name}, where most changes. {shown if total > len(points) else ''}Of those shown "
            f"{format_number(gaining)} come earlier, above the line, and {format_number(paying)} later, "
            "below it."
        )
    return None
