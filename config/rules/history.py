"""The history of priority rules: statements carried out one after another, as the engine would."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import TypeAlias

from config.errors import ConfigError
from config.nearest import instead
from config.rules.statements import DEFAULT_LEVEL, UNSET, Criterion, Kind, Origin, RuleStatement

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
class Folded:
    """What statements come to: versions, where each was written, and the statements that were refused.

    A rule of which a statement was refused has no version from then on.
    """

    versions: tuple[RuleVersion, ...]
    origins: Mapping[VersionKey, Origin]
    refusals: tuple[Refusal, ...]

    def require_accepted(self) -> None:
        """Refuse them all if one of them was refused.

        Raises:
            ConfigError: One line for each statement that was refused.
        """
        if self.refusals:
            raise ConfigError(*(refusal.message for refusal in self.refusals))


def rule_history(statements: Iterable[RuleStatement]) -> list[RuleVersion]:
    """Return all versions of all rules, ordered by (instance, database, name, valid_from).

    Statements take effect by their moment; at the same moment, in the order given. Each is checked against
    the rules that those before it left, also within one moment. A version of no length has no row.

    Raises:
        ConfigError: A CREATE or ALTER would repeat a name or a triple (the engine's error 33303), or an ALTER
            or DROP is of a rule that is not there (15151); one line for each, naming all places concerned.
    """
    folded = fold_statements(statements)
    folded.require_accepted()
    return list(folded.versions)


def fold_statements(statements: Iterable[RuleStatement]) -> Folded:
    """Do what `rule_history` does, and list what was refused instead of raising.

    Refusals come by database and in the order in which they take effect, versions as in `rule_history`.
    """
    databases: dict[tuple[str, str], list[RuleStatement]] = {}
    for statement in sorted(statements, key=attrgetter("effective_from")):
        databases.setdefault((statement.instance, statement.database), []).append(statement)
    versions: list[RuleVersion] = []
    origins: dict[VersionKey, Origin] = {}
    refusals: list[Refusal] = []
    for in_order in databases.values():
        rules = _Rules()
        refusals += _replay(rules, in_order)
        versions += [*rules.closed, *rules.standing.values()]
        origins |= rules.origins
    versions.sort(key=attrgetter("instance", "database", "name", "valid_from"))
    return Folded(tuple(versions), origins, tuple(refusals))


class _Rules:
    """The rules of one database at a moment that moves forward."""

    def __init__(self) -> None:
        self.standing: dict[str, RuleVersion] = {}
        self.closed: list[RuleVersion] = []
        self.holders: dict[_Triple, str] = {}  # the rule that stands with each triple
        self.latest: dict[str, RuleStatement] = {}  # of each name, also of rules that are gone
        self.origins: dict[VersionKey, Origin] = {}

    def carry_out(self, statement: RuleStatement) -> None:
        before = self.standing.get(statement.name)
        self.remove(statement.name)
        if before and before.valid_from < statement.effective_from:
            self.closed.append(replace(before, valid_to=statement.effective_from))
        if statement.kind is not Kind.DROP:
            after = _version(statement, before)
            self.standing[statement.name] = after
            self.holders[after.triple] = statement.name
            self.origins[after.key] = statement.origin
        self.latest[statement.name] = statement

    def remove(self, name: str) -> None:
        if name in self.standing:
            del self.holders[self.standing.pop(name).triple]


def _replay(rules: _Rules, statements: Sequence[RuleStatement]) -> list[Refusal]:
    """Carry the statements out and return those that are refused.

    A refused statement takes its rule out of the replay: nothing is reported that only follows from it.
    """
    refusals: list[Refusal] = []
    refused: set[str] = set()
    for statement in statements:
        if statement.name in refused:
            continue
        refusal = _refusal(rules, statement, statements)
        if refusal is None:
            rules.carry_out(statement)
        else:
            refusals.append(refusal)
            refused.add(statement.name)
            rules.remove(statement.name)
    return refusals


def _refusal(rules: _Rules, statement: RuleStatement, statements: Sequence[RuleStatement]) -> Refusal | None:
    def refuse(fault: Fault, objection: str, other: RuleStatement | None = None) -> Refusal:
        verb, database = statement.kind.value, f"{statement.instance}.{statement.database}"
        message = f"{statement.origin}: {verb} {statement.name!r} in {database}: {objection}"
        return Refusal(statement, fault, message, other)

    before = rules.standing.get(statement.name)
    if statement.kind is not Kind.CREATE and before is None:
        trace = _trace(rules, statement, statements)
        return refuse(Fault.NO_SUCH_RULE, f"there is no such rule at that moment (error 15151); {trace}")
    if statement.kind is Kind.CREATE and before:
        other = rules.latest[statement.name]
        objection = (
            f"the rule exists already, see {other.origin} (error 33303); take another name, or ALTER it"
        )
        return refuse(Fault.NAME_TAKEN, objection, other)
    if statement.kind is Kind.DROP:
        return None
    after = _version(statement, before)
    holder = rules.holders.get(after.triple, statement.name)
    if holder == statement.name:
        return None
    contract, local, remote = ("ANY" if value is None else repr(value) for value in after.triple)
    same_level = rules.standing[holder].level == after.level
    return refuse(
        Fault.SAME_RULE if same_level else Fault.SAME_CRITERIA,
        f"the rule {holder!r}, see {rules.latest[holder].origin}, has the same contract {contract}, "
        f"local service {local} and remote service {remote} (error 33303); change or drop one of the two",
        rules.latest[holder],
    )


def _trace(rules: _Rules, statement: RuleStatement, statements: Sequence[RuleStatement]) -> str:
    """Say where a rule that is not there was dropped, is created later, or which one may be meant."""
    if dropped := rules.latest.get(statement.name):
        return f"it was dropped at {dropped.origin}"
    for other in statements:
        if other.kind is Kind.CREATE and other.name == statement.name:
            return f"it is created after that, at {other.origin}; change the order or effective_from"
    return instead(statement.name, rules.standing)


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
