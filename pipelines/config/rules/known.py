"""Whose rules are known: of a database whose rules no input has, nothing follows from having found none."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pipelines.config.rules.statements import RuleFile
from pipelines.config.snapshots.server import ServerSnapshot


@dataclass(frozen=True)
class KnownRules:
    """The databases whose rules are known, also where they have none.

    Attributes:
        instances: instances that a rule source is for: the rules of all their databases are known.
        databases: (instance, database) of which a snapshot has the rules.
        partly: those of which a snapshot has the rules that name contract and local service, and no other.
    """

    instances: frozenset[str]
    databases: frozenset[tuple[str, str]]
    partly: frozenset[tuple[str, str]] = frozenset()

    def has(self, instance: str, database: str) -> bool:
        """Whether the rules of a database are known, all of them."""
        return instance in self.instances or (instance, database) in self.databases


def known_rules(
    instances: Iterable[str | None],
    files: Iterable[RuleFile],
    snapshots: Iterable[ServerSnapshot],
    as_of: datetime | None,
) -> KnownRules:
    """Find whose rules are known.

    Args:
        instances: those that the settings name for rule sources.
        files: the rule sources; their statements name instances, too.
        snapshots: those with `conversation_priorities` show the rules of their database.
        as_of: only snapshots up to then count; None counts all.
    """
    stated = {statement.instance for file in files for statement in file.statements}
    shown = [
        each
        for each in snapshots
        if each.priorities() is not None and (as_of is None or each.taken_at <= as_of)
    ]
    # What the newest one shows holds.
    partly = {
        each.database_key: each.leaves_out_any for each in sorted(shown, key=lambda each: each.taken_at)
    }
    return KnownRules(
        frozenset(stated | {name for name in instances if name is not None}),
        frozenset(key for key, leaves_out in partly.items() if not leaves_out),
        frozenset(key for key, leaves_out in partly.items() if leaves_out),
    )
