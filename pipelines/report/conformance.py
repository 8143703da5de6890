"""What the page shows of a conformance check: the queues, their hours, the worst deviations, the links."""

from datetime import datetime

from pyspark.sql import functions as F

from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.conformance.links import LINK
from pipelines.conformance.report import worst_first
from pipelines.conformance.view import QUEUES
from pipelines.report.page import PageTable, number_rows, read_sums, read_table
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
LINK_COLUMNS = (*LINK, "messages", "with_inversion", "inversions")


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
        queues.select(*QUEUES), order=[F.desc("passed"), *map(F.col, QUEUE)], limit=QUEUES_SHOWN
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
            answers.read(CONFORMANCE_DEVIATIONS).drop("as_of"),
            order=worst_first(),
            limit=DEVIATIONS_SHOWN,
        ),
        "conformance_links": read_table(
            links.select(*LINK_COLUMNS),
            order=[F.desc("inversions"), *map(F.col, LINK)],
            limit=LINKS_SHOWN,
        ),
    }
