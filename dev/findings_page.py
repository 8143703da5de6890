"""The page of findings: each cause by its severity, in the words of its docstring.

`make docs` writes it: python -m dev.findings_page > docs/findings.md
"""

import inspect
import sys
from collections.abc import Iterator

from pipelines.report.findings import MEANINGS
from pipelines.why.causes import CAUSES
from pipelines.why.causes.cause import MISCONFIGURED, ORDER, SEVERITIES

PREFACE = """# Findings

A finding says why messages of a queue, or of the transmission queue of an instance, wait. `nightly`,
`priorities why`, the [page](report.md) and the table `findings` name it by its code. Rule files have
[findings of their own](lint.md). Titles in quotes are those of pages of the vendor."""
ORDER_MEANING = "other messages go first. Only `priorities why` shows these."
EXISTING = "\nExisting conversations keep their level after any change of rules."


def findings_page() -> str:
    """Write the page."""
    return "\n\n".join([PREFACE, *_sections()]) + "\n"


def _sections() -> Iterator[str]:
    meanings = {**MEANINGS, ORDER: ORDER_MEANING}
    for severity in SEVERITIES:
        meaning = meanings[severity]
        more = EXISTING if severity == MISCONFIGURED else ""
        yield f"## {severity.capitalize()}\n\n{meaning[0].upper()}{meaning[1:]}{more}"
        for cause in CAUSES:
            if cause.severity == severity:
                yield f"### {cause.code}\n\n{inspect.cleandoc(type(cause).__doc__ or '')}"


if __name__ == "__main__":
    # Bytes, so that no locale decides about the page's encoding.
    sys.stdout.buffer.write(findings_page().encode("utf-8"))
