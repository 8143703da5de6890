"""The start of the activation window, and whether the days since then are left."""

from datetime import datetime

from pipelines.config.instants import format_instant
from pipelines.config.load import Settings
from pipelines.config.model import Activation
from pipelines.storage.pruned_days import require_left
from pipelines.storage.warehouse import Warehouse


def window_start(options: Activation, as_of: datetime) -> datetime:
    """The start of the window before as_of; it cannot begin before the first instant."""
    return as_of - min(options.window, as_of - datetime.min.replace(tzinfo=as_of.tzinfo))


def require_as_of_left(warehouse: Warehouse, settings: Settings, as_of: datetime) -> None:
    """Refuse an as_of if its day, or a day of its activation window, was pruned.

    Raises:
        ConfigError: housekeeping has pruned the day.
    """
    subject = f"command line: --as-of {format_instant(as_of)}"
    require_left(warehouse.first_day, as_of, subject=subject, moment=as_of)
    if settings.activation is not None:
        start = window_start(settings.activation, as_of)
        subject += f" with an activation window of {settings.activation.window_hours:g} hours"
        require_left(warehouse.first_day, start, subject=subject, moment=as_of)
