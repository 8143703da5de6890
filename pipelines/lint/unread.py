"""R401 to R405: what of the rule sources does not count."""

from collections.abc import Iterable, Iterator

from pipelines.config.rules.rule_file import Note, NoteKind
from pipelines.lint.findings import Code, Finding

_CODES = {
    NoteKind.NOT_READ: Code.NOT_READ,
    NoteKind.ROLLED_BACK: Code.ROLLED_BACK,
    NoteKind.NO_RULES: Code.NO_RULES,
    NoteKind.ASSUMED: Code.ASSUMED,
    NoteKind.OTHER_CASE: Code.OTHER_CASE,
}


def lint_unread(notes: Iterable[Note]) -> Iterator[Finding]:
    """Yield one finding for each note; its place is the source's, as far as that is known."""
    for note in notes:
        code, place = _CODES[note.kind], (note.instance, note.database)
        yield Finding(code, code.severity, place, note.rule, note.origin, note.message, note.fix)
