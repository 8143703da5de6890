"""Say whether what the settings expect held at a published as_of.

It ends with exit code 6 if one expectation is not met.
"""

from typing import Any

from pipelines.commands.question import Asked, Question
from pipelines.config.errors import NOT_MET
from pipelines.config.instants import format_instant
from pipelines.console.terminal import open_console
from pipelines.expectations.read import not_met, read_expectations, report_expectations
from pipelines.expectations.view import print_expectations


def _show(rows: Any, asked: Asked) -> None:
    if rows:
        print_expectations(open_console(), rows, asked.as_of)
    else:
        when = format_instant(asked.as_of)
        print(f"Nothing was expected at {when}: the settings of that run had no expect.")


main = Question(
    "expect",
    f"Say whether what the settings expect held; exit code {NOT_MET} if one expectation is not met.",
    example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    answer=lambda asked: read_expectations(asked.warehouse, asked.settings, asked.as_of),
    plain=lambda rows, asked: report_expectations(rows, asked.as_of),
    show=_show,
    exit_code=lambda rows: NOT_MET if not_met(rows) else 0,
    tells_age=True,
)
