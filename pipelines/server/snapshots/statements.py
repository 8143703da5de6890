"""What snapshots and DDL logs say of rules, as rule statements."""

from collections.abc import Iterable, Sequence

from pipelines.rules.history import RuleVersion, apply_statements, rule_history
from pipelines.rules.statements import (
    ANY,
    Note,
    NoteReason,
    RuleStatement,
    SourceLocation,
    StatementType,
)
from pipelines.server.snapshots.server import CapturedSnapshot, ServerSnapshot
from pipelines.server.snapshots.views import PRIORITIES


def make_statements(
    statements: Sequence[RuleStatement],
    snapshots: Iterable[ServerSnapshot],
    logged: Sequence[RuleStatement] = (),
) -> list[RuleStatement]:
    """The rules that snapshots show, as statements, of databases that have none of their own.

    A snapshot's rules are in force from its taken_at on: what an earlier one showed otherwise, or a DDL log
    left, is dropped and created again then. What a capture does not show stands on if its view may lack rows.

    Args:
        statements: of rule files.
        snapshots: in the order of their moments.
        logged: of DDL logs.
    """
    own = {(statement.instance, statement.database) for statement in statements}
    made: list[RuleStatement] = []
    standing: dict[tuple[str, str], dict[str, RuleVersion]] = {}
    for snapshot in snapshots:
        shown = snapshot.priorities()
        if shown is None or snapshot.database_key in own:
            continue
        before = standing.get(snapshot.database_key, {})
        of_log = [
            each
            for each in logged
            if (each.instance, each.database) == snapshot.database_key
            and each.effective_from <= snapshot.taken_at
        ]
        if of_log:
            before = _left_by(made, of_log, snapshot)
        creates = [_create(snapshot, number, rule) for number, rule in enumerate(shown)]
        after = {version.name: version for version in rule_history(creates)}
        if _may_lack_rules(snapshot):
            triples = {version.triple for version in after.values()}
            after = {name: old for name, old in before.items() if old.triple not in triples} | after
        elif snapshot.leaves_out_any:
            unseen = {name: version for name, version in before.items() if None in version.triple[:2]}
            after = unseen | after
        changed = [name for name, version in before.items() if not _same(version, after.get(name))]
        made += [_drop(snapshot, name) for name in changed]
        made += [create for create in creates if create.name not in before or create.name in changed]
        standing[snapshot.database_key] = after
    return made


def _left_by(
    made: Sequence[RuleStatement], logged: Sequence[RuleStatement], snapshot: ServerSnapshot
) -> dict[str, RuleVersion]:
    """The rules that earlier snapshots and a log leave at the moment of a snapshot, by name."""
    shown = [each for each in made if (each.instance, each.database) == snapshot.database_key]
    kept, _ = without_refused(shown, logged)
    versions = apply_statements([*shown, *kept]).versions
    return {each.name: each for each in versions if each.valid_to is None}


def _may_lack_rules(snapshot: ServerSnapshot) -> bool:
    """Whether rules may be missing: a capture says so, and views by hand have all."""
    return isinstance(snapshot.declared, CapturedSnapshot) and PRIORITIES not in snapshot.complete


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


def without_refused(
    statements: Sequence[RuleStatement], logged: Sequence[RuleStatement]
) -> tuple[list[RuleStatement], list[Note]]:
    """The logged statements that fit what stood before them, and what to say of the others.

    Args:
        statements: of rule files and captures.
        logged: of DDL logs. The server carried them out, so one that does not fit shows that a rule before
            it is not known.
    """
    kept, notes = list(logged), list[Note]()
    while True:
        folded = apply_statements([*statements, *kept])
        refused = {id(each.statement): each for each in folded.refusals}
        wrong = [each for each in kept if id(each) in refused]
        if not wrong:
            return kept, notes
        kept = [each for each in kept if id(each) not in refused]
        notes += [_note(each, refused[id(each)].message) for each in wrong]


def _note(statement: RuleStatement, message: str) -> Note:
    said = message.removeprefix(f"{statement.location}: ").partition("; ")[0]
    return Note(
        NoteReason.ASSUMED,
        statement.location,
        f"{statement.kind.value} of {statement.name} is passed over: {said}",
        "add a capture or a rule file from before the log's first row",
        statement.instance,
        statement.database,
        statement.name,
    )
