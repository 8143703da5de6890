"""Tiny logs for each cause of `why`: where it holds, and where its condition fails by one step."""

from . import near_misses, orders, queues, readers, rules, snapshots
from .scene import Scene

SUBJECTS = (rules, near_misses, orders, queues, readers, snapshots)
SCENES: list[Scene] = [scene for subject in SUBJECTS for scene in subject.SCENES]

__all__ = ["SCENES", "Scene"]
