"""R101 to R105: statements that the engine would refuse, and the night as well."""

from collections.abc import Iterable, Iterator

from pipelines.config.rules.history import Fault, Refusal
from pipelines.lint.findings import Code, Finding

_CODES = {
    Fault.SAME_CRITERIA: Code.SAME_CRITERIA,
    Fault.SAME_RULE: Code.SAME_RULE,
    Fault.NAME_TAKEN: Code.NAME_TAKEN,
    Fault.NO_SUCH_RULE: Code.NO_SUCH_RULE,
    Fault.UNCLEAR_CHECK: Code.UNCLEAR_CHECK,
}


def lint_refused(refusals: Iterable[Refusal]) -> Iterator[Finding]:
    """Yield one finding for each statement that was refused, whenever it takes effect."""
    for refusal in refusals:
        statement, code = refusal.statement, _CODES[refusal.fault]
        # The message is "<place>: <what>; <what to do>", as a night would print it.
        said = refusal.message.removeprefix(f"{statement.origin}: ")
        sentence, _, fix = said.partition("; ")
        place = statement.instance, statement.database
        yield Finding(code, code.severity, place, statement.name, statement.origin, sentence, fix)
