"""Small random logs that are nasty on purpose: ties, look-alike names, lost, late and shuffled events."""

from .dirty import dirty_batches
from .logs import Log, logs

__all__ = ["Log", "dirty_batches", "logs"]
