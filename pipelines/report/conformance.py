"""What the page shows of a conformance check: the queues, their hours, the worst deviations, the links."""

from dataclasses import replace
from datetime import datetime

from pyspark.sql import functions as F

from pipelines.blocks.tables import Row, place_column
from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.conformance.links import LINK
from pipelines.conformance.report import worst_first
from pipelines.conformance.view import DEVIATIONS, LINKS, QUEUES, choice_sentence
from pipelines.console.wording import format_percent
from pipelines.report.cells import EMPTY, Cell, HtmlTable, TableColumn, make_table
from pipelines.report.tables import PageData, PageTable, number_rows, read_sums, read_table
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.conformance import (
    CONFORMANCE,
    CONFORMANCE_DEVIATIONS,
    CONFORMANCE_HOURS,
    CONFORMANCE_LINKS,
)
from schemas.keys import QUEUE

QUEUES_SHOWN = 100
HOURS_SHOWN = 24
"""The latest ones in which any queue had a choice."""
DEVIATIONS_SHOWN = 100
LINKS_SHOWN = 100


def read_conformance_tables(answers: Warehouse, as_of: datetime) -> dict[str, PageTable]:
    """Read what the page shows of the tables that `priorities conformance --out` wrote.

    Returns:
        Tables by name: `conformance_counts` (over all queues), `conformance_queues` (those that passed most
        first), `conformance_hours` (of these queues, by their place in them), `conformance_deviations` (the
        worst first), `conformance_links`.

    Raises:
        ConfigError: they are of another as_of.
    """
    queues, links = answers.read(CONFORMANCE), answers.read(CONFORMANCE_LINKS)
    # The rest that is shown is of these queues.
    moments = queues.select("as_of").unionByName(links.select("as_of"))
    other = collect_rows(moments.where(F.col("as_of") != F.lit(as_of)).limit(1))
    if other:
        raise ConfigError(
            f"--conformance {answers.root}: is of {format_instant(other[0]['as_of'])}; write it again with "
            f"--as-of {format_instant(as_of)}"
        )
    shown = read_table(
        queues.select(*QUEUES.keys), order=[F.desc("passed"), *map(F.col, QUEUE)], limit=QUEUES_SHOWN
    )
    hours = answers.read(CONFORMANCE_HOURS).where("fitness is not null")
    latest = hours.select("hour").distinct().orderBy(F.desc("hour")).limit(HOURS_SHOWN)
    of_hours = (
        hours.join(F.broadcast(latest), "hour")
        .join(number_rows(answers.spark, shown, QUEUE), list(QUEUE))
        .select("place", "hour", "fitness")
    )
    return {
        "conformance_counts": read_sums(queues, ("with_choice", "conforming")),
        "conformance_queues": shown,
        "conformance_hours": read_table(
            of_hours, order=[F.col("place"), F.col("hour")], limit=QUEUES_SHOWN * HOURS_SHOWN
        ),
        "conformance_deviations": read_table(
            answers.read(CONFORMANCE_DEVIATIONS).select(*DEVIATIONS.keys),
            order=worst_first(),
            limit=DEVIATIONS_SHOWN,
        ),
        "conformance_links": read_table(
            links.select(*LINKS.keys),
            order=[F.desc("inversions"), *map(F.col, LINK)],
            limit=LINKS_SHOWN,
        ),
    }


def describe_conformance(data: PageData) -> str:
    """Say how many receives passed no higher level."""
    [counts] = data.rows("conformance_counts")
    return choice_sentence(counts)


def make_hour_table(data: PageData) -> HtmlTable:
    """Make the table with a row for each queue and a column for each hour; the shade is 1 - fitness."""
    by_place = data.rows_by_place("conformance_hours")
    fitness = {(place, row["hour"]): row["fitness"] for place, rows in by_place.items() for row in rows}
    hours = sorted({hour for _, hour in fitness})
    is_one_day = len({hour[:10] for hour in hours}) <= 1

    def hour_column(hour: str) -> TableColumn:
        def value(row: Row) -> float | None:
            return fitness.get((row["index"], hour))

        def cell(row: Row) -> Cell:
            share = value(row)
            return EMPTY if share is None else Cell(format_percent(share), share=f"{0.45 * (1 - share):.3f}")

        day, time = hour[5:10].replace("-", "\u2011"), hour[11:16]
        return TableColumn(time if is_one_day else f"{day} {time}", "level", value, cell=cell, is_shaded=True)

    table = make_table(
        "conformance-hours",
        "Fitness by queue and hour",
        [place_column("Queue"), *map(hour_column, hours)],
        [row for row in data.rows("conformance_queues") if row["index"] in by_place],
        note="100%: no group of a higher level was passed; the darker, the more were. "
        "Empty: nothing to choose.",
        empty="no receive could choose between levels.",
    )
    return replace(table, is_sortable=False)
