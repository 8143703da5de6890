"""List why rows of the inputs were rejected, the most frequent reason first, with some rows of each."""

from collections.abc import Sequence

from pipelines.commands.open import opened
from pipelines.commands.options import Parser
from pipelines.console.terminal import to_json
from pipelines.questions.rejected import report_rejected
from pipelines.questions.view import print_rejected
from pipelines.storage.published import checked_runs

SAMPLES = 3


def main(argv: Sequence[str]) -> int:
    """Parse the command line, and print the reasons; nothing is written, and nothing need be published."""
    parser = Parser(
        "rejected",
        "List why rows of the inputs were rejected, the most frequent reason first.",
        example="--config conf/local.yaml --limit 3",
    )
    parser.add_limit(SAMPLES, "rows of each reason")
    parser.add_format()
    parser.add_wide()
    options = parser.parse_args(argv)
    _, warehouse = opened(options, "rejected")
    checked_runs(warehouse)
    found = report_rejected(warehouse, limit=options.limit)
    if options.format == "json":
        print(to_json(found))
    else:
        print_rejected(found, wide=options.wide)
    return 0
