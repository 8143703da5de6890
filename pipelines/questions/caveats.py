"""Say which data the inputs lack that all figures of an as_of depend on."""

from collections.abc import Iterator
from datetime import datetime

from pipelines.storage.freshness import describe_age
from pipelines.storage.published import newest_data_at, read_published_runs
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES


def find_caveats(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Yield a sentence if the newest data is old at as_of, and one if no input has a RECEIVED."""
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
