"""Say who waits how long, and who is overtaken most: the starvation report of one as_of."""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.console.terminal import to_json
from pipelines.questions.view import print_waiting
from pipelines.questions.waiting import report_waits
from pipelines.storage.published import published_as_of

SHOWN = 50
"""Lines of each table, the most pressing first, where nothing else is asked for."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the report."""
    parser = Parser(
        "waiting",
        "Say who waits how long, and who is overtaken most.",
        example="--config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of()
    parser.add_limit(SHOWN, "rows of each part")
    parser.add_format()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "waiting")
    as_of = published_as_of(warehouse, settings, options.as_of)
    report = report_waits(warehouse, as_of=as_of, limit=options.limit, catalog=settings.catalog)
    if options.format == "json":
        print(to_json(report))
    else:
        print_waiting(report, settings.catalog, settings.catalog_path)
    return 0
