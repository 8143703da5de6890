"""Queues by their names: how an option names a queue, and how every job prints one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError
from pipelines.config.nearest import loosely, suggest_nearest
from schemas.keys import QUEUE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QueueName = tuple[str, str, str]
"""Instance, database and queue."""
FORMS = "Q, DATABASE.Q, INSTANCE.DATABASE.Q, also with a schema before Q; [a.b] for a name with a dot"
"""What `--help` says of the forms of a name."""
NAMES_SHOWN = 5
_PART = re.compile(r"\[((?:[^\]]|\]\])*)\]|([^.\[\]]+)")
_NEEDS_BRACKETS = re.compile(r"[\s.\[\]]")


@dataclass(frozen=True)
class KnownQueues:
    """The queues that an option may name, and all databases, (instance, database), also those without one."""

    queues: frozenset[QueueName]
    databases: frozenset[tuple[str, str]] = field(default=frozenset())

    @classmethod
    def of(cls, catalog: Catalog) -> "KnownQueues":
        """Those of a catalog."""
        databases = frozenset(row[:2] for row in catalog.database_rows())
        return cls(frozenset(), databases).and_queues(row[:3] for row in catalog.queue_rows())

    def and_queues(self, queues: Iterable[QueueName]) -> "KnownQueues":
        """These and others."""
        every = self.queues | frozenset(queues)
        return KnownQueues(every, self.databases | {queue[:2] for queue in every})

    def and_databases(self, databases: Iterable[tuple[str, str]]) -> "KnownQueues":
        """These, and other databases."""
        return KnownQueues(self.queues, self.databases | frozenset(databases))

    def named(self, name: str) -> list[QueueName]:
        """The queues that a name means, in order; none if it is of no queue.

        The whole name goes before a part of it, and a queue of this own name before one of a schema.
        """
        parts = name_parts(name)
        *front, last = parts or [name]
        two = ".".join(parts[-2:])
        readings = [
            [queue for queue in self.queues if list(queue) == parts],
            [
                queue
                for queue in self.queues
                if _ends(queue, front, last) or _ends(queue, front[:-1], two) or name in _plain(queue)
            ],
        ]
        if len(front) > 1 or (front and front[0] not in {database for _, database in self.databases}):
            # The part before the queue's name is its schema, which no table has.
            readings.append([queue for queue in self.queues if _ends(queue, front[:-1], last)])
        return sorted(next(filter(None, readings), []))

    def nearest(self, name: str) -> str:
        """What to write in place of a name that no queue has."""
        *_, last = name_parts(name) or [name]
        own = sorted({queue for _, _, queue in self.queues})
        alike = [other for other in own if loosely(other) == loosely(last)]
        close = alike or get_close_matches(last, own, n=1)
        if not close:
            return suggest_nearest(name, map(queue_text, sorted(self.queues)))
        return f"did you mean {_either(sorted(queue for queue in self.queues if queue[2] in close))}?"


@dataclass(frozen=True)
class QueueFilter:
    """Which queue is asked about, in any form of its name, and where; None is anywhere."""

    queue: str | None = None
    instance: str | None = None
    database: str | None = None

    def of(self, rows: "DataFrame") -> "DataFrame":
        """The rows of this queue, whose own name `queue` is, or of this instance or database."""
        for name, wanted in zip(QUEUE, (self.instance, self.database, self.queue), strict=True):
            if wanted is not None:
                rows = rows.where(rows[name] == wanted)
        return rows

    def find(self, known: KnownQueues) -> list[QueueName]:
        """The known queues that are meant, in order; none if the name is of no queue."""
        within = KnownQueues(frozenset(filter(self._is_within, known.queues)), known.databases)
        if self.queue is None:
            return sorted(within.queues)
        return within.named(self.queue)

    def only(self, known: KnownQueues) -> QueueName:
        """The one queue that is meant.

        Raises:
            ConfigError: there is none of that name, or several.
        """
        self.require_place(known)
        found = self.find(known)
        if len(found) == 1:
            return found[0]
        if found:
            raise ConfigError(f"command line: {self} is one of {_either(found, ', ')}; write one of these")
        hint = known.nearest(self.queue or "")
        raise ConfigError(f"command line: {self}: there is no such queue; {hint}")

    def require_place(self, known: KnownQueues) -> None:
        """Look whether the instance and the database are known.

        Raises:
            ConfigError: one of them is not.
        """
        instances = sorted({instance for instance, _ in known.databases})
        if self.instance is not None and self.instance not in instances:
            raise _unknown("--instance", self.instance, instances)
        databases = sorted({name for instance, name in known.databases if self.instance in (None, instance)})
        if self.database is not None and self.database not in databases:
            raise _unknown("--database", self.database, databases)

    def _is_within(self, queue: QueueName) -> bool:
        return self.instance in (None, queue[0]) and self.database in (None, queue[1])

    def __str__(self) -> str:
        named = (("--queue", self.queue), ("--instance", self.instance), ("--database", self.database))
        return " ".join(f"{option} {value}" for option, value in named if value is not None)


def name_parts(text: str) -> list[str]:
    """Cut a name at its dots; a part may stand in brackets, `]` doubled. Empty if it is no such name."""
    parts, at = [], 0
    while match := _PART.match(text, at):
        bracketed, bare = match.groups()
        parts.append(bare if bracketed is None else bracketed.replace("]]", "]"))
        at = match.end()
        if at == len(text):
            return parts
        if text[at] != ".":
            break
        at += 1
    return []


def queue_text(queue: Sequence[str]) -> str:
    """Write a queue's, database's or instance's parts as a name that options take."""
    return ".".join(
        f"[{part.replace(']', ']]')}]" if not part or _NEEDS_BRACKETS.search(part) else part for part in queue
    )


def _ends(queue: QueueName, front: Sequence[str], own: str) -> bool:
    """Whether the queue is called `own`, and `front` is the end of what its database is called by."""
    return queue[2] == own and list(queue[:2])[2 - len(front) :] == list(front)


def _plain(queue: QueueName) -> set[str]:
    """Its names without brackets, whatever dots are in them."""
    return {".".join(queue[start:]) for start in range(len(queue))}


def _either(queues: Sequence[QueueName], separator: str = " or ") -> str:
    more = separator + "more" if len(queues) > NAMES_SHOWN else ""
    return separator.join(map(queue_text, queues[:NAMES_SHOWN])) + more


def _unknown(option: str, name: str, known: Sequence[str]) -> ConfigError:
    return ConfigError(
        f"command line: {option} {name}: there is none of that name; {suggest_nearest(name, known)}"
    )
