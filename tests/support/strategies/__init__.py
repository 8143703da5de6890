"""Small random logs that are nasty on purpose: ties, look-alike names, lost, late and shuffled events."""

from .dirty import dirty_batches
from .logs import Log, logs, splits

__all__ = ["Log", "dirty_batches", "logs", "splits"]
