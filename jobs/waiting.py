"""Say who waits how long, and who is overtaken most: the starvation report of one as_of.

./spark-submit.sh jobs/waiting.py --config conf/local.yaml
./spark-submit.sh jobs/waiting.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z --format json
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.display import as_json, show_rows, terminal
from jobs.launch import Parser, instant, launch, session, whole_number
from jobs.published import published_as_of
from pipelines.collected import collected
from pipelines.insight.overtaken import MOST, most_overtaken
from pipelines.insight.waiting import waiting
from pipelines.settings.load import Settings, load_settings
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from schemas.table import Table
from storage.warehouse import Warehouse

WAITING = ("messages", "oldest", "median_seconds", "p95_seconds")
OVERTAKEN = ("passed_by", "position", "message_id", "since")
SHOWN = 50
"""Lines of each table, the most pressing first, where nothing else is asked for."""


@dataclass(frozen=True)
class Kind:
    """One of the two schedules: what is waited in, by which level, since when."""

    name: str
    title: str
    table: Table
    within: tuple[str, ...]
    level: str
    since: str


QUEUES = Kind(
    "receive",
    "messages that later ones are received before",
    RECEIVE_SCHEDULE,
    ("instance", "database", "queue"),
    "priority",
    "arrived_at",
)
TRANSMISSION = Kind(
    "transmission",
    "messages that later ones are sent before",
    TRANSMISSION_SCHEDULE,
    ("instance",),
    "transmit_priority",
    "sendable_at",
)


def overtaken(schedule: DataFrame, kind: Kind, *, most: int = MOST) -> DataFrame:
    """The most overtaken messages of each queue or instance; see `most_overtaken`."""
    found = most_overtaken(schedule, within=kind.within, since=kind.since, most=most)
    return found.withColumnRenamed(kind.since, "since")


def run(spark: SparkSession, settings: Settings, as_of: datetime | None, *, limit: int) -> dict[str, Any]:
    """Read what waits at an as_of.

    Args:
        spark: the session.
        settings: where the warehouse is.
        as_of: an as_of that was published; None takes that of the latest run.
        limit: rows of each part.

    Returns:
        `as_of`, and for receive and transmission: `waiting`, a row per queue (or instance) and level,
        the longest waiting first, and `overtaken`, the ten messages of each queue (or instance) that
        most later ones go before, the most overtaken first.

    Raises:
        PipelineError: nothing was published, or not this as_of.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    moment = published_as_of(warehouse, settings, as_of)
    report: dict[str, Any] = {"as_of": moment}
    for kind in (QUEUES, TRANSMISSION):
        schedule = warehouse.read(kind.table).where(F.col("as_of") == F.lit(moment))
        waits = waiting(schedule, within=kind.within, level=kind.level, since=kind.since, as_of=moment)
        late = overtaken(schedule, kind)
        report[kind.name] = {
            "waiting": collected(waits.orderBy("oldest", *kind.within, F.desc(kind.level)).limit(limit)),
            "overtaken": collected(
                late.orderBy(F.desc("passed_by"), *kind.within, "place")
                .select(*kind.within, *OVERTAKEN)
                .limit(limit)
            ),
        }
    return report


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the report."""
    parser = Parser("Say who waits how long, and who is overtaken most.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument("--as-of", type=instant, help="an as_of that was run; the latest run's by default")
    parser.add_argument(
        "--limit", type=whole_number(1), default=SHOWN, help=f"rows of each part (default {SHOWN})"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default table")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    report = run(session("waiting", settings.warehouse), settings, options.as_of, limit=options.limit)
    if options.format == "json":
        print(as_json(report))
        return 0
    console = terminal()
    for kind in (QUEUES, TRANSMISSION):
        found = report[kind.name]
        title = f"Waiting for {kind.name}, the longest first"
        show_rows(console, title, found["waiting"], [*kind.within, kind.level, *WAITING])
        show_rows(console, f"Starvation: {kind.title}", found["overtaken"], [*kind.within, *OVERTAKEN])
    return 0


if __name__ == "__main__":
    launch(main)
