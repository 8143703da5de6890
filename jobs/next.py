"""Say what comes next in a queue, or out of an instance, and why.

./spark-submit.sh jobs/next.py --config conf/local.yaml --queue TargetQueue --limit 20
./spark-submit.sh jobs/next.py --config conf/local.yaml --instance SQL1 --transmission --format json
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
from pipelines.errors import ConfigError, PipelineError
from pipelines.insight.coming import next_received, next_transmitted
from pipelines.insight.head import head_and_counts
from pipelines.kept import kept
from pipelines.settings.instants import format_instant
from pipelines.settings.load import Settings, load_settings
from schemas.keys import QUEUE
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from storage.warehouse import Warehouse

LIMIT = 20
PLACES_SHOWN = 5


@dataclass(frozen=True)
class Place:
    """What is asked about: a queue by name, or an instance that sends; None is anywhere."""

    queue: str | None
    instance: str | None
    database: str | None

    def of(self, schedule: DataFrame) -> DataFrame:
        """The rows of the schedule at this place."""
        for name, wanted in (("instance", self.instance), ("database", self.database), ("queue", self.queue)):
            if wanted is not None:
                schedule = schedule.where(F.col(name) == F.lit(wanted))
        return schedule

    def __str__(self) -> str:
        named = (("--queue", self.queue), ("--instance", self.instance), ("--database", self.database))
        return " ".join(f"{option} {value}" for option, value in named if value is not None)


def run(
    spark: SparkSession, settings: Settings, place: Place, as_of: datetime | None, *, limit: int
) -> dict[str, Any]:
    """Read the first rows of one queue's or one instance's order.

    Args:
        spark: the session.
        settings: where the warehouse is.
        place: the queue; without a queue, the instance that sends.
        as_of: an as_of that was published; None takes that of the latest run.
        limit: how many messages.

    Returns:
        `as_of`, the place, `next`: the messages in order, and for a queue `held_back`: how many messages
        wait in a queue that is off or a group that is locked, by state.

    Raises:
        PipelineError: nothing was published, or not this as_of; nothing waits at the place, or there
            are several queues of that name.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    moment = published_as_of(warehouse, settings, as_of)
    table, names, more = RECEIVE_SCHEDULE, QUEUE, ["state"]
    if place.queue is None:
        table, names, more = TRANSMISSION_SCHEDULE, ["instance"], []
    rows = place.of(warehouse.read(table).where(F.col("as_of") == F.lit(moment)))
    with kept(head_and_counts(rows, limit, by=[*names, *more])) as found:
        where = _only_place(found, names, place, moment)
        head = found.where("head is not null").select("head.*")
        if place.queue is None:
            return {"as_of": moment, **where, "next": collected(next_transmitted(head, limit))}
        held = found.where("head is null and state <> 'ready'").orderBy("state")
        return {
            "as_of": moment,
            **where,
            "next": collected(next_received(head, limit)),
            "held_back": {row["state"]: row["count"] for row in collected(held.select("state", "count"))},
        }


def _only_place(rows: DataFrame, names: Sequence[str], place: Place, as_of: datetime) -> dict[str, str]:
    """The one queue or instance that has these rows, by these columns."""
    found = collected(rows.select(*names).distinct().orderBy(*names).limit(PLACES_SHOWN + 1))
    if not found:
        raise PipelineError(
            f"{place}: nothing waits there at {format_instant(as_of)}; names are compared byte by byte, and "
            "jobs/waiting.py lists what waits"
        )
    if len(found) > 1:
        shown = "; ".join(
            " ".join(f"--{name} {row[name]}" for name in names[:2]) for row in found[:PLACES_SHOWN]
        )
        more = " and more" if len(found) > PLACES_SHOWN else ""
        raise PipelineError(f"{place}: there are several queues of that name; add one of: {shown}{more}")
    return {name: str(found[0][name]) for name in names}


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print what comes next."""
    parser = Parser("Say what comes next in a queue, or out of an instance, and why.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument("--queue", help="the queue to receive from")
    parser.add_argument("--instance", help="its instance; with --transmission, the instance that sends")
    parser.add_argument("--database", help="its database")
    parser.add_argument("--transmission", action="store_true", help="what the instance sends next")
    parser.add_argument("--limit", type=whole_number(1), default=LIMIT, help=f"messages (default {LIMIT})")
    parser.add_argument("--as-of", type=instant, help="an as_of that was run; the latest run's by default")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default table")
    options = parser.parse_args(argv)
    if options.transmission == (options.queue is not None):
        raise ConfigError("command line: give either --queue Q, or --instance I --transmission")
    if options.transmission and (options.instance is None or options.database is not None):
        raise ConfigError(
            "command line: --transmission needs --instance, and no --database: an instance sends in one "
            "order over all its databases"
        )
    settings = load_settings(options.config)
    place = Place(options.queue, options.instance, options.database)
    found = run(session("next", settings.warehouse), settings, place, options.as_of, limit=options.limit)
    if options.format == "json":
        print(as_json(found))
        return 0
    console = terminal()
    title = f"Next at {format_instant(found['as_of'])}: {place}"
    columns = list(found["next"][0]) if found["next"] else []
    if columns:
        show_rows(console, title, found["next"], columns)
    else:
        console.print(f"{title}: nothing can be received", soft_wrap=True)
    for state, messages in found.get("held_back", {}).items():
        console.print(f"{messages:,} more held back: {state}")
    return 0


if __name__ == "__main__":
    launch(main)
