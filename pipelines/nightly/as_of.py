"""The as_of of a night, compared with the data that was ingested."""

import logging
from datetime import UTC, datetime

from pipelines.config.errors import ConfigError
from pipelines.config.instants import format_instant
from pipelines.console.terminal import print_line
from pipelines.console.wording import format_list
from pipelines.server.captures.faults import short_path
from pipelines.server.captures.known import read_known
from pipelines.settings.load import Settings
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.freshness import find_first_data, find_newest_data, latest_as_of
from pipelines.storage.warehouse import Warehouse

log = logging.getLogger(__name__)


def find_latest(warehouse: Warehouse, settings: Settings, completed: CompletedBatches) -> datetime:
    """Find the as_of that `latest` means, and print it.

    A warning says so if it is after the clock, which decides nothing.

    Raises:
        ConfigError: there is no data.
    """
    as_of = latest_as_of(warehouse, completed)
    if as_of is None:
        raise ConfigError(f"--as-of latest: {_why_nothing_counts(settings)}")
    print_line(f"as_of is {format_instant(as_of)}, the latest")
    now = datetime.now(UTC)
    if as_of > now:
        log.warning(
            "--as-of latest: the newest snapshot or event is after the clock, which says %s; look for a "
            "server whose clock is ahead, or name an earlier moment",
            format_instant(now),
        )
    return as_of


def _why_nothing_counts(settings: Settings) -> str:
    known = read_known(settings.warehouse) if isinstance(settings.warehouse, str) else []
    empty = sorted({short_path(each.path) for each in (*settings.captures.new, *known) if not each.databases})
    if empty:
        return (
            f"no database is in {format_list(empty)}: the login sees none, or none has services of its own; "
            "take the capture again with --database, or with a login that may see them"
        )
    return (
        "no snapshot and no event counts yet; add some to the inputs or snapshots of "
        f"{settings.path}, or name a moment"
    )


def require_data(warehouse: Warehouse, completed: CompletedBatches, as_of: datetime) -> datetime | None:
    """Find the newest data at as_of; null if the warehouse has none at all.

    Raises:
        ConfigError: all data comes after as_of.
    """
    newest = find_newest_data(warehouse, completed, as_of)
    if newest is None and (first := find_first_data(warehouse, completed)) is not None:
        raise ConfigError(
            f"--as-of {format_instant(as_of)}: no snapshot or event counts yet, the first is of "
            f"{format_instant(first)}; name a later moment, or --as-of latest"
        )
    return newest
