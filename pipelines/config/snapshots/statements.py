"""What snapshots say of rules, as rule statements."""

from collections.abc import Iterable, Sequence

from pipelines.config.rules.history import RuleVersion, rule_history
from pipelines.config.rules.statements import ANY, RuleStatement, SourceLocation, StatementType
from pipelines.config.snapshots.server import ServerSnapshot
from pipelines.config.snapshots.views import (
    PRIORITIES,
)


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
