"""Conditions of statements that the history decides: IF [NOT] EXISTS over sys.conversation_priorities."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pipelines.config.rules.source_location import Origin

Lookup = Callable[[str, str | None], bool]
"""Whether a database has a rule of this name; of any name, if the name is None."""


class Test(ABC):
    """A condition; two of them are equal only if they stand at one place of one script."""

    __test__ = False

    @abstractmethod
    def holds(self, has_rule: Lookup) -> bool:
        """Evaluate it."""

    @abstractmethod
    def names(self) -> Iterator[tuple[str, str | None]]:
        """Yield each database and name that it asks for."""


@dataclass(frozen=True, eq=False)
class Exists(Test):
    """A database has a rule of one of these names; no names at all stand for any name."""

    database: str
    rules: tuple[str, ...]

    def holds(self, has_rule: Lookup) -> bool:
        """Evaluate it."""
        return any(has_rule(*each) for each in self.names())

    def names(self) -> Iterator[tuple[str, str | None]]:
        """Yield the database with each of the names."""
        for name in self.rules or (None,):
            yield self.database, name


@dataclass(frozen=True, eq=False)
class Not(Test):
    """Negate the condition."""

    test: Test

    def holds(self, has_rule: Lookup) -> bool:
        """Evaluate it."""
        return not self.test.holds(has_rule)

    def names(self) -> Iterator[tuple[str, str | None]]:
        """Yield those of the test."""
        yield from self.test.names()


@dataclass(frozen=True, eq=False)
class Several(Test):
    """AND (`every`) or OR of tests."""

    tests: tuple[Test, ...]
    every: bool

    def holds(self, has_rule: Lookup) -> bool:
        """Evaluate it."""
        return (all if self.every else any)(test.holds(has_rule) for test in self.tests)

    def names(self) -> Iterator[tuple[str, str | None]]:
        """Yield those of all tests."""
        for test in self.tests:
            yield from test.names()


@dataclass(frozen=True)
class Guard:
    """A branch that a statement stands in: the test of the IF at `origin`, and what it has to come to."""

    test: Test
    outcome: bool
    origin: Origin


@dataclass(frozen=True, eq=False)
class Exit:
    """A RETURN before a statement: the batch is left if all its guards hold, or if it was left `before`."""

    guards: tuple[Guard, ...]
    before: "Exit | None" = field(default=None, repr=False)


@dataclass(frozen=True)
class Condition:
    """When a statement is carried out: every guard holds, and the batch was not left before it."""

    guards: tuple[Guard, ...] = ()
    exit: Exit | None = None


ALWAYS = Condition()
"""Carried out whatever stands."""
