"""Say which data the inputs lack that all figures of an as_of depend on."""

from collections.abc import Iterator
from datetime import datetime

from pyspark.sql import DataFrame

from pipelines.console.wording import format_database, format_list
from pipelines.storage.collect import collect_rows
from pipelines.storage.freshness import describe_age
from pipelines.storage.published import newest_data_at, read_published_runs
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES
from schemas.outputs import TRANSMISSION_SCHEDULE


def find_caveats(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Yield a sentence for each thing that is not known and that figures of all places depend on.

    The newest data is old at as_of; no input has a RECEIVED; databases of which no input says whether they
    honor priorities.
    """
    runs = read_published_runs(warehouse, "as_of", "started_at", "newest_data")
    if age := describe_age(newest_data_at(runs, as_of), as_of):
        yield f"{age}; what happened since is not known"
    logged = warehouse.read(MESSAGES).where("seen_at is null").select("event_type")
    if not logged.isEmpty() and logged.where("event_type = 'RECEIVED'").isEmpty():
        since = "" if warehouse.first_day is None else f" since {warehouse.first_day}"
        yield (
            f"no input has a RECEIVED event{since}: messages that were received, but not logged so, count as "
            "waiting"
        )
    yield from say_unknown_honor(
        warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of).where("not forwarded and honored is null")
    )


def say_unknown_honor(waiting: DataFrame) -> Iterator[str]:
    """Yield a sentence that names the databases of messages to be sent of which `honored` is not known."""
    rows = collect_rows(waiting.select("instance", "database").distinct())
    names = sorted(format_database((row["instance"], row["database"])) for row in rows)
    if names:
        verb, it = ("honors", "it does") if len(names) == 1 else ("honor", "they do")
        yield (
            f"whether {format_list(names)} {verb} priorities is not known; the order to send holds if {it}"
        )
