"""Rules for the lint's tests, written in a few words."""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import count

from pipelines.config.catalog import Catalog, Database, Instance, Queue, Service
from pipelines.rules.history import RuleHistory, apply_statements
from pipelines.rules.statements import ANY, Criterion, RuleStatement, SourceLocation, StatementType

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
I_A, I_B = ("I", "A"), ("I", "B")
_lines = count(1)


def create(
    name: str, criteria: str, level: int, place: tuple[str, str] = I_A, at: datetime = LONG_AGO
) -> RuleStatement:
    """A CREATE; criteria are contract, local and remote service between blanks, * is ANY."""
    contract, local, remote = (_criterion(word) for word in criteria.split(" "))
    instance, database = place
    return RuleStatement(
        StatementType.CREATE,
        at,
        instance,
        database,
        name,
        SourceLocation("rules.sql", next(_lines), 1),
        contract,
        local,
        remote,
        level,
    )


def _criterion(word: str) -> Criterion:
    return ANY if word == "*" else word.replace("_", " ")


def history_of(*statements: RuleStatement) -> RuleHistory:
    return apply_statements(statements)


def catalog(services: dict[tuple[str, str], Iterable[str]], honor: bool = True) -> Catalog:
    """A catalog of databases with these services, each with one queue."""
    instances: dict[str, list[Database]] = {}
    for (instance, name), names in services.items():
        bound = tuple(Service(name=service, queue="Q") for service in names)
        database = Database(name=name, honor_broker_priority=honor, queues=(Queue(name="Q"),), services=bound)
        instances.setdefault(instance, []).append(database)
    return Catalog(
        instances=tuple(Instance(name=name, databases=tuple(each)) for name, each in instances.items())
    )
