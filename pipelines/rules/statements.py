"""Rule statements, the conditions under which they are carried out, and what a rule file holds of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from itertools import product
from typing import Final, Literal, TypeAlias

Lookup = Callable[[str, str | None], bool]
"""Whether a database has a rule of this name; of any name, if the name is None."""
DEFAULT_LEVEL: Final = 5
"""The level of a rule that names none, and of an endpoint that no rule matches."""


@dataclass(frozen=True, order=True)
class SourceLocation:
    """Where a statement stands; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return file:line:column, as editors understand it."""
        return f"{self.file}:{self.line}:{self.column}"


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
    """A database has a rule whose name is in `rules`; if `rules` is empty, any rule."""

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
    """A branch that a statement stands in: the test of the IF at `location`, and what it has to come to."""

    test: Test
    outcome: bool
    location: SourceLocation


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


class StatementType(Enum):
    """What a statement does to its rule."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    DROP = "DROP"


class Keyword(Enum):
    """Values of a criterion that are not names; a string is always a name, even 'ANY'."""

    UNSET = "UNSET"
    ANY = "ANY"


UNSET: Final = Keyword.UNSET
"""The statement does not mention the criterion: ANY on CREATE, unchanged on ALTER."""

ANY: Final = Keyword.ANY
"""The wildcard."""

Criterion: TypeAlias = str | Literal[Keyword.UNSET, Keyword.ANY]


@dataclass(frozen=True)
class RuleStatement:
    """One statement about one rule.

    `effective_from` is aware and in UTC. `level` is None where the statement gives none. A DROP has neither
    criteria nor level. It is carried out only if its `condition` holds.
    """

    kind: StatementType
    effective_from: datetime
    instance: str
    database: str
    name: str
    location: SourceLocation
    contract: Criterion = UNSET
    local_service: Criterion = UNSET
    remote_service: Criterion = UNSET
    level: int | None = None
    condition: Condition = ALWAYS


class NoteReason(Enum):
    """Why something of a rule source does not count."""

    NOT_READ = "text about rules, or a file, that is not read"
    ROLLED_BACK = "a rule that its transaction takes back"
    NO_RULES = "a source without a rule statement"
    ASSUMED = "a rule that is read as if a condition before it did not hold"
    OTHER_CASE = "rules of a database that is known in another case"


@dataclass(frozen=True)
class Note:
    """Something of a rule source that does not count, or not for sure.

    Attributes:
        kind: why.
        location: where it stands.
        message: what it is, in one sentence.
        fix: what to do.
        instance: of the source; empty if it has none.
        database: that of the last USE, or of the source; empty without one.
        rule: the rule's name, if it is about one.
    """

    kind: NoteReason
    location: SourceLocation
    message: str
    fix: str
    instance: str = ""
    database: str = ""
    rule: str | None = None

    def __str__(self) -> str:
        """Return the line that reports it."""
        return f"{self.location}: {self.message}; {self.fix}"


@dataclass(frozen=True)
class HonorSetting:
    """An ALTER DATABASE of a script that turns HONOR_BROKER_PRIORITY on or off."""

    instance: str
    database: str
    is_on: bool
    location: SourceLocation


@dataclass(frozen=True)
class CatalogChange:
    """What a statement about a queue, a service or a contract changes in the catalog.

    Attributes:
        verb: CREATE, ALTER or DROP.
        moment: when it was carried out, UTC.
        instance: of the log.
        database: whose queue, service or contract it is.
        kind: queue, service or contract, as in `catalog_history`.
        name: its name; of a queue without its schema.
        schema: of a queue, or of that to which a service is bound.
        values: the attributes that it sets; None where it takes them away.
        location: where it stands.
    """

    verb: StatementType
    moment: datetime
    instance: str
    database: str
    kind: str
    name: str
    schema: str
    values: Mapping[str, str | None]
    location: SourceLocation


@dataclass(frozen=True)
class RuleFile:
    """The statements of a rule file in its order.

    `passed_over` counts the statements of a script that are not about rules; YAML has none. `notes` says
    what of the file does not count, in its order. `created` has the contracts and services that a script
    creates: instance, database and name. `is_log`: a DDL trigger wrote down what was carried out, and
    `catalog_changes` has what it says of queues, services and contracts.
    """

    path: str
    statements: tuple[RuleStatement, ...]
    passed_over: int = 0
    notes: tuple[Note, ...] = ()
    honor_settings: tuple[HonorSetting, ...] = ()
    created: frozenset[tuple[str, str, str]] = frozenset()
    is_log: bool = False
    catalog_changes: tuple[CatalogChange, ...] = ()


@dataclass(frozen=True)
class RuleDefaults:
    """What counts where a rule file says nothing.

    Attributes:
        instance: of statements that name none.
        effective_from: moment of effect of statements that have none.
        database: of statements that name none, and of a script before its first USE.
        variables: values of $(name) in a script that sets none itself.
    """

    instance: str | None = None
    effective_from: datetime | None = None
    database: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


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
