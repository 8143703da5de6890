"""Say which data the inputs lack that all figures of an as_of depend on."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from pipelines.config.instants import format_instant
from pipelines.console.wording import format_count
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES

OLD_INPUT = timedelta(days=1)
"""The age of the newest event at as_of from which a caveat is given."""


def find_caveats(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Yield a sentence if the inputs end long before as_of, and one if none has a RECEIVED."""
    newest = read_completed_batches(warehouse).newest
    if newest is not None and as_of - newest > OLD_INPUT:
        yield (
            f"the newest fact of all inputs is of {format_instant(newest)}, more than "
            f"{format_count((as_of - newest).days, 'day')} before as_of: what happened since is not known"
        )
    logged = warehouse.read(MESSAGES).where("seen_at is null").select("event_type")
    if not logged.isEmpty() and logged.where("event_type = 'RECEIVED'").isEmpty():
        since = "" if warehouse.first_day is None else f" since {warehouse.first_day}"
        yield (
            f"no input has a RECEIVED event{since}: messages that were received, but not logged so, count as "
            "waiting"
        )
