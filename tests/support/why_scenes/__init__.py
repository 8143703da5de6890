"""Tiny logs for each cause of `why`: where it holds, and where its condition fails by one step."""

from . import orders, queues, readers, rules, unplaced
from .scene import Scene

SCENES: list[Scene] = [
    *rules.SCENES,
    *orders.SCENES,
    *queues.SCENES,
    *readers.SCENES,
    *unplaced.SCENES,
]

__all__ = ["SCENES", "Scene"]
