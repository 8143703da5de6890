"""Say whether what the settings expect held at a published as_of.

It ends with exit code 6 if one expectation is not met.
"""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.config.errors import NOT_MET
from pipelines.config.instants import format_instant
from pipelines.console.terminal import open_console, to_json
from pipelines.expectations.read import not_met, read_expectations, report_expectations
from pipelines.expectations.view import print_expectations
from pipelines.storage.published import published_as_of


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the expectations that a run has written; nothing is measured."""
    parser = Parser(
        "expect",
        f"Say whether what the settings expect held; exit code {NOT_MET} if one expectation is not met.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of()
    parser.add_format()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "expect")
    as_of = published_as_of(warehouse, settings, options.as_of)
    rows = read_expectations(warehouse, settings, as_of)
    if options.format == "json":
        print(to_json(report_expectations(rows, as_of)))
    elif rows:
        print_expectations(open_console(), rows, as_of)
    else:
        print(f"Nothing was expected at {format_instant(as_of)}: the settings of that run had no expect.")
    return NOT_MET if not_met(rows) else 0
