"""Count what each rule version decides, up to one as_of."""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.config.instants import format_instant
from pipelines.console.tables import print_rows
from pipelines.console.terminal import open_console, to_json
from pipelines.questions.coverage import COLUMNS, report_coverage
from pipelines.storage.published import published_as_of


def main(argv: Sequence[str]) -> int:
    """Parse the command line, count and print; nothing is written."""
    parser = Parser(
        "coverage",
        "Count what each rule version decides: endpoints, conversations, messages.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of()
    parser.add_format()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "coverage")
    as_of = published_as_of(warehouse, settings, options.as_of)
    rows = report_coverage(warehouse, as_of)
    if options.format == "json":
        print(to_json({"as_of": as_of, "coverage": rows}))
    else:
        print_rows(open_console(), f"What each rule version decides, {format_instant(as_of)}", rows, COLUMNS)
    return 0
