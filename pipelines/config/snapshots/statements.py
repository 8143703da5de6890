"""What snapshots say of catalog and rules, as the catalog and as rule statements."""

from collections.abc import Iterable, Sequence

from pipelines.config.catalog import Catalog, Database, Instance
from pipelines.config.rules.history import RuleVersion, rule_history
from pipelines.config.rules.statements import ANY, RuleStatement, SourceLocation, StatementType
from pipelines.config.snapshots.server import ServerSnapshot
from pipelines.config.snapshots.views import (
    PRIORITIES,
)


def add_databases(catalog: Catalog, snapshots: Iterable[ServerSnapshot]) -> Catalog:
    """The catalog, with the databases that it lacks as their latest snapshot shows them."""
    known = {(instance, database) for instance, database, _ in catalog.database_rows()}
    shown: dict[tuple[str, str], Database] = {}
    for snapshot in snapshots:
        database = snapshot.database()
        if database is not None and snapshot.database_key not in known:
            shown[snapshot.database_key] = database
    by_name = {instance.name: instance for instance in catalog.instances}
    for (name, _), database in shown.items():
        instance = by_name.get(name, Instance(name=name))
        by_name[name] = instance.model_copy(update={"databases": (*instance.databases, database)})
    return Catalog(instances=tuple(by_name.values()))


def make_statements(
    statements: Sequence[RuleStatement], snapshots: Iterable[ServerSnapshot]
) -> list[RuleStatement]:
    """The rules that snapshots show, as statements, of databases that have none of their own.

    A snapshot's rules are in force from its taken_at on: what an earlier one showed otherwise is dropped
    and created again then.
    """
    own = {(statement.instance, statement.database) for statement in statements}
    made: list[RuleStatement] = []
    standing: dict[tuple[str, str], dict[str, RuleVersion]] = {}
    for snapshot in snapshots:
        shown = snapshot.priorities()
        if shown is None or snapshot.database_key in own:
            continue
        before = standing.get(snapshot.database_key, {})
        creates = [_create(snapshot, number, rule) for number, rule in enumerate(shown)]
        after = {version.name: version for version in rule_history(creates)}
        changed = [name for name, version in before.items() if not _same(version, after.get(name))]
        made += [_drop(snapshot, name) for name in changed]
        made += [create for create in creates if create.name not in before or create.name in changed]
        standing[snapshot.database_key] = after
    return made


def _same(one: RuleVersion, other: RuleVersion | None) -> bool:
    return other is not None and (one.triple, one.level) == (other.triple, other.level)


def _create(
    snapshot: ServerSnapshot, number: int, rule: tuple[str, str | None, str | None, str | None, int]
) -> RuleStatement:
    name, contract, local, remote, level = rule
    return RuleStatement(
        StatementType.CREATE,
        snapshot.taken_at,
        *snapshot.database_key,
        name,
        snapshot.rule_location(number),
        contract=ANY if contract is None else contract,
        local_service=ANY if local is None else local,
        remote_service=ANY if remote is None else remote,
        level=level,
    )


def _drop(snapshot: ServerSnapshot, name: str) -> RuleStatement:
    location = SourceLocation(snapshot.path_of(PRIORITIES), min(snapshot.rule_lines, default=1), 1)
    return RuleStatement(StatementType.DROP, snapshot.taken_at, *snapshot.database_key, name, location)
