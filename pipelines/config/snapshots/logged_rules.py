"""Rules of a DDL log, laid over what rule files and captures show."""

from collections.abc import Sequence

from pipelines.config.rules.history import apply_statements
from pipelines.config.rules.statements import Note, NoteReason, RuleStatement


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
