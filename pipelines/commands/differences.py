"""Say how snapshots of a server differ from rules, catalog and ledger."""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.console.terminal import to_json
from pipelines.questions.differences import report_differences, require_snapshots
from pipelines.questions.view import print_differences
from pipelines.storage.published import published_as_of

SHOWN = 50


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the differences; nothing is written."""
    parser = Parser(
        "differences",
        "Say how snapshots of a server differ from rules, catalog and ledger.",
        example="--config conf/capture.yaml",
    )
    parser.add_as_of()
    parser.add_limit(SHOWN, "rows of levels")
    parser.add_format()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "differences")
    require_snapshots(settings)
    as_of = published_as_of(warehouse, settings, options.as_of)
    found = report_differences(warehouse, settings, as_of=as_of, limit=options.limit)
    if options.format == "json":
        print(to_json(found))
    else:
        print_differences(found)
    return 0
