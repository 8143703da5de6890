"""Say which conversations are never ended, by contract and service, the oldest first."""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import CENTURY_DAYS, Parser, whole_number
from pipelines.console.terminal import to_json
from pipelines.questions.leaks import DAYS, report_leaks
from pipelines.questions.view import print_leaks
from pipelines.storage.published import published_as_of

SHOWN = 20


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print what leaks; nothing is written."""
    parser = Parser(
        "leaks",
        "Say which conversations are never ended: the far side has ended, or nothing came for days.",
        example="--config conf/local.yaml --days 30 --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_argument(
        "--days",
        type=whole_number(1, CENTURY_DAYS),
        default=DAYS,
        help=f"days without traffic (default {DAYS})",
    )
    parser.add_as_of()
    parser.add_limit(SHOWN, "rows of each part")
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "leaks")
    as_of = published_as_of(warehouse, settings, options.as_of)
    report = report_leaks(warehouse, as_of=as_of, days=options.days, limit=options.limit)
    if options.format == "json":
        print(to_json(report))
    else:
        print_leaks(report, wide=options.wide)
    return 0
