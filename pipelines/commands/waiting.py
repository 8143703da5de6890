"""Say who waits how long, and who is overtaken most: the starvation report of one as_of."""

from collections.abc import Sequence
from itertools import chain

from pipelines.commands.open import opened
from pipelines.commands.options import Parser, list_of
from pipelines.console.terminal import to_json
from pipelines.questions.view import print_waiting
from pipelines.questions.waiting import BY, report_waits
from pipelines.storage.published import published_as_of

SHOWN = 50
"""Lines of each table, the most pressing first, where nothing else is asked for."""


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the report."""
    parser = Parser(
        "waiting",
        "Say who waits how long, and who is overtaken most.",
        example="--config conf/local.yaml --by contract,local_service,level",
    )
    parser.add_argument(
        "--by",
        action="append",
        type=list_of(BY),
        default=[],
        metavar="COLUMN,...",
        help=f"one row for each combination of these: {', '.join(BY)} (default the queue and its levels)",
    )
    parser.add_as_of()
    parser.add_limit(SHOWN, "rows of each part")
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "waiting")
    as_of = published_as_of(warehouse, settings, options.as_of)
    # Each column once, in the order of the command line.
    by = list(dict.fromkeys(chain(*options.by)))
    report = report_waits(warehouse, as_of=as_of, limit=options.limit, by=by)
    if options.format == "json":
        print(to_json(report))
    else:
        print_waiting(report, settings.catalog, settings.catalog_path, wide=options.wide)
    return 0
