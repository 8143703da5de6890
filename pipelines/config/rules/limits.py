"""The engine's limits on what a rule may say, whatever form it is written in."""

from itertools import product
from typing import Final

NAME_LENGTH: Final = 128
"""Characters of a rule's name (sysname)."""

CRITERION_LENGTH: Final = 256
"""Characters of the name of a contract or service: nvarchar(256) is the longest that any of them may be."""

LEVELS: Final = range(1, 11)
"""Priority levels, from low to high."""


def name_problem(name: str, longest: int) -> str | None:
    """Return what is wrong with a name, and what to write; None if it will do."""
    length = len(name.encode("utf-16-le")) // 2  # as the engine counts nvarchar
    if not 1 <= length <= longest:
        return f"has {length} characters (error 33301); write 1 to {longest}"
    return None


def level_problem(level: int) -> str | None:
    """Return what is wrong with a level, and what to write; None if it will do."""
    if level not in LEVELS:
        return f"{level} is not a priority level (error 33302); write 1 (low) to 10 (high)"
    return None


CRITERIA = ("contract", "local_service", "remote_service")
"""The criteria of a rule; each is a name or ANY."""

STEPS: tuple[tuple[bool, bool, bool], ...] = tuple(product((True, False), (True, False), (True, False)))
"""Steps 1 to 8 of the precedence ladder: whether the rule names (contract, local service, remote service).

A contract counts for more than a local service, and that for more than a remote service; see
docs/semantics.md#priority-of-an-endpoint.
"""
