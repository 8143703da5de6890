"""The history of priority rules: statements carried out one after another, as the engine would."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import TypeAlias

from pipelines.config.errors import ConfigError
from pipelines.config.nearest import nearest
from pipelines.config.queue_filter import queue_text
from pipelines.rules.statements import (
    ALWAYS,
    DEFAULT_LEVEL,
    UNSET,
    Condition,
    Criterion,
    Exit,
    Guard,
    RuleStatement,
    SourceLocation,
    StatementType,
    Test,
)

_Triple: TypeAlias = tuple[str | None, str | None, str | None]
VersionKey: TypeAlias = tuple[str, str, str, datetime]


@dataclass(frozen=True)
class RuleVersion:
    """A rule as it stood in the half-open interval [valid_from, valid_to).

    A criterion of None is ANY; a valid_to of None is open. Times are aware and in UTC.
    """

    instance: str
    database: str
    name: str
    contract: str | None
    local_service: str | None
    remote_service: str | None
    level: int
    valid_from: datetime
    valid_to: datetime | None = None

    @property
    def triple(self) -> _Triple:
        """What the rule matches: contract, local service, remote service; unique in its database."""
        return self.contract, self.local_service, self.remote_service

    @property
    def key(self) -> VersionKey:
        """Which version it is: instance, database, name, valid_from."""
        return self.instance, self.database, self.name, self.valid_from


class Fault(Enum):
    """Why the engine would refuse a statement."""

    SAME_CRITERIA = "another rule has the same criteria, and another level"
    SAME_RULE = "another rule has the same criteria and the same level"
    NAME_TAKEN = "a rule of that name exists"
    NO_SUCH_RULE = "there is no rule of that name"
    UNCLEAR_CHECK = "a check asks for a rule in another case"


@dataclass(frozen=True)
class Refusal:
    """A statement that the engine would refuse.

    `message` is the whole line that reports it; `other` is the statement that it collides with, if any.
    """

    statement: RuleStatement
    fault: Fault
    message: str
    other: RuleStatement | None = None


@dataclass(frozen=True)
class RuleHistory:
    """What statements come to: versions, where each was written, and the statements that were refused.

    A rule of which a statement was refused has no version from then on.
    """

    versions: tuple[RuleVersion, ...]
    locations: Mapping[VersionKey, SourceLocation]
    refusals: tuple[Refusal, ...]

    def require_accepted(self) -> None:
        """Refuse them all if one of them was refused.

        Raises:
            ConfigError: One line for each statement that was refused.
        """
        ConfigError.raise_any(refusal.message for refusal in self.refusals)


def rule_history(statements: Iterable[RuleStatement]) -> list[RuleVersion]:
    """Return all versions of all rules, ordered by (instance, database, name, valid_from).

    Statements take effect by their moment; at the same moment, in the order given. Each is checked against
    the rules that those before it left, also within one moment. A version of no length has no row.

    Raises:
        ConfigError: A CREATE or ALTER would repeat a name or a triple (the engine's error 33303), or an ALTER
            or DROP is of a rule that is not there (15151); one line for each, naming all places concerned.
    """
    folded = apply_statements(statements)
    folded.require_accepted()
    return list(folded.versions)


def apply_statements(statements: Iterable[RuleStatement]) -> RuleHistory:
    """Do what `rule_history` does, and list what was refused instead of raising.

    Refusals come by database and in the order in which they take effect, versions as in `rule_history`.
    """
    ordered = sorted(statements, key=attrgetter("effective_from"))
    databases: dict[tuple[str, str], _Rules] = {}
    for statement in ordered:
        place = statement.instance, statement.database
        databases.setdefault(place, _Rules()).statements.append(statement)
    _replay(databases, ordered)
    versions: list[RuleVersion] = []
    locations: dict[VersionKey, SourceLocation] = {}
    refusals: list[Refusal] = []
    for rules in databases.values():
        refusals += rules.refusals
        versions += [*rules.closed, *rules.standing.values()]
        locations |= rules.locations
    versions.sort(key=attrgetter("instance", "database", "name", "valid_from"))
    return RuleHistory(tuple(versions), locations, tuple(refusals))


class _Rules:
    """The rules of one database at a moment that moves forward."""

    def __init__(self) -> None:
        self.statements: list[RuleStatement] = []  # all of the database, by moment
        self.refusals: list[Refusal] = []
        self.standing: dict[str, RuleVersion] = {}
        self.closed: list[RuleVersion] = []
        self.holders: dict[_Triple, str] = {}  # the rule that stands with each triple
        self.latest: dict[str, RuleStatement] = {}  # of each name, also of rules that are gone
        self.locations: dict[VersionKey, SourceLocation] = {}
        self._spellings: dict[str, dict[str, None]] = {}  # of the rules that stand, by what ignores case

    def carry_out(self, statement: RuleStatement) -> None:
        before = self.standing.get(statement.name)
        self.remove(statement.name)
        if before and before.valid_from < statement.effective_from:
            self.closed.append(replace(before, valid_to=statement.effective_from))
        if statement.kind is not StatementType.DROP:
            after = _version(statement, before)
            self.standing[statement.name] = after
            self._spellings.setdefault(_folded(statement.name), {})[statement.name] = None
            self.holders[after.triple] = statement.name
            self.locations[after.key] = statement.location
        self.latest[statement.name] = statement

    def remove(self, name: str) -> None:
        if name in self.standing:
            del self.holders[self.standing.pop(name).triple]
            del self._spellings[_folded(name)][name]

    def other_spelling(self, name: str) -> str | None:
        """A rule that stands and whose name differs by case or blanks at its end only."""
        spellings = self._spellings.get(_folded(name), {})
        return None if name in spellings else next(iter(spellings), None)


def _folded(name: str) -> str:
    return name.rstrip(" ").casefold()


def _replay(databases: Mapping[tuple[str, str], _Rules], statements: Sequence[RuleStatement]) -> None:
    """Carry the statements out, each by its condition, and note those that are refused.

    A refused statement takes its rule out of the replay: nothing is reported that only follows from it.
    """
    checks = _Checks(databases)
    refused: set[tuple[str, str, str]] = set()
    for statement in statements:
        rule = statement.instance, statement.database, statement.name
        if rule in refused:
            continue
        rules = databases[rule[:2]]
        refusal = checks.objection(statement)
        if refusal is None:
            if not checks.hold(statement):
                continue
            refusal = _refusal(rules, statement, rules.statements)
        if refusal is None:
            rules.carry_out(statement)
        else:
            rules.refusals.append(refusal)
            refused.add(rule)
            rules.remove(statement.name)


class _Checks:
    """The tests of guards, each decided by the rules that stand when the first statement under it is due."""

    def __init__(self, databases: Mapping[tuple[str, str], _Rules]) -> None:
        self._databases = databases
        self._decided: dict[Test, bool] = {}
        self._left: dict[Exit, bool] = {}

    def hold(self, statement: RuleStatement) -> bool:
        """Decide whether a statement is carried out."""
        condition = statement.condition
        if condition is ALWAYS:
            return True
        ways = self._undecided_exits(condition)
        left = self._left[ways[0].before] if ways and ways[0].before else False
        for way in ways:
            left = left or self._all_hold(statement.instance, way.guards)
            self._left[way] = left
        if condition.exit is not None and self._left[condition.exit]:
            return False
        return self._all_hold(statement.instance, condition.guards)

    def objection(self, statement: RuleStatement) -> Refusal | None:
        """Refuse a check that only the collation of the database can decide."""
        condition = statement.condition
        if condition is ALWAYS:
            return None
        ways = self._undecided_exits(condition)
        for guard in (*(guard for way in ways for guard in way.guards), *condition.guards):
            if guard.test in self._decided:
                continue
            for database, name in guard.test.names():
                rules = self._databases.get((statement.instance, database))
                asked = repr(name)
                other = rules.other_spelling(name) if rules and name else None
                if rules is None:
                    asked, other = (
                        f"rules of {database!r}",
                        self._other_database(statement.instance, database),
                    )
                if other is not None:
                    message = (
                        f"{statement.location}: the check of line {guard.location.line} asks for {asked}, "
                        "and "
                        f"{other!r} stands, which only some databases take for the same; write the name "
                        "in the same case"
                    )
                    return Refusal(statement, Fault.UNCLEAR_CHECK, message)
        return None

    def _other_database(self, instance: str, database: str) -> str | None:
        """A database with rules whose name differs by case only."""
        known = (name for owner, name in self._databases if owner == instance)
        return next((name for name in known if name.casefold() == database.casefold()), None)

    def _undecided_exits(self, condition: Condition) -> list[Exit]:
        """The ways out before a statement that were not decided, in their order."""
        ways, way = [], condition.exit
        while way is not None and way not in self._left:
            ways.append(way)
            way = way.before
        return ways[::-1]

    def _all_hold(self, instance: str, guards: Iterable[Guard]) -> bool:
        return all(self._test(instance, guard.test) is guard.outcome for guard in guards)

    def _test(self, instance: str, test: Test) -> bool:
        if test not in self._decided:

            def has_rule(database: str, name: str | None) -> bool:
                standing = self._standing(instance, database)
                return bool(standing) if name is None else name in standing

            self._decided[test] = test.holds(has_rule)
        return self._decided[test]

    def _standing(self, instance: str, database: str) -> Mapping[str, RuleVersion]:
        rules = self._databases.get((instance, database))
        return rules.standing if rules else {}


def _refusal(rules: _Rules, statement: RuleStatement, statements: Sequence[RuleStatement]) -> Refusal | None:
    def refuse(fault: Fault, objection: str, other: RuleStatement | None = None) -> Refusal:
        verb = statement.kind.value
        named = [part for part in (statement.instance, statement.database) if part]
        database = queue_text(named) or "the database"
        message = f"{statement.location}: {verb} {statement.name!r} in {database}: {objection}"
        return Refusal(statement, fault, message, other)

    before = rules.standing.get(statement.name)
    if statement.kind is not StatementType.CREATE and before is None:
        trace = _trace(rules, statement, statements)
        return refuse(Fault.NO_SUCH_RULE, f"there is no such rule at that moment (error 15151); {trace}")
    if statement.kind is StatementType.CREATE and before:
        other = rules.latest[statement.name]
        objection = (
            f"the rule exists already, see {other.location} (error 33303); take another name, or ALTER it"
        )
        return refuse(Fault.NAME_TAKEN, objection, other)
    if statement.kind is StatementType.DROP:
        return None
    after = _version(statement, before)
    holder = rules.holders.get(after.triple, statement.name)
    if holder == statement.name:
        return None
    contract, local, remote = ("ANY" if value is None else repr(value) for value in after.triple)
    same_level = rules.standing[holder].level == after.level
    return refuse(
        Fault.SAME_RULE if same_level else Fault.SAME_CRITERIA,
        f"the rule {holder!r}, see {rules.latest[holder].location}, has the same contract {contract}, "
        f"local service {local} and remote service {remote} (error 33303); change or drop one of the two",
        rules.latest[holder],
    )


def _trace(rules: _Rules, statement: RuleStatement, statements: Sequence[RuleStatement]) -> str:
    """Say where a rule that is not there was dropped, is created later, or which one may be meant."""
    if dropped := rules.latest.get(statement.name):
        return f"it was dropped at {dropped.location}"
    for other in statements:
        if other.kind is StatementType.CREATE and other.name == statement.name:
            return f"it is created after that, at {other.location}; change the order or effective_from"
    # No other name is offered: the statement would then drop or alter a rule that it does not mean.
    near = nearest(statement.name, rules.standing)
    return f"did you mean {near!r}?" if near else "create it before, or remove the statement"


def _version(statement: RuleStatement, before: RuleVersion | None) -> RuleVersion:
    """Return the rule as a CREATE (before is None) or an ALTER leaves it."""
    level = statement.level
    if level is None:
        level = before.level if before else DEFAULT_LEVEL
    return RuleVersion(
        statement.instance,
        statement.database,
        statement.name,
        _value(statement.contract, before.contract if before else None),
        _value(statement.local_service, before.local_service if before else None),
        _value(statement.remote_service, before.remote_service if before else None),
        level,
        valid_from=statement.effective_from,
    )


def _value(criterion: Criterion, before: str | None) -> str | None:
    if isinstance(criterion, str):
        return criterion
    return before if criterion is UNSET else None
