"""Count what each rule version decides, up to one as_of."""

import sys

if not __package__:  # run as a file
    sys.path.append(f"{sys.path[0]}/..")

from collections.abc import Sequence

from jobs.launch import Parser, launch, opened
from pipelines.config.instants import format_instant
from pipelines.console.terminal import as_json, print_rows, terminal
from pipelines.questions.coverage import COLUMNS, coverage
from pipelines.storage.published import published_as_of


def main(argv: Sequence[str]) -> int:
    """Parse the command line, count and print; nothing is written."""
    parser = Parser(
        "Count what each rule version decides: endpoints, conversations, messages.",
        example="./spark-submit.sh jobs/coverage.py --config conf/local.yaml --as-of 2026-11-21T00:00:00Z",
    )
    parser.add_as_of("an as_of that was run; the latest run's by default")
    parser.add_format()
    options = parser.parse_args(argv)
    settings, warehouse = opened(options, "coverage")
    as_of = published_as_of(warehouse, settings, options.as_of)
    rows = coverage(warehouse, as_of)
    if options.format == "json":
        print(as_json({"as_of": as_of, "coverage": rows}))
    else:
        print_rows(terminal(), f"What each rule version decides, {format_instant(as_of)}", rows, COLUMNS)
    return 0


if __name__ == "__main__":
    launch(main)
